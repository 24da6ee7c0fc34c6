"""Read fingerprints from text files: one decimal number per line.

A line holds the decimal digits of a number below 2**64 and a line end, LF or CR LF. The last line may lack
its line end. Signs, spaces and empty lines are errors, also at the end of the file.
"""

import re
from collections.abc import Sequence
from typing import IO

import numpy as np

from neardup_stream.bits.words import WORD_BITS, Words
from neardup_stream.errors import ConfigError
from neardup_stream.ordered import are_first

__all__ = ["read_words"]

_BATCH_BYTES = 1 << 20

_MAX_DIGITS = 20
_LONGEST_LINE = _MAX_DIGITS + len(b"\r")
_LINE = re.compile(rb"[0-9]{1,%d}\r?" % _MAX_DIGITS)

_SHOWN_BYTES = 40
"""Bytes of a malformed line that an error message quotes; a line may be a whole page of HTML."""


def read_words(lines: IO[bytes]) -> Words:
    """Return the distinct words of a binary stream in ascending order.

    Raises:
        ConfigError: a line is not a decimal number below 2**64; the message names the line.
    """
    batches = [np.empty(0, dtype=np.uint64)]
    read_count = 0
    rest = b""
    while block := lines.read(_BATCH_BYTES):
        *batch, rest = (rest + block).split(b"\n")
        batches.append(_parsed(batch, first_line=read_count + 1))
        read_count += len(batch)
        if len(rest) > _LONGEST_LINE:
            break  # malformed already: the rest of an endless line is not read
    if rest:
        batches.append(_parsed([rest], first_line=read_count + 1))
    words: Words = np.concatenate(batches)
    words.sort()  # np.unique would hash them: ten times slower
    distinct: Words = words[are_first(words)]
    return distinct


def _parsed(lines: Sequence[bytes], first_line: int) -> Words:
    """Parse lines with `int` if they are digits only; else one by one, to find the malformed line."""
    if b"".join(lines).isdigit() and max(map(len, lines)) <= _MAX_DIGITS:
        try:
            return np.fromiter(map(int, lines), dtype=np.uint64, count=len(lines))
        except (ValueError, OverflowError):  # an empty line, or a number above
            pass
    return np.array([_word(line, number) for number, line in enumerate(lines, first_line)], dtype=np.uint64)


def _word(line: bytes, number: int) -> int:
    if not _LINE.fullmatch(line):
        raise ConfigError(f"line {number}: {_shown(line)} is not a decimal number in [0, 2**64)")
    word = int(line)
    if word >> WORD_BITS:
        raise ConfigError(f"line {number}: {word} is not below 2**64 ({1 << WORD_BITS})")
    return word


def _shown(line: bytes) -> str:
    text = line.rstrip(b"\r").decode("utf-8", errors="replace")
    return repr(text if len(text) <= _SHOWN_BYTES else text[:_SHOWN_BYTES] + "…")
