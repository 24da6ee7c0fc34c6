"""Define what streams carry: records in, messages out, and the position of a record.

A record is the input that a source read, not validated; a message is the output that a sink must deliver.
Both consist of bytes and a few attributes, so that the pipeline treats a broker, a file and a list alike.
"""

import re
from collections.abc import Sequence
from typing import Final, Literal

import msgspec

from neardup_stream.errors import BadPage
from neardup_stream.page import Page

__all__ = [
    "FORGETS",
    "Headers",
    "Message",
    "Partition",
    "Position",
    "Record",
    "RecordMetadata",
    "SkipReason",
    "Skipped",
    "TraceHeaders",
    "epoch_of",
    "input_id",
    "is_forgets",
    "is_topic",
    "topic_of",
]

FORGETS: Final = "forget-"
"""Prefix of the input id of forgets that come from no stream, before 16 hexadecimal digits of their own."""
_FORGETS: Final = re.compile(f"{FORGETS}[0-9a-f]{{16}}")

Headers = Sequence[tuple[str, bytes | None]]
"""A header of Kafka has a name, and a value or none."""

TraceHeaders = Sequence[tuple[str, bytes]]

_OF_LATER_EPOCH = re.compile(r"([A-Za-z0-9._-]+)@(\d+)")
"""An input id that `input_id` made; topic names contain no `@`, file ids have a colon before any."""


def input_id(topic: str, epoch: int) -> str:
    """Return the input id of a topic: the same name with another epoch is another input.

    >>> input_id("pages", 0), input_id("pages", 2)
    ('pages', 'pages@2')
    """
    return f"{topic}@{epoch}" if epoch else topic


def is_forgets(input_id: str) -> bool:
    """Return whether an input is forgets that came from no stream.

    >>> is_forgets("forget-0123456789abcdef"), is_forgets("forget-me-not")
    (True, False)
    """
    return _FORGETS.fullmatch(input_id) is not None


def is_topic(input_id: str) -> bool:
    """Return whether an input is a topic; ids of files and pipes have a colon, names of topics have none.

    >>> is_topic("pages@2"), is_topic("file:0123")
    (True, False)
    """
    return ":" not in input_id


def topic_of(input_id: str) -> str:
    """Return the topic of an input id; other input ids unchanged.

    >>> topic_of("pages@2"), topic_of("file:0123@4")
    ('pages', 'file:0123@4')
    """
    later = _OF_LATER_EPOCH.fullmatch(input_id)
    return later[1] if later else input_id


def epoch_of(input_id: str) -> int | None:
    """Return the epoch of a topic; None for files and pipes, which have none.

    >>> epoch_of("pages"), epoch_of("pages@2"), epoch_of("file:0123@4")
    (0, 2, None)
    """
    if not is_topic(input_id):
        return None
    later = _OF_LATER_EPOCH.fullmatch(input_id)
    return int(later[2]) if later else 0


class Partition(msgspec.Struct, frozen=True, order=True):
    """An ordered sequence of records.

    Attributes:
        input_id: the topic with its epoch, or the digest of a file: equal bytes give equal ids.
        number: Kafka's partition number; 0 for a file.
    """

    input_id: str
    number: int


class Position(msgspec.Struct, frozen=True, order=True):
    """The position of a record: its partition and its offset there (a file's record number from 0)."""

    partition: Partition
    offset: int


SkipReason = Literal[
    "content_type", "status", "warc_type", "revisit", "no_body", "no_text", "target_uri", "header"
]
"""Why a record is no page, nor meant to be one: a closed set, because it labels a metric."""


class Skipped(msgspec.Struct, frozen=True):
    """A record that is no page, nor meant to be one, such as a WARC request or an answer not modified."""

    reason: SkipReason


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """One record as read.

    Attributes:
        position: unique in one run of a source.
        key: the record's key, None if the input has none.
        value: the JSON of a page as bytes; None means "forget the page named by the key".
        headers: in order, repeats allowed.
        timestamp_ms: the record's own time, epoch milliseconds.
        decoded: set by sources whose input is not JSON (WARC): the page, or why it is none, or its error.
            `value` is then the raw content, for a dead letter.
    """

    position: Position
    key: bytes | None
    value: bytes | None
    headers: Headers = ()
    timestamp_ms: int = 0
    decoded: Page | Skipped | BadPage | None = None

    @property
    def size_bytes(self) -> int:
        """Return the bytes of key, value and headers, which the in-flight limit counts."""
        headers = sum(len(name) + len(value or b"") for name, value in self.headers) if self.headers else 0
        return len(self.key or b"") + len(self.value or b"") + headers

    def message(self) -> "Message":
        """Return what was delivered as this record, without its partition."""
        return Message(key=self.key, value=self.value, headers=self.headers, timestamp_ms=self.timestamp_ms)


class RecordMetadata(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What is kept of a record once its key and value are decoded.

    Attributes:
        position: of the record.
        headers: its `traceparent` and `tracestate`.
        timestamp_ms: the record's own time, epoch milliseconds.
        size_bytes: of the whole record, as `Record.size_bytes`.
    """

    position: Position
    headers: TraceHeaders = ()
    timestamp_ms: int = 0
    size_bytes: int = 0


class Message(msgspec.Struct, frozen=True, kw_only=True):
    """One message to deliver.

    Attributes:
        key: decides the partition and the order among messages of one key.
        value: the payload.
        headers: delivered unchanged; files in structured mode omit them.
        timestamp_ms: epoch milliseconds.
        partition: of the topic, where that is known; None for that of the key.
    """

    key: bytes | None
    value: bytes | None
    headers: Headers = ()
    timestamp_ms: int = 0
    partition: int | None = None

    @property
    def size_bytes(self) -> int:
        """Return the bytes of key, value and headers, without a broker's framing."""
        size_bytes = len(self.key or b"") + len(self.value or b"")
        for name, value in self.headers:  # a generator takes half as long again
            size_bytes += len(name if name.isascii() else name.encode()) + len(value or b"")
        return size_bytes
