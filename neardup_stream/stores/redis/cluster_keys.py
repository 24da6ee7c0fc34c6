"""The keys of clusters. All carry one hash tag, so that one script may change them together.

<namespace>:<schema>:{c}:pages:<slot>      hash: handle → page cell
<namespace>:<schema>:{c}:clusters:<slot>   hash: cluster key → cluster cell
<namespace>:<schema>:{c}:members:<slot>    sorted set, all scores 0: cluster key, rank, handle; for a set of
                                           members that belongs to it, also the version that founded it
<namespace>:<schema>:{c}:absorbed          hash: cluster keys whose members have not moved yet
<namespace>:<schema>:{c}:turn              token of the daemon whose commit comes next; expires
<namespace>:<schema>:{c}:rows:<input>:<n>  hash: offset → row, of one partition
<namespace>:<schema>:{c}:trimmed           hash: partition → offset; rows below it are gone; counts of aging
<namespace>:<schema>:{c}:decided           hash: partition → offset; no row lies at it or above
<namespace>:<schema>:{c}:idle              hash: partition of a pipe → since when its rows are what they are
<namespace>:<schema>:{c}:ranks             counter: the last rank that was taken
<namespace>:<schema>:{c}:aging             list: time, rank, handle; the oldest in front
"""

from collections.abc import Callable
from functools import lru_cache

from neardup_stream.stores.cluster_store import CLUSTERS, PAGES, Cell

__all__ = ["ClusterKeys"]

_MAX_NAMES = 1 << 16
"""Remembered names of one table's hashes: all of them up to some 4 * 10**6 pages."""


class ClusterKeys:
    """Makes the keys of one namespace and schema.

    Args:
        namespace: what the operator calls this index.
        schema_id: short name of everything that changes stored bytes.
        slot_bits: log2 of the number of hashes; some 64 pages in clusters to one keep it packed.
    """

    def __init__(self, *, namespace: str, schema_id: str, slot_bits: int) -> None:
        stem = f"{namespace}:{schema_id}:{{c}}:"
        self._stem = stem
        self._slot_bits = slot_bits
        self._hashes = {table: _slot_names(f"{stem}{table}:") for table in (PAGES, CLUSTERS)}
        self._members = _slot_names(f"{stem}members:")
        self.ranks = f"{stem}ranks"
        self.trimmed = f"{stem}trimmed"
        self.aging = f"{stem}aging"
        self.turn = f"{stem}turn"

    @property
    def slot_count(self) -> int:
        """How many hashes each table is spread over."""
        return 1 << self._slot_bits

    def of(self, cell: Cell) -> str:
        """The hash that holds a cell."""
        name_of = self._hashes.get(cell.table)
        return self._stem + cell.table if name_of is None else name_of(self._slot(cell.field))

    def members(self, cluster: bytes) -> str:
        """The sorted set that holds the members of a cluster, among others."""
        return self._members(self._slot(cluster))

    def clusters(self, slots: range) -> list[str]:
        """Some hashes of cluster cells; not remembered, because a walk names each once."""
        stem = f"{self._stem}{CLUSTERS}:"
        return [f"{stem}{slot:x}" for slot in slots]

    def _slot(self, field: bytes) -> int:
        return int.from_bytes(field[:8], "big") >> (64 - self._slot_bits)


def _slot_names(stem: str) -> Callable[[int], str]:
    """By slot; remembered, because a batch names most cells twice."""

    @lru_cache(maxsize=_MAX_NAMES)
    def name(slot: int) -> str:
        return f"{stem}{slot:x}"

    return name
