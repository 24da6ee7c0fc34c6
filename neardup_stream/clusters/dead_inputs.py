"""Removes what was decided for pipes that were cut and never come again.

A run of `dedup` removes the rows of its pipes while it reads them. One that is killed leaves some. When a run
ended is not stored, so a pipe counts as dead once nothing was decided or trimmed of it between two looks that
are long enough apart. The bounds of its offsets stay: a process that was paused for even longer is refused by
them.
"""

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from neardup_stream.chunks import in_chunks
from neardup_stream.clusters.rows import RowBounds, trim_rows
from neardup_stream.message import Partition
from neardup_stream.stores.cluster_store import (
    DECIDED,
    RANK_BYTES,
    TRIMMED,
    CellAddress,
    ClusterStore,
    Transaction,
    named_partition,
    partition_name,
)

__all__ = ["IDLE", "drop_dead_inputs"]

IDLE: Final = "idle"
"""Table of the pipes that had rows when they were last looked at: field = name of the partition, value = no
rank, then the bounds of its rows and since when they are so, in decimal."""

_PIPE: Final = re.compile(rb"(?:stdin|pipe:.*):[0-9a-f]{32}:\d+", re.DOTALL)
"""A partition of a pipe, with the name of its run."""

_INPUTS_AT_ONCE: Final = 100


class _Look(NamedTuple):
    """The bounds of the rows of a pipe, and since when they are so, epoch seconds."""

    bounds: RowBounds
    since_seconds: int

    def pack(self) -> bytes:
        return bytes(RANK_BYTES) + b"%d %d %d" % (*self.bounds, self.since_seconds)

    @classmethod
    def unpack(cls, packed: bytes) -> "_Look":
        floor, ceiling, since_seconds = map(int, packed[RANK_BYTES:].split())
        return cls(RowBounds(floor, ceiling), since_seconds)


async def drop_dead_inputs(store: ClusterStore, now_seconds: int, idle_seconds: int) -> int:
    """Remove the rows of pipes of which nothing was heard for long; the pages that they decided begin to age.

    Args:
        store: keeps them.
        now_seconds: epoch seconds, by the clock of the store.
        idle_seconds: how long; more than any run may be paused.

    Returns:
        Of how many pipes.

    Raises:
        StoreUnavailable: calling again does the rest.
    Cost: a round trip and two for each 100 pipes that ever were; see `trim_rows`.
    """
    pipes = [name for name in await store.partitions() if _PIPE.fullmatch(name)]
    dropped = 0
    for names in in_chunks(pipes, _INPUTS_AT_ONCE):
        dropped += await _drop(store, names, now_seconds, idle_seconds)
    return dropped


async def _drop(store: ClusterStore, names: Sequence[bytes], now_seconds: int, idle_seconds: int) -> int:
    tables = (TRIMMED, DECIDED, IDLE)
    values, _ = await store.read([CellAddress(table, name) for name in names for table in tables])
    expected: dict[CellAddress, bytes | None] = {}
    writes: dict[CellAddress, bytes | None] = {}
    dead: dict[Partition, int] = {}
    for number, name in enumerate(names):
        trimmed, decided, noted = values[3 * number : 3 * number + 3]
        bounds, address = RowBounds.unpack(trimmed, decided), CellAddress(IDLE, name)
        if bounds.is_empty:
            if noted is not None:
                expected[address], writes[address] = noted, None
            continue
        before = None if noted is None else _Look.unpack(noted)
        if before is None or before.bounds != bounds:
            expected[address], writes[address] = noted, _Look(bounds, now_seconds).pack()
        elif now_seconds - before.since_seconds >= idle_seconds:
            dead[named_partition(name)] = bounds.ceiling
    if writes:
        await store.commit(Transaction(floors={}, expected=expected, writes=writes))
    await trim_rows(store, dead)
    gone: dict[CellAddress, bytes | None] = {CellAddress(IDLE, partition_name(each)): None for each in dead}
    if gone:
        await store.commit(Transaction(floors={}, expected={}, writes=gone))
    return len(dead)
