"""Look at the index before each claim of the sweep: nothing is claimed where the daemon may not write."""

from collections.abc import Awaitable, Callable

from neardup_stream.stores.guarded_clusters import GuardedClusters
from neardup_stream.stores.sweep_rounds import Claim, SweepRounds

__all__ = ["CheckedSweepRounds", "check_intact"]


class CheckedSweepRounds:
    """A SweepRounds over another one; a claim raises what its check raises.

    Args:
        rounds: remembers how far the sweep has come.
        check: called before each claim; its round trips are those that a claim takes more.
    """

    def __init__(self, rounds: SweepRounds, check: Callable[[], Awaitable[None]]) -> None:
        self._rounds = rounds
        self._check = check

    async def now_seconds(self) -> float:
        """See the contract."""
        return await self._rounds.now_seconds()

    async def claim(self, slot_limit: int, slot_count: int, round_seconds: float) -> Claim:
        """See the contract."""
        await self._check()
        return await self._rounds.claim(slot_limit, slot_count, round_seconds)


async def check_intact(clusters: GuardedClusters, is_installed: Callable[[], Awaitable[bool]]) -> None:
    """Raise IndexLost where an index lost what was decided, or its meta record names it no more.

    Args:
        clusters: of the index.
        is_installed: asks whether the meta record still names the index.

    Cost: two round trips.
    """
    await clusters.check_state()
    if not await is_installed():
        await clusters.abandon("is not named by the meta record of its namespace any more")
