"""Build dead letters: records that cannot become pages, stored with the reason, for inspection and replay.

A dead letter is the original record (key, value, headers) with `neardup.error.*` headers added. If the record
exceeds the topic's message size, the least needed parts are cut, and a header records each cut: first the end
of the value, then the crawler's headers, then the end of the key. Too many headers are never kept. Headers of
ours that decide how a record is read, or replayed, always are.
"""

from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from neardup_stream.errors import BadPage
from neardup_stream.message import Headers, Message, Record, topic_of
from neardup_stream.wire.pages import OWN_FIELDS

__all__ = [
    "ATTEMPTS_HEADER",
    "ENVELOPE_BYTES",
    "ERROR_PREFIX",
    "MAX_ERROR_HEADERS",
    "TRUNCATED_BYTES",
    "DeadLetterHeader",
    "DeadLetterLine",
    "dead_letter",
    "is_truncated",
    "to_json_line",
]

ATTEMPTS_HEADER = "neardup.attempts"
"""How often a record was replayed, in decimal; the record's next dead letter keeps this header."""

TRUNCATED_BYTES = 64 * 1024
"""Bytes that remain of a value that is too large for its topic."""

ENVELOPE_BYTES = 4096
"""Bytes that a truncated value reserves for key and headers; the topic's limit must be at least this."""

ERROR_PREFIX = "neardup.error."
"""Prefix of the headers that make a record a dead letter."""

MAX_ERROR_HEADERS = 16
"""Most headers that a dead letter has beside those of its record."""

_KEY_BYTES = 1024
_DETAIL_BYTES = 1024
_ATTEMPTS_BYTES = 20
_VALUE_CUT, _KEY_CUT = "truncated_from_bytes", "key_truncated_from_bytes"
_CUT_HEADERS = {f"{ERROR_PREFIX}{name}" for name in (_VALUE_CUT, _KEY_CUT)}


class DeadLetterHeader(msgspec.Struct, frozen=True, kw_only=True):
    """One header in a file: `value` if it is valid UTF-8, else `value_base64`; neither where it has none."""

    name: str
    value: str | UnsetType = UNSET
    value_base64: bytes | UnsetType = UNSET


class DeadLetterLine(msgspec.Struct, frozen=True, kw_only=True):
    """A dead letter in a file: text where it is valid UTF-8, else base64.

    Neither where the record had none.
    """

    key: str | UnsetType = UNSET
    key_base64: bytes | UnsetType = UNSET
    value: str | UnsetType = UNSET
    value_base64: bytes | UnsetType = UNSET
    headers: tuple[DeadLetterHeader, ...]
    timestamp_ms: int


def dead_letter(record: Record, error: BadPage, max_message_bytes: int | None) -> Message:
    """Return the record as a dead letter: with added headers, and truncated only if it is too large.

    Headers of an earlier dead letter that was replayed are replaced, never repeated.

    Args:
        record: as it was read.
        error: why it can never succeed.
        max_message_bytes: most bytes of key, value and headers, at least `ENVELOPE_BYTES`; None for no limit.
    """
    lasting = _lasting(record.headers)
    theirs = lasting if error.limit == "max_headers" else record.headers
    kept = tuple((name, value) for name, value in theirs if not name.startswith(ERROR_PREFIX))
    own = _error_headers(record, error)
    letter = Message(
        key=record.key, value=record.value, headers=(*kept, *own), timestamp_ms=record.timestamp_ms
    )
    if max_message_bytes is None:
        return letter
    smaller = _ever_smaller(
        letter, (*lasting, *own), min(TRUNCATED_BYTES, max(max_message_bytes - ENVELOPE_BYTES, 0))
    )
    while letter.size_bytes > max_message_bytes and (cut := next(smaller, None)) is not None:
        letter = cut
    return letter


def is_truncated(letter: Message) -> bool:
    """Return whether a dead letter carries only the beginning of its record's value, or of its key."""
    return any(name in _CUT_HEADERS for name, _ in letter.headers)


def to_json_line(letter: Message) -> bytes:
    """Return a dead letter as one line of JSON, without its line end."""
    line = DeadLetterLine(
        **_text_or_base64("key", letter.key),
        **_text_or_base64("value", letter.value),
        headers=tuple(
            DeadLetterHeader(name=name, **_text_or_base64("value", content))
            for name, content in letter.headers
        ),
        timestamp_ms=letter.timestamp_ms,
    )
    return msgspec.json.encode(line)


def _lasting(headers: Headers) -> Headers:
    """Return the headers that say how often a record was replayed, and whose names its fields have."""
    attempts = [
        each for each in headers if each[0] == ATTEMPTS_HEADER and len(each[1] or b"") <= _ATTEMPTS_BYTES
    ]
    fields = [each for each in headers if each == OWN_FIELDS]
    return (*fields[:1], *attempts[-1:])


def _error_headers(record: Record, error: BadPage) -> Headers:
    partition = record.position.partition
    detail = error.detail.encode(errors="backslashreplace")[:_DETAIL_BYTES].decode(errors="ignore")
    facts: dict[str, str | int] = {
        "reason": error.reason,
        "detail": detail,
        "topic": topic_of(partition.input_id),
        "partition": partition.number,
        "offset": record.position.offset,
        "timestamp_ms": record.timestamp_ms,
    }
    return tuple(_header(name, fact) for name, fact in facts.items())


def _header(name: str, fact: str | int) -> tuple[str, bytes]:
    return f"{ERROR_PREFIX}{name}", str(fact).encode()


def _ever_smaller(letter: Message, own: Headers, value_bytes: int) -> Iterator[Message]:
    """Yield versions of a letter, each with one more part cut."""
    value, said = _beginning(_VALUE_CUT, letter.value, value_bytes)
    yield (shorter := msgspec.structs.replace(letter, value=value, headers=(*letter.headers, *said)))
    dropped = _header("headers_dropped", len(letter.headers) - len(own))
    yield (barer := msgspec.structs.replace(shorter, headers=(*own, *said, dropped)))
    key, said = _beginning(_KEY_CUT, letter.key, _KEY_BYTES)
    yield msgspec.structs.replace(barer, key=key, headers=(*barer.headers, *said))


def _beginning(name: str, content: bytes | None, limit_bytes: int) -> tuple[bytes | None, Headers]:
    """Return the beginning of `content` that fits, and a header `name` with the full length if it was cut."""
    if content is None or len(content) <= limit_bytes:
        return content, ()
    return content[:limit_bytes], (_header(name, len(content)),)


def _text_or_base64(name: str, content: bytes | None) -> dict[str, Any]:
    if content is None:
        return {}
    try:
        return {name: content.decode()}
    except UnicodeDecodeError:
        return {f"{name}_base64": content}
