import asyncio
from collections.abc import Mapping

import pytest

from neardup_stream.message import Partition
from neardup_stream.stores.cluster_store import TRIMMED, CellAddress, partition_name
from neardup_stream.streams.memory.streams import MemorySource, numbered
from tests.pipelines import Pipeline, essay, page_json

FIRST = Partition("memory", 0)


class LateSource(MemorySource):
    """Its partitions were revoked, and it does not know yet: a commit changes nothing."""

    async def commit(self, next_offsets: Mapping[Partition, int]) -> Mapping[Partition, int]:
        await super().commit({})
        return {}


@pytest.mark.parametrize(("source", "trimmed"), [(MemorySource, b"2"), (LateSource, None)])
async def test_only_what_was_committed_is_forgotten(
    source: type[MemorySource], trimmed: bytes | None
) -> None:
    pipeline = Pipeline()
    pages = source(numbered([page_json("a", essay(1)), page_json("b", essay(1))]))

    async with pages:
        await pipeline.loop(pages).run(asyncio.Event())

    values, _ = await pipeline.clusters.read([CellAddress(TRIMMED, partition_name(FIRST))])
    assert values == [trimmed]
    assert len(pipeline.events.messages) == 1
