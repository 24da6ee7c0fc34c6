from collections.abc import Awaitable, Callable

import pytest

from neardup_stream.stores.memory.clusters import MemoryClusters
from tests.contracts.clusters import CLUSTER_STORE_CLAIMS


@pytest.mark.parametrize("claim", CLUSTER_STORE_CLAIMS, ids=lambda claim: claim.__name__)
async def test_memory_clusters_keep_the_contract(claim: Callable[[MemoryClusters], Awaitable[None]]) -> None:
    await claim(MemoryClusters())
