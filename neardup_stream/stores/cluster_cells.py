"""Name the cells of pages, and pack those of `DECIDED`, in one way for every store and all above."""

from neardup_stream.page import Handle
from neardup_stream.stores.cluster_store import PAGES, RANK_BYTES, Cell

__all__ = ["handle_of_cell", "pack_ceiling", "page_cell", "unpack_ceiling"]

_NO_RANK = bytes(RANK_BYTES)


def pack_ceiling(offset: int) -> bytes:
    """Return the value of a cell of `DECIDED`: all rows of the partition lie below this offset."""
    return _NO_RANK + b"%d" % offset


def unpack_ceiling(value: bytes | None) -> int:
    """Return the offset in a cell of `DECIDED`; 0 where nothing is stored."""
    return int(value[RANK_BYTES:]) if value else 0


def page_cell(handle: Handle) -> Cell:
    """Return the address of the cell of a page."""
    return Cell(PAGES, handle.to_bytes(8, "big"))


def handle_of_cell(cell: Cell) -> Handle:
    """Return the page whose cell `page_cell` named."""
    return Handle(int.from_bytes(cell.field, "big"))
