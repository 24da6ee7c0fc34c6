"""Where reading a partition begins, on a real broker: what the policies say, and what is refused."""

import asyncio
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

import pytest
from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewPartitions

from neardup_stream.errors import ConfigError
from neardup_stream.message import Partition
from neardup_stream.pipeline.offsets import next_offsets
from neardup_stream.streams.kafka.admin import describe_topics
from neardup_stream.streams.kafka.config import FirstStart, KafkaSourceConfig, OutOfRange
from neardup_stream.streams.kafka.consumer import close_consumer, open_consumer
from neardup_stream.streams.kafka.source import KafkaSource
from neardup_stream.streams.kafka.start_offsets import NoHistory, StartOffsets
from tests.contracts.streams import read_records
from tests.kafka_topics import WAIT_SECONDS, MakeTopic, Topic, read_until_assigned
from tests.servers.kafka import KafkaBroker

TEN = [b"%d" % number for number in range(10)]


class Remembered:
    """What was finished, in a dict."""

    def __init__(self, finished: Mapping[Partition, int], highest_epoch: int = 0) -> None:
        self.finished = dict(finished)
        self.highest_epoch = highest_epoch
        self.checked: list[tuple[Mapping[Partition, str], list[Partition]]] = []

    async def enter(self, topic: str, epoch: int) -> None:
        if epoch < self.highest_epoch:
            raise ConfigError(f"topic {topic} is read with kafka.input_epoch = {self.highest_epoch} already")

    async def require_epoch(self, topic: str, epoch: int) -> None:
        await self.enter(topic, epoch)

    async def finished_below(self, partitions: Sequence[Partition]) -> Mapping[Partition, int]:
        return {partition: self.finished.get(partition, 0) for partition in partitions}

    async def witnesses(self, partitions: Sequence[Partition]) -> Mapping[Partition, str]:
        return dict.fromkeys(partitions, "witness")

    async def check(self, witnesses: Mapping[Partition, str], unread: Collection[Partition] = ()) -> None:
        assert set(witnesses.values()) <= {"", "witness"}
        self.checked.append((dict(witnesses), list(unread)))


async def two_finished_of_ten(make_topic: MakeTopic) -> Topic:
    topic = make_topic()
    await topic.fill(TEN)
    async with topic.source() as source:
        await source.commit(next_offsets(await read_records(source, 2)))
    return topic


async def made_anew(topic: Topic, values: Sequence[bytes]) -> None:
    assert isinstance(topic.broker, KafkaBroker)
    topic.broker.delete_topic(topic.name)
    topic.broker.create_topic(topic.name)
    await topic.fill(values)


async def set_back(topic: Topic, offset: int) -> None:
    """As an operator does with `kafka-consumer-groups --reset-offsets`."""
    at = TopicPartition(topic.name, 0)
    async with AIOKafkaConsumer(
        bootstrap_servers=topic.connection.bootstrap_servers,
        group_id=f"{topic.name}-group",
        enable_auto_commit=False,
    ) as consumer:
        consumer.assign([at])
        await consumer.commit({at: offset})


async def values_read(source: KafkaSource, count: int) -> list[bytes | None]:
    return [record.value for record in await read_records(source, count)]


# A group that never committed.


async def test_a_first_start_at_the_latest_offset_reads_what_comes_after(make_topic: MakeTopic) -> None:
    topic = make_topic()
    await topic.fill([b"before"])

    async with topic.source(first_start="latest") as source:
        assert await read_until_assigned(source) == []
        await topic.fill([b"after"])
        assert await values_read(source, 1) == [b"after"]


async def test_a_partition_that_is_added_later_is_read_from_its_beginning(make_topic: MakeTopic) -> None:
    topic = make_topic()
    topic.connection = replace(topic.connection, metadata_max_age_seconds=1.0)
    await topic.fill([b"before"])

    async with topic.source(first_start="latest") as source:
        assert await read_until_assigned(source) == []
        await add_partition(topic)
        await topic.fill([b"%d" % number for number in range(20)])
        values: set[bytes | None] = set()
        async with asyncio.timeout(WAIT_SECONDS):
            while len(values) < 20:  # some come twice: the rebalance takes what was not committed
                values.update(await values_read(source, 1))

    assert values == {b"%d" % number for number in range(20)}


