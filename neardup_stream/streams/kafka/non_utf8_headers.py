r"""Batches that aiokafka cannot read: names of headers that are no UTF-8, and too much when expanded.

Kafka takes any bytes for a name. aiokafka cannot read such a record, nor anything behind it, so where it
fails the partition is fetched once more and parsed with names that say what they are: `\xff` for a byte that
is no text. The page itself is as good as any. A batch that would expand to more than its limit is not
expanded: its records come without key and value, as refused.
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
"""The first format of batches that has headers; others cannot be at fault."""
_TELLS_REPLICA = 11
"""The first version of a fetch's answer that names a replica, between aborted transactions and records."""


class Fetched(NamedTuple):
    """What a partition holds from an offset on.

    Attributes:
        records: perhaps none, where a transaction was taken back.
        next_offset: where to go on.
    """

    records: list[ConsumerRecord]
    next_offset: int


async def fetch_any_names(
    consumer: AIOKafkaConsumer, offsets: Mapping[TopicPartition, int], limit_bytes: int
) -> dict[TopicPartition, Fetched]:
    """The next records of each partition, from its offset on.

    Args:
        consumer: knows the leaders.
        offsets: where to begin.
        limit_bytes: most bytes to fetch of a partition; a single larger batch comes all the same.

    Raises:
        KafkaError: a leader is unavailable or refuses.

    Cost: a request for each partition, and some ten times the usual for each record.
    """
    return {one: await _fetch(consumer, one, offset, limit_bytes) for one, offset in offsets.items()}


def seek_past(
    consumer: AIOKafkaConsumer, fetched: Mapping[TopicPartition, Fetched]
) -> dict[TopicPartition, list[ConsumerRecord]]:
    """Have a consumer go on where these end; their records, for partitions that have some."""
    for one, (_, next_offset) in fetched.items():
        consumer.seek(one, next_offset)
    return {one: records for one, (records, _) in fetched.items() if records}


async def _fetch(consumer: AIOKafkaConsumer, one: TopicPartition, offset: int, limit_bytes: int) -> Fetched:
    client = consumer._client  # noqa: SLF001 - the consumer's own fetches cannot be told to parse otherwise
    leader = client.cluster.leader_for_partition(one)
    if leader is None or leader < 0:
        raise NotLeaderForPartitionError(one)
    wanted = [(one.topic, [(one.partition, offset, limit_bytes)])]
    request = FetchRequest(0, _MIN_BYTES, limit_bytes, READ_COMMITTED, wanted, rack_id="")
    response = await client.send(leader, request)
    ((_, ((_, error_code, _, *facts),)),) = response.topics
    if error_code:
        raise for_code(error_code)(one)
    aborted = facts[2] if response.API_VERSION >= _TELLS_REPLICA else facts[-2]
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
    """Parses as its base does, but for text; of a batch that is too large only where its records stood."""

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
