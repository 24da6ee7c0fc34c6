"""Open, close and inspect aiokafka's consumer.

It can fail without raising: one of its tasks ends and reads wait forever. So this module, and no other,
inspects its tasks. A broken consumer is closed, whatever its state, and replaced.
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
    """Return a consumer that is connected and belongs to no group yet.

    Raises:
        StreamUnavailable: the cluster cannot be reached.
        ConfigError: it denies access.
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
    """Leave the group, unless the membership is static."""
    # While brokers are unavailable, aiokafka cancels its own fetches and may fail during that.
    outcome: list[object] = await asyncio.gather(consumer.stop(), return_exceptions=True)
    if outcome != [None]:
        _log.info("the consumer was closed by force: %r", outcome)
        await consumer._client.close()  # noqa: SLF001 - the half it leaves undone


def is_broken(consumer: AIOKafkaConsumer) -> bool:
    """Return whether one of its tasks has ended.

    So that it will never again read, commit or send heartbeats.
    """
    coordinator, fetcher = consumer._coordinator, consumer._fetcher  # noqa: SLF001 - no public API
    main = [coordinator._coordination_task, fetcher._fetch_task]  # noqa: SLF001 - see above
    helpers = [coordinator._heartbeat_task, coordinator._commit_refresh_task]  # noqa: SLF001 - see above
    failed = [task for task in main + helpers if task is not None and _has_failed(task)]
    return bool(failed) or any(task.done() for task in main)


def _has_failed(task: asyncio.Task[None]) -> bool:
    """Return whether a task failed; retrieving the exception also prevents asyncio's warning about it."""
    return task.done() and not task.cancelled() and task.exception() is not None


def position(consumer: AIOKafkaConsumer, topic_partition: TopicPartition) -> int:
    """Return the next offset to fetch, without waiting: after a fetch, it is known."""
    answer = consumer.position(topic_partition)
    try:
        answer.send(None)
    except StopIteration as returned:
        return int(returned.value)
    finally:
        answer.close()
    raise InvariantBroken(f"the position of {topic_partition} is not known")


def record_in(partition: Partition, found: ConsumerRecord) -> Record:
    """Return what was fetched as a record; a header without a value has an empty one."""
    return Record(
        decoded=found.value.refusal if isinstance(found.value, RefusedValue) else None,
        position=Position(partition, found.offset),
        key=found.key,
        value=found.value,
        headers=tuple((name, value or b"") for name, value in found.headers),
        timestamp_ms=found.timestamp,
    )


def last_answer_seconds(consumer: AIOKafkaConsumer, assignment: Collection[TopicPartition]) -> float:
    """Return when a broker last answered a fetch, epoch seconds; 0 if none did.

    Brokers answer an empty fetch, too, twice a second.
    """
    answered = [consumer.last_poll_timestamp(one) for one in assignment]
    return max(filter(None, answered), default=0) / 1000
