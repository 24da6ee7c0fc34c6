r"""Read batches that aiokafka cannot: header names that are not UTF-8, and batches that expand too much.

Kafka accepts any bytes as a header name. aiokafka cannot decode such a record, nor any record after it, so
the partition is fetched once more and parsed with names that show the bytes: `\\\\xff` for a byte that is not
text. The page itself is processed normally. A batch that would expand above the limit is not decompressed:
its records have no key and no value, and are rejected.
"""

from collections.abc import Mapping

from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.structs import ConsumerRecord

from neardup_stream.streams.kafka.aiokafka_compat import Fetched, fetch_partition
from neardup_stream.streams.kafka.expansion import ExpansionExceeded
from neardup_stream.streams.kafka.room import Room

__all__ = ["UNREADABLE", "fetch_any_names", "seek_past"]

UNREADABLE = (UnicodeDecodeError, ExpansionExceeded)
"""What aiokafka raises for such a batch."""


async def fetch_any_names(
    consumer: AIOKafkaConsumer,
    offsets: Mapping[TopicPartition, int],
    limit_bytes: int,
    max_records: int,
    max_bytes: int,
) -> dict[TopicPartition, Fetched]:
    """Return the next records of each partition, from its offset on: an equal share each, and one at least.

    Args:
        consumer: has fetched what cannot be parsed.
        offsets: where each partition continues.
        limit_bytes: of an answer of the broker, as it is compressed.
        max_records: of all partitions.
        max_bytes: likewise, of keys, values and headers.
    """
    if not offsets:
        return {}
    records, size_bytes = max(1, max_records // len(offsets)), max_bytes // len(offsets)
    return {
        one: await fetch_partition(consumer, one, offset, limit_bytes, Room(records, size_bytes))
        for one, offset in offsets.items()
    }


def seek_past(
    consumer: AIOKafkaConsumer, fetched: Mapping[TopicPartition, Fetched]
) -> dict[TopicPartition, list[ConsumerRecord]]:
    """Seek a consumer past these fetches; return their records, for partitions that have some."""
    for one, (_, next_offset) in fetched.items():
        consumer.seek(one, next_offset)
    return {one: records for one, (records, _) in fetched.items() if records}