async def add_partition(topic: Topic) -> None:
    admin = AIOKafkaAdminClient(bootstrap_servers=topic.connection.bootstrap_servers)
    await admin.start()
    try:
        await admin.create_partitions({topic.name: NewPartitions(2)})
    finally:
        await admin.close()
    async with asyncio.timeout(WAIT_SECONDS):
        while True:
            facts = (await describe_topics(topic.connection, [topic.name], "Read"))[topic.name]
            if facts is not None and facts.partitions == 2:
                return


async def test_a_first_start_is_chosen_once(make_topic: MakeTopic) -> None:
    topic = make_topic()
    async with topic.source(first_start="latest") as source:
        await read_until_assigned(source)
    await topic.fill([b"while no consumer read"])

    async with topic.source(first_start="latest") as source:
        assert await values_read(source, 1) == [b"while no consumer read"]


async def test_a_first_start_may_be_refused(make_topic: MakeTopic) -> None:
    async with make_topic().source(first_start="fail") as source:
        with pytest.raises(ConfigError, match=r"no committed offset.*kafka\.first_start"):
            await read_until_assigned(source)


async def test_a_first_start_begins_at_what_is_left(make_topic: MakeTopic) -> None:
    topic = make_topic()
    await topic.fill(TEN)
    await topic.delete_before(7)

    async with topic.source(first_start="earliest", out_of_range="fail") as source:
        assert await values_read(source, 3) == [b"7", b"8", b"9"]


async def test_a_committed_offset_that_the_consumer_overlooked_is_no_first_start(
    make_topic: MakeTopic,
) -> None:
    """aiokafka's takes an answer with an error in place of offsets for a group that never committed."""
    topic = await two_finished_of_ten(make_topic)
    config = KafkaSourceConfig(
        connection=topic.connection,
        topics=(topic.name,),
        group_id=f"{topic.name}-group",
        first_start="latest",
    )
    consumer = await open_consumer(config)

    try:
        assert await StartOffsets(config, NoHistory()).first(consumer, TopicPartition(topic.name, 0)) == 2
    finally:
        await close_consumer(consumer)


# A group whose next record is gone.


@pytest.mark.parametrize(
    ("policy", "expected"), [("earliest", [b"5", b"6", b"7", b"8", b"9"]), ("latest", [b"new"])]
)
@pytest.mark.parametrize("first_start", ["earliest", "latest", "fail"])
async def test_deleted_records_are_passed_over_as_the_policy_says_whatever_the_first_start(
    make_topic: MakeTopic, first_start: FirstStart, policy: OutOfRange, expected: list[bytes]
) -> None:
    topic = await two_finished_of_ten(make_topic)
    await topic.delete_before(5)

    async with topic.source(first_start=first_start, out_of_range=policy) as source:
        await read_until_assigned(source, count=len(expected) if policy == "earliest" else 0)
        if policy == "latest":
            await topic.fill([b"new"])
    async with topic.source(first_start=first_start) as source:
        assert await values_read(source, len(expected)) == expected


@pytest.mark.parametrize("first_start", ["earliest", "latest", "fail"])
async def test_deleted_records_stop_the_stream_by_default(
    make_topic: MakeTopic, first_start: FirstStart
) -> None:
    topic = await two_finished_of_ten(make_topic)
    await topic.delete_before(5)

    async with topic.source(first_start=first_start) as source:
        with pytest.raises(ConfigError, match=r"offset 2, which is not there.*kafka\.out_of_range"):
            await read_records(source, 1)


# A topic that was made anew, or offsets that were set back.


@pytest.mark.parametrize("first_start", ["earliest", "latest"])
async def test_a_topic_made_anew_is_refused_at_the_start(
    make_topic: MakeTopic, first_start: FirstStart
) -> None:
    topic = await two_finished_of_ten(make_topic)
    await made_anew(topic, [b"new"])
    history = Remembered({Partition(topic.name, 0): 2})

    with pytest.raises(ConfigError, match=r"ends at 1, and all below 2 was finished.*kafka\.input_epoch = 1"):
        await topic.source(first_start=first_start, out_of_range=first_start, history=history).__aenter__()


