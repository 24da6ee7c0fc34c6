"""Members of a consumer group on a real broker: those with a name of their own, and consumers that break."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import suppress

import pytest
from aiokafka.errors import KafkaError
from neardup_daemon.telemetry.stalls import Progress, StallWatch

from neardup_stream.errors import ConfigError, InvariantBroken, StreamUnavailable
from neardup_stream.message import Partition, Record
from neardup_stream.meters import NoMeters
from neardup_stream.pipeline.offsets import next_offsets
from neardup_stream.streams.kafka.source import KafkaSource
from tests.contracts.streams import read_records
from tests.kafka_topics import WAIT_SECONDS, DroppedCommits, MakeTopic, read_until_assigned

HUNDRED = [b"%d" % number for number in range(100)]


class Drains:
    """Counts how often partitions were revoked."""

    def __init__(self, source: KafkaSource) -> None:
        self.count = 0
        source.on_revoke(self._drain)

    async def _drain(self) -> None:
        self.count += 1


async def test_a_static_member_that_returns_in_time_costs_no_rebalance(make_topic: MakeTopic) -> None:
    topic = make_topic(partitions=2)
    await topic.fill(HUNDRED)

    async with topic.source(group_instance_id="a", session_timeout_seconds=60) as first:
        drains = Drains(first)
        async with topic.source(group_instance_id="b", session_timeout_seconds=60) as second:
            ours, theirs = await asyncio.gather(read_until_assigned(first, 1), read_until_assigned(second, 1))
            before = drains.count
            await second.commit(next_offsets(theirs))
        async with topic.source(group_instance_id="b", session_timeout_seconds=60) as again:
            await topic.fill(HUNDRED)
            rest = await asyncio.gather(read_records(first, 1), read_records(again, 1))

    assert drains.count == before
    assert ours
    assert {record.position.partition for record in theirs + rest[1]} == {
        record.position.partition for record in theirs
    }


async def test_a_dynamic_member_that_leaves_releases_its_partitions(make_topic: MakeTopic) -> None:
    topic = make_topic(partitions=2)
    await topic.fill(HUNDRED)

    async with topic.source() as first:
        drains = Drains(first)
        async with topic.source() as second:
            await asyncio.gather(read_until_assigned(first), read_records(second, 1))
            before = drains.count
        async with asyncio.timeout(WAIT_SECONDS):
            while drains.count == before:
                await first.read(100, 1 << 20)


class Assignments(NoMeters):
    """Keeps what a source reports of its assignments."""

    def __init__(self) -> None:
        self.reported: list[tuple[int, int]] = []

    def assigned(self, partition_count: int, topic_partition_count: int) -> None:
        self.reported.append((partition_count, topic_partition_count))

    def revoked(self) -> None:
        self.reported.append((0, 0))


async def test_every_assignment_is_reported_with_the_partitions_that_there_are(
    make_topic: MakeTopic,
) -> None:
    topic, meters = make_topic(partitions=3), Assignments()
    await topic.fill(HUNDRED)

    async with topic.source(meters=meters) as first:
        await read_until_assigned(first)
        alone = meters.reported[-1]
        async with topic.source() as second:
            await asyncio.gather(read_until_assigned(first), read_records(second, 1))
            async with asyncio.timeout(WAIT_SECONDS):
                while meters.reported[-1] == alone or meters.reported[-1] == (0, 0):
                    await first.read(100, 1 << 20)
            between, shared = meters.reported[-2:]

    assert (alone, between) == ((3, 3), (0, 0))
    assert shared in {(1, 3), (2, 3)}


async def test_of_two_members_with_one_name_the_first_is_reported_and_does_not_fight(
    make_topic: MakeTopic,
) -> None:
    topic = make_topic()
    await topic.fill(HUNDRED)

    async with topic.source(group_instance_id="a") as first:
        await first.commit(next_offsets(await read_records(first, 10)))
        async with topic.source(group_instance_id="a") as second:
            assert await read_records(second, 90)
            with pytest.raises(ConfigError, match=r"kafka\.group_instance_id = 'a': give every daemon"):
                await read_for_ever(first)
            await topic.fill([b"new"])
            assert [record.value for record in await read_records(second, 1)] == [b"new"]


async def read_for_ever(source: KafkaSource) -> None:
    async with asyncio.timeout(WAIT_SECONDS):
        while True:
            await source.read(100, 1 << 20)


# Consumers that break.


async def end_coordination(source: KafkaSource) -> None:
    """As after an answer that aiokafka does not expect."""
    assert source._consumer is not None
    coordinator = source._consumer._coordinator
    coordinator._perform_assignment = fail
    coordinator.request_rejoin()
    coordinator.ensure_coordinator_known = fail


async def end_fetching(source: KafkaSource) -> None:
    assert source._consumer is not None
    source._consumer._fetcher._get_actions_per_node = fail_now


async def end_heartbeats(source: KafkaSource) -> None:
    assert source._consumer is not None
    source._consumer._coordinator._do_heartbeat = fail_as_kafka


async def fail(*_: object) -> None:
    raise ArithmeticError("for the test")


def fail_now(*_: object) -> None:
    raise ArithmeticError("for the test")


async def fail_as_kafka(*_: object) -> None:
    raise KafkaError("for the test")


@pytest.mark.parametrize(
    "end", [end_coordination, end_fetching, end_heartbeats], ids=lambda end: end.__name__
)
async def test_a_consumer_that_broke_is_replaced_after_a_drain(
    make_topic: MakeTopic, end: Callable[[KafkaSource], Awaitable[None]], caplog: pytest.LogCaptureFixture
) -> None:
    topic, dropped = make_topic(), DroppedCommits()
    await topic.fill(HUNDRED)

    async with topic.source(meters=dropped) as source:
        drains = Drains(source)
        await source.commit(next_offsets(await read_records(source, 10)))
        in_flight = next_offsets(await read_records(source, 5))
        await end(source)
        first = await read_until(source, lambda: bool(drains.count))
        late = await source.commit(in_flight)
        rest = [*first, *await read_through(source, 90 - len(first))]
        assert await source.commit(next_offsets(rest)) == next_offsets(rest)

    assert late == {}
    assert dropped.count == drains.count == 1
    assert [record.value for record in rest] == HUNDRED[10:]
    assert "consumer_replaced" in caplog.text


async def read_until(source: KafkaSource, is_enough: Callable[[], bool]) -> Sequence[Record]:
    """Return what the read brings after which it is enough."""
    records: Sequence[Record] = []
    async with asyncio.timeout(WAIT_SECONDS):
        while not is_enough():
            records = []
            with suppress(StreamUnavailable):
                records = await source.read(1, 1)
    return records


async def read_through(source: KafkaSource, count: int) -> list[Record]:
    """Return so many records, as a pipeline reads them that waits while the stream is unavailable."""
    records: list[Record] = []
    async with asyncio.timeout(WAIT_SECONDS):
        while len(records) < count:
            with suppress(StreamUnavailable):
                records.extend(await source.read(count, 1 << 20))
    return records


async def test_a_source_outside_of_its_context_is_a_bug(make_topic: MakeTopic) -> None:
    source = make_topic().source()

    with pytest.raises(InvariantBroken, match="outside of its context"):
        await source.read(1, 1)


async def test_a_replaced_consumer_takes_nothing_over_while_the_group_waits_for_another_drain(
    make_topic: MakeTopic,
) -> None:
    topic = make_topic(partitions=2)
    async with topic.source() as first, topic.source() as second:
        taken: list[Collection[Partition]] = []
        is_draining, may_drain = asyncio.Event(), asyncio.Event()

        async def refuse(partitions: Sequence[Partition]) -> Mapping[Partition, int]:
            taken.append(partitions)
            await asyncio.sleep(0)
            raise StreamUnavailable("brokers are electing", "no_coordinator")

        async def drain() -> None:
            is_draining.set()
            await may_drain.wait()

        async def read_on() -> None:
            while True:
                await second.read(1, 1 << 20)

        other = asyncio.create_task(read_on())
        async with asyncio.timeout(WAIT_SECONDS):
            while len(first._untaken) != 1:  # noqa: ASYNC110 - nothing says when it is
                await asyncio.sleep(0)
        first.on_assign(refuse)
        second.on_revoke(drain)
        await read_until(first, lambda: bool(taken))
        await end_heartbeats(first)
        await read_until(first, is_draining.is_set)
        taken.clear()
        for _ in range(3):
            assert await first.read(1, 1 << 20) == ()
        may_drain.set()
        other.cancel()

    assert taken == []


# What a daemon that hangs shows of its partitions.

STALL_SECONDS = 60


class Watch:
    """Looks at a source by a clock of its own."""

    def __init__(self, source: KafkaSource) -> None:
        self._source = source
        self._stalls = StallWatch(STALL_SECONDS)

    def look(self, now_seconds: float) -> str:
        progress = Progress(self._source.lag(), {}, 0, untaken=self._source.untaken())
        return self._stalls.look(progress, now_seconds)


@pytest.mark.parametrize("is_first_start", [True, False])
async def test_a_take_over_that_hangs_stalls(make_topic: MakeTopic, *, is_first_start: bool) -> None:
    topic = make_topic()
    await topic.fill(HUNDRED)
    if not is_first_start:
        async with topic.source() as source:
            await source.commit(next_offsets(await read_records(source, 10)))
    is_hanging, may_go_on = asyncio.Event(), asyncio.Event()

    async def hang(_partitions: Sequence[Partition]) -> Mapping[Partition, int]:
        is_hanging.set()
        await may_go_on.wait()
        return {}

    async with topic.source() as source, asyncio.timeout(WAIT_SECONDS):
        source.on_assign(hang)
        watch = Watch(source)
        reading = asyncio.create_task(read_until_assigned(source))
        await is_hanging.wait()
        said = [watch.look(0), watch.look(STALL_SECONDS)]
        may_go_on.set()
        await reading
        after = source.untaken()

    assert said[0] == ""
    assert said[1].endswith(f"{topic.name}-0 is not taken over")
    assert after == []


async def test_a_rebalance_that_never_ends_stalls(make_topic: MakeTopic) -> None:
    topic = make_topic()
    await topic.fill(HUNDRED)
    is_draining, may_drain = asyncio.Event(), asyncio.Event()

    async def drain() -> None:
        is_draining.set()
        await may_drain.wait()

    async with topic.source() as first, asyncio.timeout(WAIT_SECONDS):
        watch = Watch(first)
        await read_until_assigned(first)
        first.on_revoke(drain)
        async with topic.source():
            await is_draining.wait()
            said = [watch.look(0), watch.look(STALL_SECONDS)]
            may_drain.set()

    assert said[0] == ""
    assert said[1].endswith(f"{topic.name}-0 is not taken over")


async def test_a_rebalance_gives_a_daemon_that_reads_no_more_no_new_time(make_topic: MakeTopic) -> None:
    topic = make_topic(partitions=2)
    await topic.fill(HUNDRED)

    async with topic.source() as first, asyncio.timeout(WAIT_SECONDS):
        watch = Watch(first)
        while len(first.lag()) < 2:
            await first.read(1, 1)
        said = [watch.look(0)]
        async with topic.source() as second:
            assert await read_records(second, 1)
            said.append(watch.look(STALL_SECONDS))

    assert said[0] == ""
    assert said[1].endswith(" is not taken over")


async def test_neither_an_empty_topic_nor_a_member_without_partitions_stalls(make_topic: MakeTopic) -> None:
    topic = make_topic()
    of_first, of_second = Assignments(), Assignments()

    async with (
        topic.source(meters=of_first) as first,
        topic.source(meters=of_second) as second,
        asyncio.timeout(WAIT_SECONDS),
    ):
        ends: set[tuple[int, int]] = set()
        while ends != {(1, 1), (0, 1)} or not (first.lag() or second.lag()):
            await asyncio.gather(first.read(1, 1), second.read(1, 1))
            ends = {meters.reported[-1] for meters in (of_first, of_second) if meters.reported}
        watches = [Watch(first), Watch(second)]
        said = [watch.look(now) for now in (0, STALL_SECONDS) for watch in watches]

    assert said == [""] * 4
