r"""Reach what aiokafka offers no public API for; no other module touches its private attributes.

Read this file first when the version of aiokafka changes: what is private may change without notice. It has
the consumer's tasks and its group generation, commits of one generation, passwords that are read again, a
close without a flush, codecs of our own, reads of so many bytes, and the parsing of batches that aiokafka
cannot parse.
"""

import asyncio
from collections.abc import Collection, Iterator, Mapping
from types import ModuleType
from typing import Any, Self, SupportsIndex

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, OffsetAndMetadata, TopicPartition
from aiokafka.client import AIOKafkaClient
from aiokafka.consumer import fetcher
from aiokafka.consumer.fetcher import FetchError, FetchResult, PartitionRecords
from aiokafka.errors import KafkaError
from aiokafka.record import default_records
from aiokafka.record._crecords import default_records as compiled_default_records
from aiokafka.record.default_records import _DefaultRecordBatchPy, _DefaultRecordPy
from aiokafka.record.memory_records import _MemoryRecordsPy
from aiokafka.record.util import decode_varint
from aiokafka.structs import ConsumerRecord

from neardup_stream.credentials import Password
from neardup_stream.streams.kafka.expansion import ExpansionExceeded, RefusedValue, bounded_codecs
from neardup_stream.streams.kafka.room import Room

__all__ = [
    "client_of",
    "close_client",
    "close_without_flush",
    "commit_generation",
    "generation_of",
    "has_ended_task",
    "member_id_of",
    "parse_any_batch",
    "read_password_again",
    "take_fetched",
]

_MAGIC_OFFSET = 16
_WITH_HEADERS = 2
"""The first batch format with headers; earlier ones cannot be the cause."""

_CONTINUED = 0x80
_ZIGZAG_BITS = 1
"""A record begins with its length: doubled, seven bits a byte, the bit above set in all but the last."""


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


def parse_any_batch(max_expanded_bytes: int) -> None:
    r"""Make consumers of this process parse any batch, and expand at most so many bytes of one.

    Kafka accepts any bytes as the name of a header. aiokafka cannot decode such a record, nor any record of
    its batch after it, so the batch is parsed once more, with names that show the bytes: `\xff` for a byte
    that is not text. Records of a batch that would expand to more have no key and no value, see
    `RefusedValue`.
    """
    modules: tuple[ModuleType, ...] = (default_records, compiled_default_records)
    codecs = bounded_codecs(max_expanded_bytes)
    for module in modules:
        for codec, expand in codecs.items():
            setattr(module, f"{codec}_decode", expand)
    fetcher.MemoryRecords, fetcher.PartitionRecords = _Batches, _AnyRecords


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


class _Batches:
    """The batches of a fetch; the last one can be parsed once more, in a slower way."""

    def __init__(self, content: bytes) -> None:
        self._slices = _MemoryRecordsPy(content)
        self._last = memoryview(content)
        self._once_more: Any = None

    def size_in_bytes(self) -> int:
        return int(self._slices.size_in_bytes())

    def has_next(self) -> bool:
        return self._once_more is not None or bool(self._slices.has_next())

    def next_batch(self) -> Any:
        batch, self._once_more = self._once_more, None
        if batch is None:
            self._last = self._slices._next_slice  # what the next line parses
            batch = self._slices.next_batch()
        return batch

    def parse_once_more(self, error: Exception, next_offset: int) -> None:
        """Return the last batch again, parsed so that it cannot fail so; raise the error of an old format."""
        if self._last[_MAGIC_OFFSET] < _WITH_HEADERS:
            raise error
        self._once_more = _AnyNamedBatch(
            self._last, next_offset, is_refused=isinstance(error, ExpansionExceeded)
        )


class _AnyRecords(PartitionRecords):  # type: ignore[misc] # aiokafka has no types
    """The records of a fetch, whatever their headers are and their batches expand to."""

    def _unpack_records(self) -> Iterator[ConsumerRecord]:
        while self._records.has_next():
            try:
                yield from super()._unpack_records()
            except (UnicodeDecodeError, ExpansionExceeded) as error:
                self._records.parse_once_more(error, self.next_fetch_offset)


class _AnyNamedBatch(_DefaultRecordBatchPy):  # type: ignore[misc] # aiokafka has no types
    """A batch parsed as by its base class, except for text.

    Args:
        content: the batch.
        next_offset: of the first record that is wanted.
        is_refused: it is too large: return only the positions that it spans.
    """

    def __init__(self, content: memoryview, next_offset: int, *, is_refused: bool) -> None:
        super().__init__(content)
        self._is_refused = is_refused
        self._known_count = max(0, next_offset - self.base_offset)

    def __iter__(self) -> Self:
        if not self._is_refused:
            super().__iter__()
            if self._num_records == self.last_offset_delta + 1:  # else compaction removed some
                self._skip_known()
            self._buffer: bytearray = _AnyText(self._buffer)
        return self

    def _skip_known(self) -> None:
        """Skip the records before the wanted one by their lengths: to parse them takes 10 µs each."""
        buffer, at = self._buffer, self._pos
        for _ in range(self._known_count):
            size = buffer[at]
            if size < _CONTINUED:
                at += 1 + (size >> _ZIGZAG_BITS)
            else:
                length, at = decode_varint(buffer, at)
                at += length
        self._pos: int = at
        self._next_record_index: int = self._known_count

    def __next__(self) -> Any:
        if not self._is_refused:
            return super().__next__()
        number = self._next_record_index
        if number > self.last_offset_delta:
            raise StopIteration
        self._next_record_index = number + 1
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
