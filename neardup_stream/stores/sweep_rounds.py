"""Define how daemons share the sweep of all records: rounds through the slots, at a steady pace.

The pace is that of the store's clock: by each moment so many slots are due, and a daemon that sweeps claims
the next of them. `tests/contracts/sweep_rounds.py` holds implementations to it.
"""

from typing import NamedTuple, Protocol

__all__ = ["Claim", "SweepRounds"]


class Claim(NamedTuple):
    """Slots to sweep now.

    Attributes:
        first_slot: the first of them.
        slot_count: how many; 0 where none is due.
        now_seconds: epoch seconds by the clock of the store.
        behind_seconds: how far the sweep is behind its pace, before this claim; less than two rounds. Of
            rounds that are left out one remains, so that a sweep which is late still counts as late.
    """

    first_slot: int
    slot_count: int
    now_seconds: float
    behind_seconds: float


class SweepRounds(Protocol):
    """Remembers how far the sweep has come."""

    async def now_seconds(self) -> float:
        """Return epoch seconds by the clock of the store."""
        ...

    async def claim(self, slot_limit: int, slot_count: int, round_seconds: float) -> Claim:
        """Claim the slots that are due next.

        Args:
            slot_limit: most to claim.
            slot_count: of the index.
            round_seconds: how long a round through all of them takes.

        Raises:
            StoreUnavailable: claim again; slots that were claimed meanwhile wait for the next round.
        """
        ...
