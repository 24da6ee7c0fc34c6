"""Build one transaction: plan, read what the plans lack, and plan again."""

from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Final, TypeVar

from neardup_stream.clusters.cells import PageCell
from neardup_stream.clusters.overlay import Overlay
from neardup_stream.clusters.reading import Reader
from neardup_stream.clusters.snapshot import StaleSnapshot
from neardup_stream.page import Handle
from neardup_stream.stores.cluster_cells import handle_of_address
from neardup_stream.stores.cluster_store import PAGES, Transaction

__all__ = ["changes_of", "planned", "with_heads"]

_SENT_WHOLE_BYTES: Final = 256
"""Values up to so many bytes are expected as a whole, whatever is in them."""

_T = TypeVar("_T")
_I = TypeVar("_I")


async def planned(
    reader: Reader, items: Sequence[_I], step: Callable[[Overlay, _I, int], _T | None]
) -> tuple[Overlay, list[_T]]:
    """Plan each item, numbered from 1, and read what the plans lack, until they lack nothing.

    Returns:
        What is planned, and the results in order; without those that are None.

    Raises:
        StaleSnapshot: what was read does not fit together; it has the snapshot.
    """
    while True:
        overlay = Overlay(reader.snapshot, leading_count=len(items) + 1)
        try:
            results = [overlay.attempt(step, item, number) for number, item in enumerate(items, start=1)]
        except StaleSnapshot as stale:
            raise StaleSnapshot(str(stale), reader.snapshot) from stale
        if not overlay.needs:
            return overlay, [result for result in results if result is not None]
        await reader.fetch(overlay.needs)


def changes_of(reader: Reader, overlay: Overlay, rank_count: int = 0, turn: bytes = b"") -> Transaction:
    """Return the planned changes, for a commit if nothing has changed but sizes of clusters."""
    counted = overlay.counted()
    return Transaction(
        floors={},
        expected={address: value for address, value in reader.snapshot.raw.items() if address not in counted},
        writes=overlay.writes(counted),
        joined=overlay.joined(),
        left=overlay.left(),
        counted=counted,
        rank_count=rank_count,
        turn=turn,
    )


def with_heads(
    changes: Transaction, looked_at: AbstractSet[Handle], pages: Mapping[Handle, PageCell]
) -> Transaction:
    """Return the changes, expecting of large page cells that are only read no more than they rest on.

    What is large of a cell are the matches that wait for its page. A decision about another page rests on
    them only where they leave no room for its own.

    Args:
        changes: to cells.
        looked_at: the pages on whose cells the changes rest; of others, read for later requests, nothing is
            expected.
        pages: what was read of all of them.
    """
    expected, begins = {}, {}
    for address, value in changes.expected.items():
        if (
            not value
            or len(value) <= _SENT_WHOLE_BYTES
            or address.table != PAGES
            or address in changes.writes
        ):
            expected[address] = value
        elif (handle := handle_of_address(address)) in looked_at:
            begins[address] = value[: pages[handle].head_bytes]
    return changes._replace(expected=expected, begins=begins)
