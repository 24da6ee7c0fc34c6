import asyncio
from collections.abc import Mapping

import pytest

from neardup_stream.message import Partition
from neardup_stream.stores.cluster_store import TRIMMED, CellAddress, partition_name
from neardup_stream.streams.memory.streams import MemorySource, numbered
from tests.pipelines import CountingMeters, Pipeline, essay, page_json

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


class Committed(CountingMeters):
    """Notes what was reported as committed."""

    def __init__(self) -> None:
        super().__init__()
        self.offsets: dict[Partition, int] = {}

    def committed(self, next_offsets: Mapping[Partition, int]) -> None:
        self.offsets |= next_offsets


async def test_what_transactions_committed_is_reported_at_once_and_trimmed_later() -> None:
    """Of the last one it is not known whether every consumer sees it, for hours where no page comes."""
    meters = Committed()
    pipeline = Pipeline(is_exactly_once=True, meters=meters)
    pages = MemorySource(numbered([page_json("a", essay(1)), page_json("b", essay(1))]))

    async with pages:
        await pipeline.loop(pages).run(asyncio.Event())

    values, _ = await pipeline.clusters.read([CellAddress(TRIMMED, partition_name(FIRST))])
    assert (meters.offsets, values) == ({FIRST: 2}, [b"0"])
