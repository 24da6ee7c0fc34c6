"""aiokafka's consumer, and what its own interface does not say of it.

It ends in ways that it does not tell: a task of its own dies and reads wait for ever. So this file, and no
other, looks at its tasks. A consumer that is broken is closed, whatever state it is in, and another opened.
"""

import asyncio
import logging
from collections.abc import Collection

from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.structs import ConsumerRecord

from neardup_stream.errors import InvariantBroken
from neardup_stream.message import Partition, Position, Record
from neardup_stream.streams.kafka.config import KafkaSourceConfig
from neardup_stream.streams.kafka.errors import kafka_errors
from neardup_stream.streams.kafka.expansion import RefusedValue, bound_expansion
from neardup_stream.streams.kafka.passwords import follow_password

__all__ = [
    "close_consumer",
    "is_broken",
    "last_answer_seconds",
    "open_consumer",
    "position",
    "record_in",
]

_log = logging.getLogger(__name__)


async def open_consumer(config: KafkaSourceConfig) -> AIOKafkaConsumer:
    """A consumer that is connected and belongs to no group yet.

    Raises:
        StreamUnavailable: the cluster cannot be reached.
        ConfigError: it refuses us.
    """
    bound_expansion(config.max_expanded_bytes)
    consumer = AIOKafkaConsumer(**config.consumer_options())
    follow_password(consumer._client, config.connection)  # noqa: SLF001 - its producer twin shows it
    try:
        with kafka_errors(f"connecting to {config.connection.bootstrap_servers}"):
            async with asyncio.timeout(config.connection.request_timeout_seconds):
                await consumer.start()
    except BaseException:
        await consumer.stop()
        raise
    return consumer


async def close_consumer(consumer: AIOKafkaConsumer) -> None:
    """Leave the group, unless it is held for whoever comes next under the same instance id."""
    # While brokers are unavailable, aiokafka cancels its own fetches and stumbles over that half-way.
    outcome: list[object] = await asyncio.gather(consumer.stop(), return_exceptions=True)
    if outcome != [None]:
        _log.info("the consumer was closed by force: %r", outcome)
        await consumer._client.close()  # noqa: SLF001 - the half it leaves undone


def is_broken(consumer: AIOKafkaConsumer) -> bool:
    """Whether one of its tasks has ended, so that it will never again read, commit or send heartbeats."""
    coordinator, fetcher = consumer._coordinator, consumer._fetcher  # noqa: SLF001 - nothing public tells
    main = [coordinator._coordination_task, fetcher._fetch_task]  # noqa: SLF001 - see above
    helpers = [coordinator._heartbeat_task, coordinator._commit_refresh_task]  # noqa: SLF001 - see above
    failed = [task for task in main + helpers if task is not None and _has_failed(task)]
    return bool(failed) or any(task.done() for task in main)


def _has_failed(task: asyncio.Task[None]) -> bool:
    """Looking at the failure also keeps asyncio from complaining that nobody did."""
    return task.done() and not task.cancelled() and task.exception() is not None


def position(consumer: AIOKafkaConsumer, topic_partition: TopicPartition) -> int:
    """The next offset to fetch, without waiting: once something was fetched, the answer is at hand."""
    answer = consumer.position(topic_partition)
    try:
        answer.send(None)
    except StopIteration as returned:
        return int(returned.value)
    finally:
        answer.close()
    raise InvariantBroken(f"the position of {topic_partition} is not known")


def record_in(partition: Partition, found: ConsumerRecord) -> Record:
    """What was fetched, as ours; a header without a value has an empty one."""
    return Record(
        decoded=found.value.refusal if isinstance(found.value, RefusedValue) else None,
        position=Position(partition, found.offset),
        key=found.key,
        value=found.value,
        headers=tuple((name, value or b"") for name, value in found.headers),
        timestamp_ms=found.timestamp,
    )


def last_answer_seconds(consumer: AIOKafkaConsumer, assignment: Collection[TopicPartition]) -> float:
    """When a broker last answered a fetch, epoch seconds; 0 if none did.

    They answer an empty fetch, too, twice a second.
    """
    answered = [consumer.last_poll_timestamp(one) for one in assignment]
    return max(filter(None, answered), default=0) / 1000
