"""What is left when all is quiet: the end of the input is committed, and who is in which cluster."""

import asyncio
import math
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager

from aiokafka import AIOKafkaConsumer
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.errors import KafkaError
from aiokafka.structs import TopicPartition
from neardup_daemon.cluster_files import cluster_rows
from neardup_daemon.inspect.verifying import read_history
from neardup_daemon.settings.settings import Settings
from neardup_daemon.stored_index import open_stored_index

from neardup_stream.invariants.history import Violation
from neardup_stream.invariants.judging import judge, unjudged
from neardup_stream.stores.page_record import PageRecord, PageState
from neardup_stream.stores.protocol import all_records
from tests.servers.process import POLL_SECONDS

__all__ = [
    "committed_offsets",
    "record_states",
    "stored_partition",
    "uncommitted_count",
    "violations",
    "wait_until_quiet",
]


def uncommitted_count(settings: Sequence[str]) -> int:
    """Return records of the pages topic whose offsets the group has not committed."""
    return asyncio.run(_uncommitted_count(Settings.load(overrides=settings)))


def committed_offsets(settings: Sequence[str]) -> dict[int, int]:
    """Return the group's offset of each partition of the pages topic that has one."""
    return asyncio.run(_committed_offsets(Settings.load(overrides=settings)))


def wait_until_quiet(settings: Sequence[str], timeout_seconds: float) -> None:
    """Wait until everything that was published is committed.

    On a busy machine that takes longer, and is no fault as long as more is committed all the time.

    Raises:
        TimeoutError: nothing more was committed for so long.
    """
    asyncio.run(_wait_until_quiet(Settings.load(overrides=settings), timeout_seconds))


def stored_partition(settings: Sequence[str]) -> frozenset[frozenset[str]]:
    """Return the clusters of two or more, by the ids of their pages."""
    return asyncio.run(_stored_partition(Settings.load(overrides=settings)))


def violations(settings: Sequence[str]) -> list[Violation]:
    """Return where what is on the topics and in Redis breaks an invariant; all eight are judged.

    Raises:
        AssertionError: one of them cannot be judged.
    """
    history, expectations = asyncio.run(read_history(Settings.load(overrides=settings)))
    assert unjudged(history, expectations) == {}
    return judge(history, expectations)


def record_states(settings: Sequence[str]) -> Counter[PageState]:
    """Return how many page records are in each state."""
    return asyncio.run(_record_states(Settings.load(overrides=settings)))


async def _record_states(settings: Settings) -> Counter[PageState]:
    async with open_stored_index(settings, None) as stores:
        return Counter(
            [
                PageRecord.unpack(packed).state
                async for walked in all_records(stores.pages.records)
                for _, packed in walked.records
            ]
        )


async def _wait_until_quiet(settings: Settings, timeout_seconds: float) -> None:
    least, deadline = math.inf, time.monotonic() + timeout_seconds
    async with _counting(settings) as count_uncommitted:
        while (count := await _unless_it_does_not_say(count_uncommitted)) != 0:
            if count is not None and count < least:
                least, deadline = count, time.monotonic() + timeout_seconds
            elif time.monotonic() > deadline:
                raise TimeoutError(
                    f"{least} records are not committed, and no more were for {timeout_seconds} s"
                )
            await asyncio.sleep(POLL_SECONDS)


async def _unless_it_does_not_say(count_uncommitted: Callable[[], Awaitable[int]]) -> int | None:
    """Return None where a busy broker gives no answer."""
    try:
        return await count_uncommitted()
    except KafkaError:
        return None


async def _uncommitted_count(settings: Settings) -> int:
    async with _counting(settings) as count_uncommitted:
        return await count_uncommitted()


@asynccontextmanager
async def _counting(settings: Settings) -> AsyncIterator[Callable[[], Awaitable[int]]]:
    """Connect, and yield a function that returns how many records are not committed."""
    kafka = settings.kafka
    async with (
        AIOKafkaConsumer(
            bootstrap_servers=kafka.bootstrap_servers
        ) as consumer,  # of nothing: it fetches nothing
        _admin(settings) as admin,
    ):
        (topic,) = await admin.describe_topics([kafka.pages_topic])
        partitions = [TopicPartition(kafka.pages_topic, each["partition"]) for each in topic["partitions"]]

        async def count() -> int:
            ends = await consumer.end_offsets(partitions)
            committed = await _offsets_of_group(admin, kafka.group_id)
            return sum(end - committed.get(each.partition, 0) for each, end in ends.items())

        yield count


async def _committed_offsets(settings: Settings) -> dict[int, int]:
    async with _admin(settings) as admin:
        return await _offsets_of_group(admin, settings.kafka.group_id)


async def _offsets_of_group(admin: AIOKafkaAdminClient, group_id: str) -> dict[int, int]:
    committed = await admin.list_consumer_group_offsets(group_id)
    return {partition.partition: found.offset for partition, found in committed.items()}


@asynccontextmanager
async def _admin(settings: Settings) -> AsyncIterator[AIOKafkaAdminClient]:
    admin = AIOKafkaAdminClient(bootstrap_servers=settings.kafka.bootstrap_servers)
    await admin.start()
    try:
        yield admin
    finally:
        await admin.close()


async def _stored_partition(settings: Settings) -> frozenset[frozenset[str]]:
    found: set[frozenset[str]] = set()
    async with open_stored_index(settings, None) as stores:
        assert stores.clusters is not None
        async for rows in cluster_rows(stores.clusters, stores.pages.records):
            found.update(frozenset(row.members) for row in rows)
    return frozenset(found)
