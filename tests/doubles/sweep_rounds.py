"""Implement the sweep's rounds in memory, for tests."""

import math
from collections.abc import Callable

from neardup_stream.stores.sweep_rounds import Claim

__all__ = ["MemorySweepRounds"]


class MemorySweepRounds:
    """A SweepRounds in a number.

    Args:
        now_seconds: the store's clock.
    """

    def __init__(self, now_seconds: Callable[[], float]) -> None:
        self._now_seconds = now_seconds
        self._claimed: int | None = None

    async def now_seconds(self) -> float:
        """See the contract."""
        return self._now_seconds()

    async def claim(self, slot_limit: int, slot_count: int, round_seconds: float) -> Claim:
        """See the contract."""
        now = self._now_seconds()
        due = math.floor(now / round_seconds * slot_count)
        claimed = due - slot_count if self._claimed is None else self._claimed
        if due - claimed >= 2 * slot_count:
            claimed += ((due - claimed) // slot_count - 1) * slot_count
        elif claimed > due + slot_count:
            claimed -= math.ceil((claimed - due) / slot_count) * slot_count
        behind = max(0, due - claimed)
        count = min(slot_limit, behind, slot_count - claimed % slot_count)
        self._claimed = claimed + count
        return Claim(claimed % slot_count, count, now, behind / slot_count * round_seconds)
