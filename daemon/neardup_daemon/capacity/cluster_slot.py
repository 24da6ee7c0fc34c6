"""Predicts what the one slot of the clusters, `{c}`, leaves for shards on the master that holds it."""

from math import floor
from typing import Final

__all__ = ["CLUSTER_MICROSECONDS", "slot_warning"]

CLUSTER_MICROSECONDS: Final = 12.0
"""Of Redis for each page in that slot; `benchmarks.cluster_slot` measures these."""

_SLOTS: Final = 1 << 14
"""Of a Redis Cluster."""


def slot_warning(
    *, gib: tuple[float, float, float], cores: tuple[float, float, float], masters: int, shards: int
) -> str | None:
    """Return what the master of the slot cannot carry.

    Args:
        gib: memory of the slot, of the whole index, and of one master as far as it is to be filled.
        cores: processor time of the same, busy at once.
        masters: that share the index.
        shards: that they share.
    """
    slot_gib, _, full_gib = gib
    slot_cores, _, busy_cores = cores
    if slot_gib > full_gib:
        return (
            f"clusters take {slot_gib:,.0f} GiB in one slot, {{c}}, on one master, to be filled to"
            f" {full_gib:,.0f} GiB: give that one more, and no other slot (docs/scaling.md)"
        )
    if slot_cores > busy_cores:
        return (
            f"the slot of the clusters, {{c}}, keeps one core of one master busy for {slot_cores:.0%} of the"
            f" time, more than {busy_cores:.0%}, and more masters do not help (docs/scaling.md)"
        )
    rooms = {
        f"{slot_gib:,.0f} GiB of clusters are": _room(*gib),
        f"{slot_cores:.0%} of a core for clusters is": _room(*cores),
    }
    what = min(rooms, key=rooms.__getitem__)
    if rooms[what] >= 1 / masters:
        return None
    left = floor(rooms[what] * shards)
    others = f"{left} of the {shards} shards, {left * _SLOTS // shards:,} slots" if left else "no other slot"
    return f"{what} in one slot, {{c}}: leave its master {others} (docs/scaling.md)"


def _room(of_slot: float, of_all: float, most: float) -> float:
    """Return for which part of everything else the master of the slot has room."""
    return (most - of_slot) / (of_all - of_slot) if of_all > of_slot else 1.0
