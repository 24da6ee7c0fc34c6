"""Publish pages of files as messages, for `produce`."""

from codecs import BOM_UTF8
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from time import time
from typing import NamedTuple

import msgspec

from neardup_daemon.first_dead_letters import FirstDeadLetters
from neardup_daemon.kafka_wiring import SENT_BYTES, kafka_sink
from neardup_daemon.settings.settings import Settings
from neardup_stream.errors import BadPage, ConfigError
from neardup_stream.message import Message, Record, Skipped
from neardup_stream.page import Page
from neardup_stream.streams.files.source import FileSource, PlaceOf, record_number
from neardup_stream.wire.foreign_fields import ForeignFields
from neardup_stream.wire.json_depth import is_too_deep
from neardup_stream.wire.pages import OWN_FIELDS, foreign_fields, is_header

__all__ = ["Limits", "Produced", "key_of", "messages_of", "produce_files"]

_BATCH_RECORDS = 1_000
_KEY_BYTES_SHOWN = 200


class _Named(msgspec.Struct):
    """What of a line makes its key."""

    url: str | None = None
    id: str | None = None


_named = msgspec.json.Decoder(_Named)


@dataclass
class Produced:
    """How many records of the files had each outcome.

    Attributes:
        published: records that Kafka acknowledged.
        skipped: records that hold no page, by reason.
        bad: pages that can never succeed, by reason; of `over_limit`, those too large for the topic too.
        first_bad: what the first of `bad` were about.
        place_of: names the place of a record; not compared.
    """

    published: int = 0
    skipped: Counter[str] = field(default_factory=Counter)
    bad: Counter[str] = field(default_factory=Counter)
    first_bad: FirstDeadLetters = field(default_factory=FirstDeadLetters, compare=False)
    place_of: PlaceOf = field(default=record_number, compare=False)

    def refuse(self, record: Record, error: BadPage) -> None:
        """Count a page that is not published."""
        self.bad[error.reason] += 1
        self.first_bad.note(record.position, error, self.place_of)


async def produce_files(
    files: tuple[str, ...],
    settings: Settings,
    produced: Produced,
    on_records: Callable[[int], None] | None = None,
    *,
    skips_too_large: bool = False,
) -> None:
    """Publish every page.

    Args:
        files: paths, or `-` for standard input.
        settings: topic, brokers and limits; and whose names the fields of lines have.
        produced: counted up, also where this ends with an exception.
        on_records: called with the number of records published so far.
        skips_too_large: refuse pages that are too large for the topic instead of stopping at the first.

    Raises:
        StreamUnavailable: Kafka cannot be reached.
        ConfigError: a file cannot be read, the topic cannot be written, or a page is too large for it.
        CorruptData: a file is damaged; all that could be read was published.
    """
    max_page_bytes = settings.limits.max_page_bytes
    foreign = foreign_fields(settings.page.fields.mapping(), settings.page.preset)
    async with (
        FileSource(files, max_page_bytes) as source,
        kafka_sink(settings, settings.kafka.pages_topic) as sink,
    ):
        produced.place_of = source.place_of
        async for records in source.batches(_BATCH_RECORDS, SENT_BYTES):
            limits = Limits(max_page_bytes, sink.max_message_bytes, skips_too_large)
            messages = messages_of(records, limits, produced, foreign)
            await sink.send(messages)
            produced.published += len(messages)
            if on_records is not None:
                on_records(produced.published)


class Limits(NamedTuple):
    """What a page may weigh.

    Attributes:
        max_page_bytes: of its value as published, in which a body is base64; a longer line was cut by the
            reader.
        max_message_bytes: with its key and headers; None where the topic has no limit.
        skips_too_large: whether larger ones are refused, instead of an error.
    """

    max_page_bytes: int
    max_message_bytes: int | None
    skips_too_large: bool = False


def messages_of(
    records: Sequence[Record], limits: Limits, produced: Produced, foreign: ForeignFields | None = None
) -> list[Message]:
    """Return the pages among records, as messages; all others are counted.

    Args:
        records: as read.
        limits: larger pages are not published.
        produced: counted up.
        foreign: rewrites the fields of lines to ours; None leaves lines as they are.

    Raises:
        ConfigError: a page is too large, and such pages are not to be skipped.
    """
    messages: list[Message] = []
    for record in records:
        if isinstance(record.decoded, Skipped):
            produced.skipped[record.decoded.reason] += 1
        elif isinstance(record.decoded, BadPage):
            produced.refuse(record, record.decoded)
        elif record.decoded is None and is_header(record.value or b""):
            produced.skipped["header"] += 1
        elif isinstance(message := _message(record, foreign), Skipped):
            produced.skipped[message.reason] += 1
        elif not (problem := _too_large(message, limits)):
            messages.append(message)
        elif limits.skips_too_large:
            produced.refuse(record, BadPage("over_limit", problem))
        else:
            raise ConfigError(f"{problem}; or leave such pages out with --skip-too-large")
    return messages


def _too_large(message: Message, limits: Limits) -> str:
    """Return what is wrong and the remedy; empty for a message that fits."""
    key = repr((message.key or b"")[:_KEY_BYTES_SHOWN])
    if len(message.value or b"") > limits.max_page_bytes:
        limit = limits.max_page_bytes
        return (
            f"the page with key {key} has more than {limit} bytes as a message: raise limits.max_page_bytes"
        )
    if limits.max_message_bytes is not None and message.size_bytes > limits.max_message_bytes:
        return (
            f"the page with key {key} has {message.size_bytes} bytes, the topic takes"
            f" {limits.max_message_bytes}: raise its max.message.bytes"
        )
    return ""


def _message(record: Record, foreign: ForeignFields | None) -> Message | Skipped:
    now_ms = int(time() * 1000)
    if isinstance(record.decoded, Page):
        key, value = record.decoded.id.encode(), _page_json(record.decoded)
        return Message(key=key, value=value, headers=(OWN_FIELDS,), timestamp_ms=now_ms)
    line = record.value or b""
    renamed = _renamed(line, foreign) if foreign else None
    if isinstance(renamed, Skipped):
        return renamed
    if renamed is None:
        return Message(key=key_of(line), value=record.value, timestamp_ms=now_ms)
    return Message(key=key_of(renamed), value=renamed, headers=(OWN_FIELDS,), timestamp_ms=now_ms)


def _renamed(line: bytes, foreign: ForeignFields) -> bytes | Skipped | None:
    """Return the page with our field names, or why it is skipped; None for a line that the daemon refuses."""
    try:
        line.decode()  # also what is not taken over
        return None if is_too_deep(line) else foreign.renamed(line.removeprefix(BOM_UTF8))
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None


def _page_json(page: Page) -> bytes:
    """Return the page as JSON of the input contract, without fields that it does not have."""
    fields = {
        "url": page.url,
        "fetched_at": page.fetched_at_seconds,
        "text": page.text,
        "html": page.html,
        "body": page.body,
        "content_type": page.content_type,
        "charset": page.charset,
        "status": page.status,
    }
    return msgspec.json.encode({name: value for name, value in fields.items() if value is not None})


def key_of(line: bytes) -> bytes | None:
    """Return the page's id or URL; None for a line with neither, which the daemon will refuse."""
    try:
        named = _named.decode(line.removeprefix(BOM_UTF8))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    name = named.id or named.url
    return name.encode() if name else None
