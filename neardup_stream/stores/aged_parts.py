"""Pack and unpack the parts of a block of decision records: what one commit has appended."""

import struct
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from neardup_stream.errors import CorruptData
from neardup_stream.page import Handle
from neardup_stream.stores.cluster_store import RANK_BYTES

__all__ = ["AgedPart", "pack_part", "unpack_parts"]

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
        packed = _AGED_PAGE.iter_unpack(block[pages_at:rows_at])
        pages = [(step, Handle(handle), content) for step, handle, content in packed]
        yield AgedPart(int.from_bytes(rank, "big"), pages, block[rows_at:at])
