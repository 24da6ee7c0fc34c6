"""Pack and unpack what a cluster store keeps beside clusters and rows, in one way for every store."""

from neardup_stream.stores.cluster_store import RANK_BYTES

__all__ = ["pack_ceiling", "unpack_ceiling"]

_NO_RANK = bytes(RANK_BYTES)


def pack_ceiling(offset: int) -> bytes:
    """Return the value of a cell of `DECIDED`: all rows of the partition lie below this offset."""
    return _NO_RANK + b"%d" % offset


def unpack_ceiling(value: bytes | None) -> int:
    """Return the offset in a cell of `DECIDED`; 0 where nothing is stored."""
    return int(value[RANK_BYTES:]) if value else 0
