"""What crosses a stream: records in, messages out, and where a record stood.

A record is what a source read, before anyone judged it; a message is what a sink must deliver. Both
are bytes with a few facts, so that a broker, a file and a list look alike to the pipeline.
"""

import re
from collections.abc import Sequence

import msgspec

from neardup_stream.errors import BadPage
from neardup_stream.page import Page

__all__ = [
    "Headers",
    "Message",
    "Partition",
    "Position",
    "Record",
    "RecordMetadata",
    "Skipped",
    "input_id",
    "topic_of",
]

Headers = Sequence[tuple[str, bytes]]

_OF_LATER_EPOCH = re.compile(r"([A-Za-z0-9._-]+)@\d+")
"""An input id that `input_id` made; names of topics hold no `@`, ids of files a colon before any."""


def input_id(topic: str, epoch: int) -> str:
    """The input id of a topic: the same name with another epoch is another input.

    >>> input_id("pages", 0), input_id("pages", 2)
    ('pages', 'pages@2')
    """
    return f"{topic}@{epoch}" if epoch else topic


def topic_of(input_id: str) -> str:
    """The topic that an input id was made of; other input ids as they are.

    >>> topic_of("pages@2"), topic_of("file:0123@4")
    ('pages', 'file:0123@4')
    """
    later = _OF_LATER_EPOCH.fullmatch(input_id)
    return later[1] if later else input_id


class Partition(msgspec.Struct, frozen=True, order=True):
    """One ordered run of records.

    Attributes:
        input_id: the topic with its epoch, or the digest of a file: the same bytes give the same id.
        number: Kafka's partition number; 0 for a file.
    """

    input_id: str
    number: int


class Position(msgspec.Struct, frozen=True, order=True):
    """Where a record stands: its partition and its offset there (a file's record number from 0)."""

    partition: Partition
    offset: int


class Skipped(msgspec.Struct, frozen=True):
    """A record that is no page by nature, such as a WARC request; `reason` labels a metric."""

    reason: str


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """One record as read.

    Attributes:
        position: where it stood; never twice in one run of a source.
        key: the record's key, None where the input has none.
        value: the JSON of a page as bytes; None means "forget the page named by the key".
        headers: in order, repeats allowed.
        timestamp_ms: the record's own time, epoch milliseconds.
        decoded: set by sources whose input is no JSON (WARC): the page, or why it is none, or what is
            wrong with it. `value` is then the raw content, for a dead letter.
    """

    position: Position
    key: bytes | None
    value: bytes | None
    headers: Headers = ()
    timestamp_ms: int = 0
    decoded: Page | Skipped | BadPage | None = None

    @property
    def size_bytes(self) -> int:
        """Bytes held by key, value and headers: what the in-flight limit counts."""
        headers = sum(len(name) + len(value) for name, value in self.headers)
        return len(self.key or b"") + len(self.value or b"") + headers


class RecordMetadata(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What is kept of a record once its key and value are decoded.

    Attributes:
        position: of the record.
        headers: its `traceparent` and `tracestate`.
        timestamp_ms: the record's own time, epoch milliseconds.
        size_bytes: of the whole record, as `Record.size_bytes`.
    """

    position: Position
    headers: Headers = ()
    timestamp_ms: int = 0
    size_bytes: int = 0


class Message(msgspec.Struct, frozen=True, kw_only=True):
    """One message to deliver.

    Attributes:
        key: decides the partition and the order among messages of one key.
        value: the payload.
        headers: delivered as they are; files in structured mode have no room for them.
        timestamp_ms: epoch milliseconds.
    """

    key: bytes | None
    value: bytes | None
    headers: Headers = ()
    timestamp_ms: int = 0

    @property
    def size_bytes(self) -> int:
        """Bytes of key, value and headers, the framing of a broker apart."""
        headers = sum(len(name.encode()) + len(value) for name, value in self.headers)
        return len(self.key or b"") + len(self.value or b"") + headers
