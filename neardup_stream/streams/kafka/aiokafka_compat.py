r"""Reach what aiokafka offers no public API for; no other module touches its private attributes.

Read this file first when the version of aiokafka changes: what is private may change without notice. It has
the consumer's tasks and its group generation, commits of one generation, passwords that are read again, a
close without a flush, codecs of our own, reads of so many bytes, and the parsing of batches that aiokafka
cannot parse.
"""

import asyncio
from collections.abc import Collection, Mapping
from types import ModuleType
from typing import Any, NamedTuple, Self, SupportsIndex

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, OffsetAndMetadata, TopicPartition
from aiokafka.client import AIOKafkaClient
from aiokafka.consumer.fetcher import READ_COMMITTED, FetchError, FetchResult, PartitionRecords
from aiokafka.errors import KafkaError, NotLeaderForPartitionError, for_code
from aiokafka.protocol.fetch import FetchRequest
from aiokafka.record import default_records
from aiokafka.record._crecords import default_records as compiled_default_records
from aiokafka.record.default_records import _DefaultRecordBatchPy, _DefaultRecordPy
from aiokafka.record.memory_records import _MemoryRecordsPy
from aiokafka.structs import ConsumerRecord

from neardup_stream.credentials import Password
from neardup_stream.streams.kafka.expansion import ExpansionExceeded, RefusedValue, bounded_codecs
from neardup_stream.streams.kafka.room import Room

__all__ = [
    "Fetched",
    "bound_expansion",
    "client_of",
    "close_client",
    "close_without_flush",
    "commit_generation",
    "fetch_partition",
    "generation_of",
    "has_ended_task",
    "member_id_of",
    "read_password_again",
    "take_fetched",
]

_MIN_BYTES = 1
_MAGIC_OFFSET = 16
_WITH_HEADERS = 2
"""The first batch format with headers; earlier ones cannot be the cause."""
_NAMES_REPLICA = 11
"""The first version of a fetch response that names a replica, between aborted transactions and records."""


# --- Consumers ---


def client_of(consumer: AIOKafkaConsumer) -> AIOKafkaClient:
    """Return the client of a consumer; a producer shows its own."""
    return consumer._client


async def close_client(consumer: AIOKafkaConsumer) -> None:
    """Close the connections of a consumer whose `stop` failed, which leaves them open."""
    await consumer._client.close()


def has_ended_task(consumer: AIOKafkaConsumer) -> bool:
    """Return whether a task of the consumer failed, or one that must not end has ended."""
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


# --- Batches ---


def bound_expansion(max_expanded_bytes: int) -> None:
    """Limit aiokafka's decompression to so many bytes a batch, in this process, from now on."""
    modules: tuple[ModuleType, ...] = (default_records, compiled_default_records)
    codecs = bounded_codecs(max_expanded_bytes)
    for module in modules:
        for codec, expand in codecs.items():
            setattr(module, f"{codec}_decode", expand)


class Fetched(NamedTuple):
    """The records of a partition from an offset on.

    Attributes:
        records: perhaps none, if a transaction was aborted.
        next_offset: where to continue.
    """

    records: list[ConsumerRecord]
    next_offset: int


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
    fetcher = consumer._fetcher
    taken = {}
    for one, fetched in list(fetcher._records.items()):
        is_wanted = type(fetched) is FetchResult and (not partitions or one in partitions)
        if room.is_full or not is_wanted:
            continue
        records, error = _taken(fetched, room) if fetched.check_assignment(one) else ([], None)
        if records:
            taken[one] = records
        if error is not None:  # in front, for `getmany` looks no further than the first record
            fetcher._records[one] = FetchError(error=error, backoff=0)
            fetcher._records.move_to_end(one, last=False)
            break
        if not fetched.has_more():
            del fetcher._records[one]
            fetcher._notify(fetcher._wait_consume_future)
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
    except (KafkaError, UnicodeDecodeError, ExpansionExceeded) as error:
        failure = error
    fetched._update_position()
    fetched._partition_records = None
    return records, failure


async def fetch_partition(
    consumer: AIOKafkaConsumer, one: TopicPartition, offset: int, limit_bytes: int, room: Room
) -> Fetched:
    r"""Fetch the next records of a partition, until the room is full; header names may be any bytes.

    Bytes that are not UTF-8 are shown, as in `\xff`. Records of a batch that would expand too much have no
    key and no value, see `RefusedValue`.
    """
    client = consumer._client
    leader = client.cluster.leader_for_partition(one)
    if leader is None or leader < 0:
        raise NotLeaderForPartitionError(one)
    wanted = [(one.topic, [(one.partition, offset, limit_bytes)])]
    request = FetchRequest(0, _MIN_BYTES, limit_bytes, READ_COMMITTED, wanted, rack_id="")
    response = await client.send(leader, request)
    ((_, ((_, error_code, _, *facts),)),) = response.topics
    if error_code:
        raise for_code(error_code)(one)
    aborted = facts[2] if response.API_VERSION >= _NAMES_REPLICA else facts[-2]
    checks_sums = True
    parsed = PartitionRecords(
        one, _AnyNamed(facts[-1]), aborted, offset, None, None, checks_sums, READ_COMMITTED
    )
    records = []
    for record in parsed:
        records.append(record)
        room.take(record)
        if room.is_full:
            break
    return Fetched(records, parsed.next_fetch_offset)


class _AnyNamed:
    """The batches of a fetch."""

    def __init__(self, data: bytes) -> None:
        self._slices = _MemoryRecordsPy(data)

    def has_next(self) -> bool:
        return bool(self._slices.has_next())

    def next_batch(self) -> Any:
        content = self._slices._next_slice  # what the next line would parse as usual
        batch = self._slices.next_batch()
        return _AnyNamedBatch(content) if content[_MAGIC_OFFSET] >= _WITH_HEADERS else batch


class _AnyNamedBatch(_DefaultRecordBatchPy):  # type: ignore[misc] # aiokafka has no types
    """A batch parsed as by its base class, except for text.

    Of a batch that is too large only the positions.
    """

    _is_refused = False

    def __iter__(self) -> Self:
        try:
            super().__iter__()
        except ExpansionExceeded:
            self._is_refused = True
        else:
            self._buffer: bytearray = _AnyText(self._buffer)
        return self

    def __next__(self) -> Any:
        if not self._is_refused:
            return super().__next__()
        number = self._next_record_index
        if number > self.last_offset_delta:
            raise StopIteration
        self._next_record_index: int = number + 1
        offset, refused = self.base_offset + number, RefusedValue()
        return _DefaultRecordPy(offset, self.max_timestamp, self.timestamp_type, None, refused, [])


class _AnyText(bytearray):
    """Bytes that can always be decoded."""

    def __getitem__(self, at: SupportsIndex | slice) -> Any:
        taken = super().__getitem__(at)
        return _AnyText(taken) if isinstance(taken, bytearray) else taken

    def decode(self, encoding: str = "utf-8", errors: str = "strict") -> str:
        del errors
        return bytes(self).decode(encoding, "backslashreplace")
