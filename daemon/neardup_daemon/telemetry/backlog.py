"""Measure how far each partition is behind: records without a commit, and the age of the oldest."""

from collections import deque
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from neardup_stream.message import Partition, Record

__all__ = ["Backlog", "PartitionBacklog"]


class PartitionBacklog(NamedTuple):
    """What was read of a partition and is not committed.

    Attributes:
        records: how many.
        oldest_timestamp_ms: the record timestamp of the oldest of them.
    """

    records: int
    oldest_timestamp_ms: int


class _Read(NamedTuple):
    """Records of one batch."""

    next_offset: int
    record_count: int
    oldest_timestamp_ms: int


class Backlog:
    """Follows reads and commits of the partitions that are ours.

    Cost: one entry for each batch and partition in flight.
    """

    def __init__(self) -> None:
        self._reads: dict[Partition, deque[_Read]] = {}

    def read(self, records: Sequence[Record]) -> None:
        """Add records, in the order of their partitions."""
        by_partition: dict[Partition, list[Record]] = {}
        for record in records:
            by_partition.setdefault(record.position.partition, []).append(record)
        for partition, own in by_partition.items():
            oldest = min(record.timestamp_ms for record in own)
            reads = self._reads.setdefault(partition, deque())
            reads.append(_Read(own[-1].position.offset + 1, len(own), oldest))

    def committed(self, next_offsets: Mapping[Partition, int]) -> None:
        """Remove what is below these offsets."""
        for partition, offset in next_offsets.items():
            reads = self._reads.get(partition)
            while reads and reads[0].next_offset <= offset:
                reads.popleft()

    def clear(self) -> None:
        """Forget everything: the partitions are revoked."""
        self._reads = {}

    def by_partition(self) -> dict[Partition, PartitionBacklog]:
        """Return the backlog of each partition that has one."""
        return {
            partition: PartitionBacklog(
                sum(each.record_count for each in reads), min(each.oldest_timestamp_ms for each in reads)
            )
            for partition, reads in self._reads.items()
            if reads
        }
