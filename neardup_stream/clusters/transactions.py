"""Build one transaction: plan, read what the plans lack, and plan again."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from neardup_stream.clusters.overlay import Overlay
from neardup_stream.clusters.reading import Reader
from neardup_stream.stores.cluster_store import Transaction

__all__ = ["changes_of", "planned"]

_T = TypeVar("_T")
_I = TypeVar("_I")


async def planned(
    reader: Reader, items: Sequence[_I], step: Callable[[Overlay, _I, int], _T]
) -> tuple[Overlay, list[_T]]:
    """Plan each item, numbered from 1, and read what the plans lack, until they lack nothing."""
    while True:
        overlay = Overlay(reader.snapshot, leading_count=len(items) + 1)
        results = [overlay.attempt(step, item, number) for number, item in enumerate(items, start=1)]
        if not overlay.needs:
            return overlay, [result for result in results if result is not None]
        await reader.fetch(overlay.needs)


def changes_of(reader: Reader, overlay: Overlay, rank_count: int = 0, turn: bytes = b"") -> Transaction:
    """Return the planned changes, for a commit if nothing has changed but sizes of clusters."""
    counted = overlay.counted()
    return Transaction(
        floors={},
        expected={cell: value for cell, value in reader.snapshot.raw.items() if cell not in counted},
        writes=overlay.writes(),
        joined=overlay.joined(),
        left=overlay.left(),
        counted=counted,
        rank_count=rank_count,
        turn=turn,
    )
