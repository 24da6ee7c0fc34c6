"""Predicts what the one slot of the clusters, `{c}`, leaves for shards on the master that holds it."""

from collections.abc import Iterator
from math import floor
from typing import Final

__all__ = ["CLUSTER_MICROSECONDS", "slot_warnings"]

CLUSTER_MICROSECONDS: Final = 12.0
"""Of Redis for each page in that slot; `benchmarks.cluster_slot` measures these."""

_SLOTS: Final = 1 << 14
"""Of a Redis Cluster."""


def slot_warnings(
    *, gib: tuple[float, float, float], cores: tuple[float, float, float], masters: int, shards: int
) -> Iterator[str]:
    """Yield what the master of the slot cannot carry.

    Args:
        gib: memory of the slot, of the whole index, and of one master as far as it is to be filled.
        cores: processor time of the same, busy at once.
        masters: that share the index.
        shards: that they share.
    """
    slot_gib, _, full_gib = gib
    slot_cores, _, busy_cores = cores
    if slot_gib > full_gib:
        yield (
            f"clusters take {slot_gib:,.0f} GiB in one slot, {{c}}, on one master, to be filled to"
            f" {full_gib:,.0f} GiB: give that one more, and no other slot (docs/scaling.md)"
        )
    elif slot_cores > busy_cores:
        yield (
            f"the slot of the clusters, {{c}}, keeps one core of one master busy for {slot_cores:.0%} of the"
            f" time, more than {busy_cores:.0%}, and more masters do not help (docs/scaling.md)"
        )
    elif (room := min(_room(*gib), _room(*cores))) < 1 / masters:
        left = floor(room * shards)
        yield (
            f"{slot_gib:,.0f} GiB of clusters are in one slot, {{c}}: leave its master {left} of"
            f" the {shards} shards, {left * _SLOTS // shards:,} slots, and the rest to the others"
            " (docs/scaling.md)"
        )


def _room(of_slot: float, of_all: float, most: float) -> float:
    """Return for which part of everything else the master of the slot has room."""
    return (most - of_slot) / (of_all - of_slot) if of_all > of_slot else 1.0
