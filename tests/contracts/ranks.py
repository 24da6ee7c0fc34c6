"""What every ClusterStore promises of ranks; see `clusters`."""

import pytest

from neardup_stream.stores.cluster_store import ClusterStore
from neardup_stream.stores.ranks_went_back import RanksWentBack
from tests.contracts.cluster_cells import (
    LOW,
    page,
    ranked,
    value,
    writing,
)

__all__ = ["KNOWN_RANK_CLAIMS", "RANK_CLAIMS"]


async def ranks_follow_the_order_of_commits(store: ClusterStore) -> None:
    bases = [await store.commit(writing(rank_count=count)) for count in (2, 0, 3, 1)]

    assert bases == [0, 2, 2, 5]


async def a_commit_that_knows_of_more_ranks_is_refused_and_changes_nothing(store: ClusterStore) -> None:
    cell, known = (page(LOW), ranked(1)), 5
    await store.commit(writing(rank_count=known - 1))
    one_too_many = writing(cell, rank_count=1)._replace(known_ranks=known)

    with pytest.raises(RanksWentBack) as lost:
        await store.commit(one_too_many)

    assert (lost.value.count, await value(store, page(LOW))) == (known - 1, None)
    assert await store.commit(one_too_many._replace(known_ranks=known - 1)) == known - 1


RANK_CLAIMS = [ranks_follow_the_order_of_commits]

KNOWN_RANK_CLAIMS = [a_commit_that_knows_of_more_ranks_is_refused_and_changes_nothing]
"""For stores without a guard, which says itself how many ranks it knows."""
