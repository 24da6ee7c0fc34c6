"""Pack and unpack the parts of a block of decision records: what one commit has appended.

Of the pages in a part, and of those that age without one, a list of aging pages has entries, see `pack_aged`.
"""

import struct
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from neardup_stream.errors import CorruptData
from neardup_stream.page import Handle
from neardup_stream.stores.cluster_store import RANK_BYTES, Aged

__all__ = ["AgedPart", "pack_aged", "pack_part", "unpack_aged", "unpack_parts"]

_PART_HEAD = struct.Struct(">6sHI")
_AGED_PAGE = struct.Struct(">HQI")


class AgedPart(NamedTuple):
    """A part of a block: what one commit has appended.

    Attributes:
        rank: of the first page in `pages`, perhaps provisional; 0 if there is none.
        pages: those whose cells begin to age once the block is trimmed: their ranks from `rank` on, their
            handles, and the digests of their texts as in `Aged`.
        rows: what the store does not look at.
    """

    rank: int
    pages: Sequence[tuple[int, Handle, int]]
    rows: bytes


def pack_part(part: AgedPart) -> bytes:
    """Return the bytes that a commit appends to a block.

    rank (6) | number of pages (2) | length of the rows (4) | of each page, its rank from there on (2), handle
    (8) and digest (4) | rows
    """
    head = _PART_HEAD.pack(part.rank.to_bytes(RANK_BYTES, "big"), len(part.pages), len(part.rows))
    return b"".join((head, *(_AGED_PAGE.pack(*page) for page in part.pages), part.rows))


def unpack_parts(block: bytes) -> Iterator[AgedPart]:
    """Yield the parts of a block, in the order in which they were appended.

    Raises:
        CorruptData: these bytes are not parts.
    """
    at = 0
    while at < len(block):
        try:
            rank, page_count, size = _PART_HEAD.unpack_from(block, at)
        except struct.error as error:
            raise CorruptData(f"a block of rows of {len(block)} bytes cannot be read: {error}") from error
        pages_at = at + _PART_HEAD.size
        rows_at = pages_at + page_count * _AGED_PAGE.size
        at = rows_at + size
        if at > len(block):
            raise CorruptData(f"a block of rows of {len(block)} bytes ends within a part")
        pages = list(_pages(block[pages_at:rows_at]))
        yield AgedPart(int.from_bytes(rank, "big"), pages, block[rows_at:at])


def pack_aged(aged: Aged) -> bytes:
    """Return the entry of a page cell that begins to age alone."""
    return aged.rank.to_bytes(RANK_BYTES, "big") + _AGED_PAGE.pack(0, aged.handle, aged.content)


def unpack_aged(entry: bytes) -> Iterator[Aged]:
    """Yield the page cells that began to age together: of a part, its rank and pages make one entry."""
    rank = int.from_bytes(entry[:RANK_BYTES], "big")
    for step, handle, content in _pages(entry[RANK_BYTES:]):
        yield Aged(rank + step, handle, content)


def _pages(packed: bytes) -> Iterator[tuple[int, Handle, int]]:
    for step, handle, content in _AGED_PAGE.iter_unpack(packed):
        yield step, Handle(handle), content
