"""From what must be known to one transaction: plan, read what the plans lack, and plan again."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from neardup_stream.clusters.overlay import World
from neardup_stream.clusters.reading import Reader
from neardup_stream.stores.cluster_store import Transaction

__all__ = ["changes_of", "planned"]

_T = TypeVar("_T")
_I = TypeVar("_I")


async def planned(
    reader: Reader, items: Sequence[_I], step: Callable[[World, _I, int], _T]
) -> tuple[World, list[_T]]:
    """Plan each item, numbered from 1, and read what the plans lack, until they lack nothing."""
    while True:
        world = World(reader.view, leading_count=len(items) + 1)
        results = [world.attempt(step, item, number) for number, item in enumerate(items, start=1)]
        if not world.needs:
            return world, [result for result in results if result is not None]
        await reader.fetch(world.needs)


def changes_of(reader: Reader, world: World, rank_count: int = 0, turn: bytes = b"") -> Transaction:
    """What was planned, if nothing has moved but sizes of clusters."""
    counted = world.counted()
    return Transaction(
        floors={},
        expected={cell: value for cell, value in reader.view.raw.items() if cell not in counted},
        writes=world.writes(),
        joined=world.joined(),
        left=world.left(),
        counted=counted,
        rank_count=rank_count,
        turn=turn,
    )
