r"""Reach what aiokafka offers no public API for; no other module touches its private attributes.

Read this file first when the version of aiokafka changes: what is private may change without notice. It has
the consumer's tasks and its group generation, commits of one generation, passwords that are read again, a
close without a flush, and reads of so many bytes. `aiokafka_batches_compat` has the parsing of batches.
"""

import asyncio
from collections.abc import Collection, Mapping

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, OffsetAndMetadata, TopicPartition
from aiokafka.client import AIOKafkaClient
from aiokafka.consumer.fetcher import FetchError, FetchResult
from aiokafka.errors import KafkaError
from aiokafka.structs import ConsumerRecord

from neardup_stream.credentials import Password
from neardup_stream.streams.kafka.room import Room

__all__ = [
    "client_of",
    "close_client",
    "close_without_flush",
    "commit_generation",
    "generation_of",
    "has_ended_task",
    "member_id_of",
    "read_password_again",
    "take_fetched",
]

# --- Consumers ---


def client_of(consumer: AIOKafkaConsumer) -> AIOKafkaClient:
    """Return the client of a consumer; a producer shows its own."""
    return consumer._client


async def close_client(consumer: AIOKafkaConsumer) -> None:
    """Close the connections of a consumer whose `stop` failed, which leaves them open."""
    await consumer._client.close()


def has_ended_task(consumer: AIOKafkaConsumer) -> bool:
    """Return whether a task of the consumer failed, or one that must not end has ended.

    Then it will never again read, commit or send heartbeats.
    """
    coordinator, fetcher = consumer._coordinator, consumer._fetcher
    main = [coordinator._coordination_task, fetcher._fetch_task]
    helpers = [coordinator._heartbeat_task, coordinator._commit_refresh_task]
    failed = [task for task in main + helpers if task is not None and _has_failed(task)]
    return bool(failed) or any(task.done() for task in main)


def _has_failed(task: asyncio.Task[None]) -> bool:
    """Return whether a task failed; retrieving the exception also prevents asyncio's warning about it."""
    return task.done() and not task.cancelled() and task.exception() is not None


def generation_of(consumer: AIOKafkaConsumer) -> int:
    """Return the group generation of the consumer; -1 while it is no member."""
    return int(consumer._coordinator.generation)


def member_id_of(consumer: AIOKafkaConsumer) -> str:
    """Return the member id of the consumer; empty while it is no member."""
    return str(consumer._coordinator.member_id)


async def commit_generation(
    consumer: AIOKafkaConsumer, generation: int, offsets: Mapping[TopicPartition, OffsetAndMetadata]
) -> bool:
    """Commit offsets if the consumer still is a member of this generation and owns the partitions.

    Returns:
        Whether the request was sent.

    Raises:
        KafkaError: as the request raises it.
    """
    coordinator = consumer._coordinator
    await coordinator.ensure_coordinator_known()
    if generation < 0 or coordinator.generation != generation or not offsets.keys() <= consumer.assignment():
        return False
    # No `await` between the check of the generation and the request that carries it.
    await coordinator._do_commit_offsets(None, offsets)
    return True


def take_fetched(
    consumer: AIOKafkaConsumer, room: Room, partitions: Collection[TopicPartition] = ()
) -> dict[TopicPartition, list[ConsumerRecord]]:
    """Return records that the consumer has fetched already, until the room is full.

    `getmany` counts records alone, and they may expand a thousandfold. What cannot be parsed is raised by the
    next `getmany`.

    Args:
        consumer: whose `getmany` has just returned, so that its assignment stands.
        room: for the records.
        partitions: only of these; empty for all.
    """
    reading = consumer._fetcher
    taken = {}
    for one, fetched in list(reading._records.items()):
        is_wanted = type(fetched) is FetchResult and (not partitions or one in partitions)
        if room.is_full or not is_wanted:
            continue
        records, error = _taken(fetched, room) if fetched.check_assignment(one) else ([], None)
        if records:
            taken[one] = records
        if error is not None:  # in front, for `getmany` looks no further than the first record
            reading._records[one] = FetchError(error=error, backoff=0)
            reading._records.move_to_end(one, last=False)
            break
        if not fetched.has_more():
            del reading._records[one]
            reading._notify(reading._wait_consume_future)
    return taken


def _taken(fetched: FetchResult, room: Room) -> tuple[list[ConsumerRecord], Exception | None]:
    """Return records, and what ended them if that was an error."""
    records: list[ConsumerRecord] = []
    failure: Exception | None = None
    try:
        for record in fetched._partition_records:
            records.append(record)
            room.take(record)
            if room.is_full:
                fetched._update_position()
                return records, None
    except KafkaError as error:
        failure = error
    fetched._update_position()
    fetched._partition_records = None
    return records, failure


# --- Producers ---


async def close_without_flush(producer: AIOKafkaProducer, timeout_seconds: float) -> None:
    """Close a producer without the flush of its `stop`, which lasts as long as the brokers are unavailable.

    Args:
        producer: what it has queued is dropped.
        timeout_seconds: how long to wait for requests in flight.
    """
    producer._closed = True  # `stop` does it first, too
    # A sender that never ran raises its own cancellation.
    closing = asyncio.gather(producer._sender.close(), return_exceptions=True)
    await asyncio.wait([closing], timeout=timeout_seconds)
    _retrieve_failures(producer)
    await producer.client.close()


def _retrieve_failures(producer: AIOKafkaProducer) -> None:
    """Retrieve the exceptions that a failed sender leaves behind: asyncio logs those never retrieved."""
    queued = producer._message_accumulator._batches.values()
    left = [batch._drain_waiter for batches in queued for batch in batches]
    left.append(producer._txn_manager.wait_for_transaction_end())  # None without transactions
    for failure in left:
        if failure is not None and failure.done():
            failure.exception()


# --- Clients ---


def read_password_again(client: AIOKafkaClient, password: Password) -> None:
    """Make a client read its password for each connection; consumers and producers create their client."""
    client.password = password
    client.__class__ = _RereadingClient


class _RereadingClient(AIOKafkaClient):  # type: ignore[misc] # aiokafka has no types
    password: Password

    @property
    def _sasl_plain_password(self) -> str:
        """Return the current password; aiokafka reads this attribute whenever it connects."""
        return self.password.read()
