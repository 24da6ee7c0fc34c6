"""Convert dead letters back to records of the pages topic, and count how often each was replayed."""

from collections.abc import Callable
from typing import Literal

import msgspec
from msgspec import UNSET, UnsetType

from neardup_stream.errors import CorruptData
from neardup_stream.message import Message
from neardup_stream.wire.dead_letters import ATTEMPTS_HEADER, ERROR_PREFIX, DeadLetterLine, is_truncated

__all__ = ["Fate", "attempt_count", "fate", "from_json_line", "reason_of", "replayed"]

_MAX_DIGITS = 9
"""Digits that are read of a count in a header, which any producer may have written."""

Fate = Literal["replayed", "other_reason", "exhausted", "truncated"]
"""The fate of a dead letter: replayed; its reason is not selected; replayed too often; truncated."""


def fate(letter: Message, reasons: frozenset[str], max_attempts: int) -> Fate:
    """Return whether a dead letter is replayed, or why not.

    Args:
        letter: as read from its topic.
        reasons: of the letters to replay; empty selects all.
        max_attempts: a record that was replayed this often stays a dead letter; at least 1.
    """
    if reasons and reason_of(letter) not in reasons:
        return "other_reason"
    if attempt_count(letter) >= max_attempts:
        return "exhausted"
    return "truncated" if is_truncated(letter) else "replayed"


def replayed(letter: Message, now_ms: int, topic: str | None = None) -> Message:
    """Return the original record, with its attempts increased by one.

    Args:
        letter: as read from its topic, or from a file, where its key may have been edited.
        now_ms: its new time, epoch milliseconds.
        topic: if the record was read from this one, it is for the same partition; None for that of its key.
    """
    kept = (
        header
        for header in letter.headers
        if not header[0].startswith(ERROR_PREFIX) and header[0] != ATTEMPTS_HEADER
    )
    attempts = str(attempt_count(letter) + 1).encode()
    return Message(
        key=letter.key,
        value=letter.value,
        headers=(*kept, (ATTEMPTS_HEADER, attempts)),
        timestamp_ms=now_ms,
        partition=_partition_in(topic, letter),
    )


def _partition_in(topic: str | None, letter: Message) -> int | None:
    said = {name: value or b"" for name, value in letter.headers}
    number = said.get(f"{ERROR_PREFIX}partition", b"")
    is_known = number.isdigit() and len(number) <= _MAX_DIGITS
    is_same = topic is not None and said.get(f"{ERROR_PREFIX}topic") == topic.encode()
    return int(number) if is_known and is_same else None


def attempt_count(letter: Message) -> int:
    """Return how often the record was replayed; 0 also if the header is not a number.

    A number with too many digits returns the largest number that is read.
    """
    counts = [value or b"" for name, value in letter.headers if name == ATTEMPTS_HEADER]
    digits = counts[-1].lstrip(b"0") if counts and counts[-1].isdigit() else b""
    return int(digits or b"0") if len(digits) <= _MAX_DIGITS else 10**_MAX_DIGITS


def reason_of(letter: Message) -> str:
    """Return why the record was refused; empty for a message that is not a dead letter."""
    reasons = (value or b"" for name, value in letter.headers if name == f"{ERROR_PREFIX}reason")
    return next(reasons, b"").decode(errors="replace")


def from_json_line(line: bytes) -> Message:
    """Return a dead letter from a line that `to_json_line` wrote, possibly edited since.

    Raises:
        CorruptData: the line is not a dead letter.
    """
    try:
        read = _decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise CorruptData(f"this is not a dead letter: {error}") from error
    return Message(
        key=_bytes(read.key, read.key_base64),
        value=_bytes(read.value, read.value_base64),
        headers=tuple((header.name, _bytes(header.value, header.value_base64)) for header in read.headers),
        timestamp_ms=read.timestamp_ms,
    )


_decode: Callable[[bytes], DeadLetterLine] = msgspec.json.Decoder(DeadLetterLine).decode


def _bytes(text: str | UnsetType, raw: bytes | UnsetType) -> bytes | None:
    if text is not UNSET:
        return text.encode()
    return None if raw is UNSET else raw
