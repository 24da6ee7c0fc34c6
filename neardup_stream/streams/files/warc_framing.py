"""Find the records of a WARC archive, also after damaged ones.

A record is a version line, headers, an empty line, and as many bytes as `Content-Length` says. Lines may end
in LF alone. If a record is not followed by another one, its block is searched for the next version line, so
that one wrong length costs one record. A page may be an archive itself: the records in it are its content,
where its length can be shown to be right.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from itertools import chain
from typing import Protocol

from neardup_stream.cut_short import check_cut
from neardup_stream.errors import CorruptData
from neardup_stream.streams.files.warc_blocks import (
    FIRST_HEADER,
    LONGEST_VERSION_BYTES,
    VERSION,
    Block,
    next_version,
)

__all__ = ["MAX_HEAD_BYTES", "FramedRecord", "Places", "frame_records", "is_record_end", "parse_headers"]


class Places(Protocol):
    """What is known of an archive beside its decompressed bytes, by whose number places are named."""

    def begin(self, place: int) -> None:
        """Note that a record begins there, behind those before it."""
        ...

    def ends_at(self, place: int) -> bool | None:
        """Return whether a record may end there; None if that is not known."""
        ...

    def may_divide(self, places: Iterable[int]) -> bool:
        """Return whether the record that has begun may end before another one at one of these places."""
        ...


MAX_HEAD_BYTES = 1 << 16
"""Of version line, headers and the empty line behind them; a record with more is damaged."""
_MAX_LENGTH_DIGITS = 15
_SOUGHT_BYTES = 16 << 20
"""Bytes of a block that are searched for records if its length is wrong."""
_PIECE_BYTES = 1 << 16
_SEARCHED_BYTES = 64 << 20
"""Bytes of all such blocks; above this, a block ends at the next version line, whatever its length. The same
of headers without an end: above this, records are looked for at the starts of lines only."""

_LONGEST_FIRST_BYTES = LONGEST_VERSION_BYTES + len(FIRST_HEADER)
_HEAD_END = re.compile(rb"\n(?:\r?\n|(?=WARC/[0-9]+\.[0-9]+[ \t]*\r?\n))")
"""An empty line, or the next record: then this header is cut off."""
_IDENTITY = re.compile(rb"\n(warc-type|warc-record-id)[ \t]*:", re.IGNORECASE)
_RECORD_END = re.compile(rb"\r?\n\r?\n")
_LINE_ENDS = re.compile(rb"[\r\n]*+")


@dataclass(frozen=True, slots=True)
class FramedRecord:
    """One record of the archive.

    Attributes:
        headers: by name in lower case, of equal names the first.
        block: at most as many bytes as were to be kept.
        fault: why the record is incomplete; empty for a complete one.
        head: version line and headers as stored.
    """

    headers: dict[str, str]
    block: bytes
    fault: str = ""
    head: bytes = b""


def frame_records(
    chunks: Iterator[bytes], max_block_bytes: int, places: Places, kept_bytes: int = 0
) -> Iterator[FramedRecord]:
    """Yield every record in order, including damaged ones.

    Args:
        chunks: of the archive, decompressed.
        max_block_bytes: of each block; the end of a longer one is skipped.
        places: what shows whether a long block that holds records ends where its length says.
        kept_bytes: of each block, if that is more; it has no influence on where records are found.

    Raises:
        CorruptData: at the end, if the archive was cut off, or held bytes that belong to no record.
    """
    archive = _Archive(chunks, places)
    kept_bytes = max(kept_bytes, max_block_bytes)
    sought_bytes = max(max_block_bytes, _SOUGHT_BYTES)
    while archive.skip_line_ends():
        if not archive.is_at_version():
            archive.damage.append(f"no record begins at byte {archive.position}")
            archive.skip_to_version()
        elif (record := _next_record(archive, sought_bytes, kept_bytes)) is not None:
            yield record
    if archive.damage:
        raise CorruptData(archive.damage[0])


def is_record_end(rest: bytes) -> bool:
    """Return whether a record may end in front of these bytes: an empty line, another record, or nothing."""
    behind = rest.lstrip(b"\r\n")
    return not behind or bool(_RECORD_END.match(rest) or VERSION.match(behind))


def _next_record(archive: "_Archive", sought_bytes: int, kept_bytes: int) -> FramedRecord | None:
    """Return the record that begins here; None if the archive is cut off inside it."""
    archive.begin_record()
    head = archive.take_head()
    if head is None:
        is_long = archive.has(MAX_HEAD_BYTES)
        archive.skip_to_version(behind=1)
        if is_long:
            return FramedRecord({}, b"", f"the header of the record has more than {MAX_HEAD_BYTES} bytes")
        archive.damage.append("cut off in the header of a record")
        return None
    headers, length_bytes = parse_headers(head), _length(head)
    if length_bytes is None:
        if not archive.is_at_version():
            archive.skip_to_version()
        return FramedRecord(
            headers, b"", "the header of the record is cut off, or states no length or several"
        )
    block = archive.take(length_bytes, sought_bytes, kept_bytes)
    if not block.is_cut and archive.skip_record_end():
        return FramedRecord(headers, block.first(kept_bytes), head=head)
    if block.is_cut and not block.holds_version():
        archive.damage.append("cut off inside a record")
        return None
    archive.put_back(block)
    archive.skip_to_version()
    return FramedRecord(headers, block.first(kept_bytes), "no record follows where this one ends")


def parse_headers(head: bytes, lists: AbstractSet[str] = frozenset()) -> dict[str, str]:
    """Return the headers by name in lower case, ignoring lines without a colon.

    Args:
        head: lines of headers.
        lists: names of headers whose lines make one list, divided by commas; of others the first line counts.
    """
    lines = defaultdict[str, list[str]](list)
    unfolded = re.sub(rb"\r?\n[ \t]+", b" ", head)
    for line in unfolded.split(b"\n"):
        name, colon, value = line.partition(b":")
        if colon:
            lines[_text(name).strip().lower()].append(_text(value).strip())
    return {name: ", ".join(values) if name in lists else values[0] for name, values in lines.items()}


def _length(head: bytes) -> int | None:
    """Return the value of the only Content-Length, or of several equal ones."""
    lines = (line.partition(b":") for line in head.split(b"\n"))
    stated = {value.strip(b" \t\r") for name, _, value in lines if _is_content_length(name)}
    if len(stated) != 1:
        return None
    digits = stated.pop()
    return int(digits) if digits.isdigit() and len(digits) <= _MAX_LENGTH_DIGITS else None


def _is_content_length(name: bytes) -> bool:
    return name.rstrip(b" \t").lower() == b"content-length"


def _text(raw: bytes) -> str:
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return raw.decode("latin-1")


def _cut_at(head: bytes) -> int | None:
    """Return where the last header begins of several, the others of which were cut off within a line.

    A version line alone does not say so, as a URL may end like one; but no header names its record twice.
    """
    names: set[bytes] = set()
    for found in reversed(list(_IDENTITY.finditer(head))):
        if (name := found[1].lower()) in names:
            return next_version(head, found.end())
        names.add(name)
    return None


class _Archive:
    """A byte stream over chunks; some bytes may be put back."""

    def __init__(self, chunks: Iterator[bytes], places: Places) -> None:
        self._chunks = chunks
        self._places = places
        self._data = b""
        self._at = 0
        self._chunks_bytes = 0
        self._searched_bytes = 0
        self._endless_head_bytes = 0
        self.damage: list[str] = []

    def begin_record(self) -> None:
        """Note that a record begins here."""
        self._places.begin(self.position)

    @property
    def position(self) -> int:
        """Return the number of bytes taken so far."""
        return self._chunks_bytes - len(self._data) + self._at

    def skip_line_ends(self) -> bool:
        """Skip empty lines; return False at the end."""
        while True:
            found = _LINE_ENDS.match(self._data, self._at)
            assert found is not None  # noqa: S101 - it matches nothing, too
            self._at = found.end()
            if self._at < len(self._data):
                return True
            if not self._fill():
                return False

    def has(self, size_bytes: int) -> bool:
        """Return whether so many bytes are left."""
        while len(self._data) - self._at < size_bytes:
            if not self._fill():
                return False
        return True

    def is_at_version(self) -> bool:
        self.has(LONGEST_VERSION_BYTES)
        return VERSION.match(self._data, self._at) is not None

    def skip_to_version(self, behind: int = 0) -> None:
        """Skip `behind` bytes, and everything before the next version line."""
        self._at += behind
        within_lines = self._endless_head_bytes <= _SEARCHED_BYTES
        while (found := next_version(self._data, self._at, within_lines=within_lines)) is None:
            # A version line may begin in this chunk and end in the next.
            self._data, self._at = self._data[max(self._at, len(self._data) - _LONGEST_FIRST_BYTES) :], 0
            if not self._fill():
                self._data, self._at = b"", 0
                return
        self._at = found

    def take_head(self) -> bytes | None:
        """Return version line and headers, or nothing if the next record cuts them off.

        Return None if they have no end within the limit.
        """
        searched = 0
        while (end := _HEAD_END.search(self._data, self._at + searched, self._at + MAX_HEAD_BYTES)) is None:
            searched = max(0, len(self._data) - self._at - LONGEST_VERSION_BYTES)
            if searched >= MAX_HEAD_BYTES or not self._fill():
                self._endless_head_bytes += searched
                return None
        head = self._data[self._at : end.start()]
        if (cut := _cut_at(head)) is not None:
            self._at += cut
            return b""
        self._at = end.end()
        return head if end[0].count(b"\n") > 1 else b""

    def take(self, size_bytes: int, sought_bytes: int, kept_bytes: int) -> Block:
        """Return the next bytes; fewer at the end, or if they seem to hold the records behind this one."""
        start, end = self.position, self.position + size_bytes
        is_exhausted = self._searched_bytes > _SEARCHED_BYTES and not self._places.ends_at(end)
        block = Block(sought_bytes, kept_bytes, ends_at_version=is_exhausted)
        block.buffer, block.start = self._data, self._at
        while size_bytes and not block.is_cut:
            if self._at == len(self._data):
                self._data, self._at = b"", 0
                if not self._fill():
                    block.is_cut = True
                    break
            piece = self._data[self._at : self._at + min(size_bytes, _PIECE_BYTES)]
            if block.add(piece) and not is_exhausted:
                block.is_cut = self._holds_others(block, start, end)
            self._at += len(piece)
            size_bytes -= len(piece)
        return block

    def _holds_others(self, block: Block, start: int, end: int) -> bool:
        """Return whether records in a long block are none of its content, because its length is wrong."""
        records = block.records()
        first = next(records, None)
        if first is None:
            return False
        if (is_end := self._places.ends_at(end)) is not None:
            return not is_end
        return self._places.may_divide(start + found for found in chain([first], records))

    def put_back(self, block: Block) -> None:
        """Put a block back, to be searched; after a line end, because its first line may be a version."""
        sought = block.sought()
        self._searched_bytes += len(sought)
        if block.buffer is self._data:
            self._at = block.start
        else:
            self._data, self._at = b"\n" + sought + self._data[self._at :], 0

    def skip_record_end(self) -> bool:
        """Skip what ends a record; return False if something else follows."""
        self.has(LONGEST_VERSION_BYTES)
        has_empty_line = _RECORD_END.match(self._data, self._at) is not None
        return not self.skip_line_ends() or has_empty_line or self.is_at_version()

    def _fill(self) -> bool:
        """Add the next chunk; return False if there is none, because of damage or at the end."""
        try:
            while (chunk := next(self._chunks, None)) == b"":  # a pipe is silent
                check_cut()
        except CorruptData as error:  # which ends the chunks
            self.damage.insert(0, str(error))
            return False
        if chunk is None:
            return False
        self._data, self._at = self._data[self._at :] + chunk, 0
        self._chunks_bytes += len(chunk)
        return True
