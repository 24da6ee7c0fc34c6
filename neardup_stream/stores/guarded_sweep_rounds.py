"""Guard the rounds of the sweep, each claim of which looks at the index for the daemon.

Nothing is claimed where the index lost decisions or its meta record, or where another policy is in force.
"""

from collections.abc import Awaitable, Callable

from neardup_stream.stores.guarded_clusters import GuardedClusters
from neardup_stream.stores.sweep_rounds import Claim, SweepRounds

__all__ = ["AgreedSweepRounds", "GuardedSweepRounds"]


class GuardedSweepRounds:
    """A SweepRounds over another one; a claim raises IndexLost where the index lost what was decided.

    Args:
        rounds: remembers how far the sweep has come.
        clusters: of the index.
        is_installed: asks whether the meta record still names the index.

    Cost: two round trips more for each claim.
    """

    def __init__(
        self, rounds: SweepRounds, clusters: GuardedClusters, is_installed: Callable[[], Awaitable[bool]]
    ) -> None:
        self._rounds = rounds
        self._clusters = clusters
        self._is_installed = is_installed

    async def now_seconds(self) -> float:
        """See the contract."""
        return await self._rounds.now_seconds()

    async def claim(self, slot_limit: int, slot_count: int, round_seconds: float) -> Claim:
        """See the contract."""
        await self._clusters.check_state()
        if not await self._is_installed():
            await self._clusters.abandon("is not named by the meta record of its namespace any more")
        return await self._rounds.claim(slot_limit, slot_count, round_seconds)


class AgreedSweepRounds:
    """A SweepRounds over another one; a claim raises ConfigError where another policy is in force.

    Args:
        rounds: remembers how far the sweep has come.
        require_policy: raises that error.

    Cost: a round trip more for each claim.
    """

    def __init__(self, rounds: SweepRounds, require_policy: Callable[[], Awaitable[None]]) -> None:
        self._rounds = rounds
        self._require_policy = require_policy

    async def now_seconds(self) -> float:
        """See the contract."""
        return await self._rounds.now_seconds()

    async def claim(self, slot_limit: int, slot_count: int, round_seconds: float) -> Claim:
        """See the contract."""
        await self._require_policy()
        return await self._rounds.claim(slot_limit, slot_count, round_seconds)
