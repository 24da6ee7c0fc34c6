"""What a source says of the records that wait."""

import asyncio
from collections.abc import Mapping, Sequence

from neardup_stream.message import Partition
from neardup_stream.pipeline.offsets import next_offsets
from tests.contracts.streams import read_records
from tests.kafka_topics import WAIT_SECONDS, MakeTopic


async def test_lag_counts_what_is_not_yet_read(make_topic: MakeTopic) -> None:
    topic = make_topic()
    await topic.fill([b"x" * 100] * 10)
    partition = Partition(topic.name, 0)

    async with topic.source() as source:
        assert source.lag() == {}
        await read_records(source, 1)
        assert source.lag() == {partition: 9}
        await source.read(5, 250)
        assert source.lag() == {partition: 7}
        await read_records(source, 7)
        assert source.lag() == {partition: 0}


async def test_a_source_is_at_the_end_only_once_each_partition_was_read_to_its_end(
    make_topic: MakeTopic,
) -> None:
    topic = make_topic(partitions=3)
    await topic.fill([b"%d" % number for number in range(10)])

    async with topic.source() as source:
        assert not source.is_at_end()
        records = [*await source.read(1, 1 << 20)]
        assert not source.is_at_end()
        async with asyncio.timeout(WAIT_SECONDS):
            while not source.is_at_end():
                records += await source.read(4, 1 << 20)

    assert len(records) == 10


async def test_the_lag_is_not_known_while_partitions_are_not_taken_over(make_topic: MakeTopic) -> None:
    topic = make_topic()
    await topic.fill([b"%d" % number for number in range(10)])
    async with topic.source() as source:
        await source.commit(next_offsets(await read_records(source, 4)))
    lags: list[Mapping[Partition, int]] = []
    in_rebalances: asyncio.Queue[Mapping[Partition, int]] = asyncio.Queue()

    async def from_the_beginning(partitions: Sequence[Partition]) -> Mapping[Partition, int]:
        lags.append(source.lag())
        return dict.fromkeys(partitions, 0)

    async with topic.source() as source, asyncio.timeout(WAIT_SECONDS):
        source.on_assign(from_the_beginning)
        source.on_revoke(lambda: in_rebalances.put(source.lag()))
        while not (records := await source.read(3, 1 << 20)):
            lags.append(source.lag())
        known = source.lag()
        async with topic.source():
            in_a_rebalance = await in_rebalances.get()

    assert [record.position.offset for record in records] == [0, 1, 2]
    assert {count for lag in lags for count in lag.values()} <= {10}
    assert known == {Partition(topic.name, 0): 7}
    assert in_a_rebalance == {}
