"""Say where the cells of pages are, and pack those of `DECIDED`, in one way for every store and all above."""

from neardup_stream.page import Handle
from neardup_stream.stores.cluster_store import PAGES, RANK_BYTES, CellAddress

__all__ = ["handle_of_address", "pack_ceiling", "page_address", "unpack_ceiling"]

_NO_RANK = bytes(RANK_BYTES)


def pack_ceiling(offset: int) -> bytes:
    """Return the value of a cell of `DECIDED`: all rows of the partition lie below this offset."""
    return _NO_RANK + b"%d" % offset


def unpack_ceiling(value: bytes | None) -> int:
    """Return the offset in a cell of `DECIDED`; 0 where nothing is stored."""
    return int(value[RANK_BYTES:]) if value else 0


def page_address(handle: Handle) -> CellAddress:
    """Return the address of the cell of a page."""
    return CellAddress(PAGES, handle.to_bytes(8, "big"))


def handle_of_address(address: CellAddress) -> Handle:
    """Return the page whose cell has this address."""
    return Handle(int.from_bytes(address.field, "big"))
