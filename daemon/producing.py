"""Pages of files as messages: for `produce`."""

from collections.abc import Callable, Sequence
from time import time

import msgspec

from daemon.settings import Settings
from daemon.wiring import kafka_sink
from neardup_stream.errors import BadPage, ConfigError
from neardup_stream.message import Message, Record, Skipped
from neardup_stream.page import Page
from neardup_stream.streams.files import FileSource
from neardup_stream.streams.protocol import EndOfStream

__all__ = ["produce_files"]

_BATCH_RECORDS = 1_000
_BATCH_BYTES = 8 << 20


class _Named(msgspec.Struct):
    """What of a line makes its key."""

    url: str | None = None
    id: str | None = None


_named = msgspec.json.Decoder(_Named)


async def produce_files(
    files: tuple[str, ...], settings: Settings, on_pages: Callable[[int], None] | None
) -> int:
    """Publish every page; returns how many records were acknowledged.

    Raises:
        StreamUnavailable: Kafka cannot be reached.
        ConfigError: a file cannot be read, or the topic cannot be written.
        CorruptData: a file is damaged; everything before the damage was published.
    """
    count = 0
    async with (
        kafka_sink(settings, settings.kafka.pages_topic) as sink,
        FileSource(files, settings.limits.max_page_bytes) as source,
    ):
        while True:
            try:
                records = await source.read(_BATCH_RECORDS, _BATCH_BYTES)
            except EndOfStream:
                return count
            messages = [message for record in records if (message := _message(record)) is not None]
            _check_sizes(messages, sink.max_message_bytes)
            await sink.send(messages)
            count += len(messages)
            if on_pages is not None:
                on_pages(count)


def _check_sizes(messages: Sequence[Message], max_message_bytes: int | None) -> None:
    for message in messages:
        if max_message_bytes is not None and message.size_bytes > max_message_bytes:
            raise ConfigError(
                f"the page with key {message.key!r} has {message.size_bytes} bytes, the topic takes"
                f" {max_message_bytes}: raise its max.message.bytes"
            )


def _message(record: Record) -> Message | None:
    now_ms = int(time() * 1000)
    if isinstance(record.decoded, Page):
        return Message(key=record.decoded.id.encode(), value=_page_json(record.decoded), timestamp_ms=now_ms)
    if isinstance(record.decoded, Skipped | BadPage):
        return None
    return Message(key=_key(record.value or b""), value=record.value, timestamp_ms=now_ms)


def _page_json(page: Page) -> bytes:
    """The page as the input contract has it; what it does not have is left out."""
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


def _key(line: bytes) -> bytes | None:
    """The page's id or URL; None for a line with neither, which the daemon will refuse with the reason."""
    try:
        named = _named.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    name = named.id or named.url
    return name.encode() if name else None