async def test_a_topic_made_anew_that_has_grown_is_refused_where_it_would_begin(
    make_topic: MakeTopic,
) -> None:
    """The broker forgot the group's offsets with the topic."""
    topic = await two_finished_of_ten(make_topic)
    await made_anew(topic, TEN)

    async with topic.source(history=Remembered({Partition(topic.name, 0): 2})) as source:
        with pytest.raises(
            ConfigError, match=r"would begin, having no committed offset.*offset 0, and all below 2"
        ):
            await read_records(source, 1)


@pytest.mark.parametrize("policy", ["earliest", "latest", "fail"])
async def test_a_topic_made_anew_under_a_reader_is_never_read_on_silently(
    make_topic: MakeTopic, policy: OutOfRange
) -> None:
    topic = make_topic()
    await topic.fill(TEN)
    history = Remembered({})

    async with topic.source(out_of_range=policy, history=history) as source:
        finished = next_offsets(await read_records(source, 10))
        await source.commit(finished)
        history.finished.update(finished)
        await made_anew(topic, [b"new"])
        with pytest.raises(ConfigError, match=r"made anew|there is no topic"):
            await read_records(source, 1)


@pytest.mark.parametrize("floor", [4, 5, 6])
async def test_offsets_set_back_below_what_was_finished_are_refused(
    make_topic: MakeTopic, floor: int
) -> None:
    topic = await two_finished_of_ten(make_topic)
    await set_back(topic, 5)
    source = topic.source(history=Remembered({Partition(topic.name, 0): floor}))

    if floor > 5:
        with pytest.raises(
            ConfigError, match=r"committed up to 5, and all below 6 was finished.*to 6 to go on"
        ):
            await source.__aenter__()
    else:
        async with source:
            assert await values_read(source, 1) == [b"5"]


async def test_offsets_that_contradict_are_refused_after_a_rebalance_too(make_topic: MakeTopic) -> None:
    topic = make_topic(partitions=2)
    await topic.fill(TEN)
    history = Remembered({})

    async with topic.source(history=history) as first:
        await first.commit(next_offsets(await read_records(first, 10)))
        history.finished.update({Partition(topic.name, number): 1000 for number in range(2)})
        async with topic.source() as second:
            with pytest.raises(ConfigError, match="all below 1000 was finished"):
                await read_until_assigned_again(first, second)


async def read_until_assigned_again(first: KafkaSource, second: KafkaSource) -> None:
    while True:
        await first.read(10, 1 << 20)
        await second.read(10, 1 << 20)


async def test_another_epoch_makes_another_input_of_all_that_is_there(make_topic: MakeTopic) -> None:
    topic = await two_finished_of_ten(make_topic)
    await made_anew(topic, [b"new"])
    history = Remembered({Partition(topic.name, 0): 2})

    async with topic.source(history=history, input_epoch=1) as source:
        (record,) = await read_records(source, 1)
        remembered = await source.commit(next_offsets([record]))
        lag = source.lag()

    assert record.position.partition == Partition(f"{topic.name}@1", 0)
    assert remembered == {Partition(f"{topic.name}@1", 0): 1}
    assert lag == {Partition(f"{topic.name}@1", 0): 0}
    async with topic.source(history=history, input_epoch=1) as source:
        await topic.fill([b"next"])
        assert await values_read(source, 1) == [b"next"]


async def test_a_reader_with_a_lower_epoch_is_refused(make_topic: MakeTopic) -> None:
    topic = make_topic()

    with pytest.raises(ConfigError, match=r"kafka\.input_epoch = 2 already"):
        await topic.source(history=Remembered({}, highest_epoch=2), input_epoch=1).__aenter__()


@pytest.mark.parametrize("committed", [0, 2])
async def test_a_note_stands_beside_the_committed_offset_and_leaves_it_where_it_is(
    make_topic: MakeTopic, committed: int
) -> None:
    """Also before the first commit, where an offset at the beginning would count for nothing."""
    topic = make_topic()
    await topic.fill(TEN)
    partition, history = Partition(topic.name, 0), Remembered({})
    async with topic.source(history=history) as source:
        await read_records(source, 5)
        await source.commit({partition: committed})
        assert await source.note_decided({partition: 5}) == {partition}
        assert await source.note_decided({partition: 11}) == set()  # which it did not read
    history.checked.clear()

    async with topic.source(history=history) as source:
        assert await values_read(source, 1) == [b"%d" % committed]

    assert history.checked[-1] == ({partition: "witness"}, [] if committed else [partition])
