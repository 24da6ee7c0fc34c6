"""Dead letters back to records: what stood in the pages topic, and how often it was put back."""

from collections.abc import Callable
from typing import Literal

import msgspec
from msgspec import UNSET, UnsetType

from neardup_stream.errors import CorruptData
from neardup_stream.message import Message
from neardup_stream.wire.dead_letters import ERROR_PREFIX, DeadLetterLine, is_truncated

__all__ = ["ATTEMPTS_HEADER", "Fate", "attempt_count", "fate", "from_json_line", "reason_of", "replayed"]

ATTEMPTS_HEADER = "neardup.attempts"
"""How often a record was put back, in decimal; it goes with the record into its next dead letter."""

_MAX_DIGITS = 9
"""Of a count in a header, which anybody may have written."""

Fate = Literal["replayed", "other_reason", "exhausted", "truncated"]
"""What becomes of a dead letter: put back; not asked for; put back often enough; cut, so it cannot be."""


def fate(letter: Message, reasons: frozenset[str], max_attempts: int) -> Fate:
    """Whether a dead letter is put back, or why not.

    Args:
        letter: as it stands in its topic.
        reasons: of the letters that are asked for; empty asks for all.
        max_attempts: a record that was put back so often is left where it is, at least 1.
    """
    if reasons and reason_of(letter) not in reasons:
        return "other_reason"
    if attempt_count(letter) >= max_attempts:
        return "exhausted"
    return "truncated" if is_truncated(letter) else "replayed"


def replayed(letter: Message, now_ms: int) -> Message:
    """The record as it first came, with one attempt more."""
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
    )


def attempt_count(letter: Message) -> int:
    """How often the record was put back; 0 too where somebody wrote no number there.

    A number longer than any that is counted to is the largest of those that are read.
    """
    counts = [value for name, value in letter.headers if name == ATTEMPTS_HEADER]
    digits = counts[-1].lstrip(b"0") if counts and counts[-1].isdigit() else b""
    return int(digits or b"0") if len(digits) <= _MAX_DIGITS else 10**_MAX_DIGITS


def reason_of(letter: Message) -> str:
    """Why the record was refused; empty for a message that is no dead letter."""
    reasons = (value for name, value in letter.headers if name == f"{ERROR_PREFIX}reason")
    return next(reasons, b"").decode(errors="replace")


def from_json_line(line: bytes) -> Message:
    """A dead letter from the line that `to_json_line` wrote, perhaps corrected since.

    Raises:
        CorruptData: it is no such line.
    """
    try:
        read = _decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise CorruptData(f"this is no dead letter: {error}") from error
    return Message(
        key=_bytes(read.key, read.key_base64),
        value=_bytes(read.value, read.value_base64),
        headers=tuple(
            (header.name, _bytes(header.value, header.value_base64) or b"") for header in read.headers
        ),
        timestamp_ms=read.timestamp_ms,
    )


_decode: Callable[[bytes], DeadLetterLine] = msgspec.json.Decoder(DeadLetterLine).decode


def _bytes(text: str | UnsetType, raw: bytes | UnsetType) -> bytes | None:
    if text is not UNSET:
        return text.encode()
    return None if raw is UNSET else raw
