"""What a daemon does whose index knows of fewer ranks than it has taken."""

from typing import Literal

import pytest

from neardup_stream.errors import StoreUnavailable
from neardup_stream.stores.cluster_store import DECIDED, CellAddress, Transaction
from neardup_stream.stores.guarded_clusters import INDEX, GuardedClusters, IndexLost
from neardup_stream.stores.memory.clusters import MemoryClusters
from tests.unit.stores.guarded_stores import INDEX_A, SOMETHING, gone_back_from


async def test_an_older_copy_is_noticed_by_a_commit_of_another_partition() -> None:
    """What it decided rests on pages that are lost: its events are not to be sent."""
    store = MemoryClusters()
    guarded = await gone_back_from(store)

    writes = {CellAddress(DECIDED, b"pages:4"): bytes(6) + b"7"}
    with pytest.raises(IndexLost, match="it knows of 1 ranks, and it knew of 2"):
        await guarded.commit(Transaction(floors={}, expected={}, writes=writes, rank_count=1))
    with pytest.raises(IndexLost, match="earlier state"):
        await GuardedClusters(store, INDEX_A).check()


class FailsOnce(MemoryClusters):
    """Memory whose first write of the token since it is `failing` does not succeed."""

    failing: StoreUnavailable | Literal["turn"] | None = None

    async def commit(self, transaction: Transaction) -> int | None:
        if INDEX in transaction.writes and self.failing:
            failing, self.failing = self.failing, None
            if failing == "turn":
                return None
            raise failing
        return await super().commit(transaction)


@pytest.mark.parametrize("failing", ["turn", StoreUnavailable("Redis: no answer in time", "timeout")])
async def test_what_an_older_copy_would_decide_is_never_written_though_the_token_is_not_overwritten_at_once(
    failing: StoreUnavailable | Literal["turn"],
) -> None:
    store = FailsOnce()
    guarded = await gone_back_from(store)
    store.failing = failing
    writing = Transaction(floors={}, expected={}, writes={SOMETHING: bytes(7)}, rank_count=1)

    with pytest.raises(StoreUnavailable):
        await guarded.commit(writing)
    await GuardedClusters(store, INDEX_A).check()
    with pytest.raises(IndexLost, match="it knows of 1 ranks, and it knew of 2"):
        await guarded.commit(writing)

    assert (await store.read([SOMETHING]))[0] == [None]
    with pytest.raises(IndexLost, match="earlier state"):
        await GuardedClusters(store, INDEX_A).check()
