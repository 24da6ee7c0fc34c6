r"""Read batches that aiokafka cannot: header names that are not UTF-8, and batches that expand too much.

Kafka accepts any bytes as a header name. aiokafka cannot decode such a record, nor any record after it, so
the partition is fetched once more and parsed with names that show the bytes: `\\\\xff` for a byte that is not
text. The page itself is processed normally. A batch that would expand above the limit is not decompressed:
its records have no key and no value, and are rejected.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple, Self, SupportsIndex

from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.consumer.fetcher import READ_COMMITTED, PartitionRecords
from aiokafka.errors import NotLeaderForPartitionError, for_code
from aiokafka.protocol.fetch import FetchRequest
from aiokafka.record.default_records import _DefaultRecordBatchPy, _DefaultRecordPy
from aiokafka.record.memory_records import _MemoryRecordsPy
from aiokafka.structs import ConsumerRecord

from neardup_stream.streams.kafka.expansion import ExpansionExceeded, RefusedValue

__all__ = ["UNREADABLE", "Fetched", "fetch_any_names", "seek_past"]

UNREADABLE = (UnicodeDecodeError, ExpansionExceeded)
"""What aiokafka raises for such a batch."""

_MIN_BYTES = 1
_MAGIC_OFFSET = 16
_WITH_HEADERS = 2
"""The first batch format with headers; earlier ones cannot be the cause."""
_NAMES_REPLICA = 11
"""The first version of a fetch response that names a replica, between aborted transactions and records."""


class Fetched(NamedTuple):
    """The records of a partition from an offset on.

    Attributes:
        records: perhaps none, if a transaction was aborted.
        next_offset: where to continue.
    """

    records: list[ConsumerRecord]
    next_offset: int


async def fetch_any_names(
    consumer: AIOKafkaConsumer, offsets: Mapping[TopicPartition, int], limit_bytes: int
) -> dict[TopicPartition, Fetched]:
    """Return the next records of each partition, from its offset on."""
    return {one: await _fetch(consumer, one, offset, limit_bytes) for one, offset in offsets.items()}


def seek_past(
    consumer: AIOKafkaConsumer, fetched: Mapping[TopicPartition, Fetched]
) -> dict[TopicPartition, list[ConsumerRecord]]:
    """Seek a consumer past these fetches; return their records, for partitions that have some."""
    for one, (_, next_offset) in fetched.items():
        consumer.seek(one, next_offset)
    return {one: records for one, (records, _) in fetched.items() if records}


async def _fetch(consumer: AIOKafkaConsumer, one: TopicPartition, offset: int, limit_bytes: int) -> Fetched:
    client = consumer._client  # noqa: SLF001 - the consumer's own fetches cannot parse them
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
    return Fetched(list(parsed), parsed.next_fetch_offset)


class _AnyNamed:
    """The batches of a fetch."""

    def __init__(self, data: bytes) -> None:
        self._slices = _MemoryRecordsPy(data)

    def has_next(self) -> bool:
        return bool(self._slices.has_next())

    def next_batch(self) -> Any:
        content = self._slices._next_slice  # noqa: SLF001 - what the next line would parse as usual
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
