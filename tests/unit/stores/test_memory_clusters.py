from collections.abc import Awaitable, Callable

import pytest

from neardup_stream.stores.memory.clusters import MemoryClusters
from tests.contracts.cluster_cells import LOW, appending, deciding, trim
from tests.contracts.clusters import UNGUARDED_STORE_CLAIMS


@pytest.mark.parametrize("claim", UNGUARDED_STORE_CLAIMS, ids=lambda claim: claim.__name__)
async def test_memory_clusters_keep_the_contract(claim: Callable[[MemoryClusters], Awaitable[None]]) -> None:
    await claim(MemoryClusters())


async def test_a_turn_and_aging_pages_outlast_no_clock_that_is_set_back() -> None:
    now = 10_000.0
    store = MemoryClusters(lambda: now)
    await store.commit(deciding(appending(1, (0, LOW, 9)), below=4, rank_count=1))
    await trim(store, 9)
    assert await store.take_turn(b"another", 1)

    now -= 3600

    assert await store.take_turn(b"own", 1)
    assert [aged.handle for aged in await store.due(600, 10)] == [LOW]
