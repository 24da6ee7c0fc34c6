"""Compute which offsets are finished once a run of records is finished."""

from collections.abc import Iterable, Mapping
from typing import Protocol, TypeVar

from neardup_stream.message import Partition, Position

__all__ = ["later_offsets", "next_offsets", "not_below"]


class _OfRecord(Protocol):
    """A record, or what is known of one."""

    @property
    def position(self) -> Position: ...


_AnyRecord = TypeVar("_AnyRecord", bound=_OfRecord)


def next_offsets(records: Iterable[_OfRecord]) -> dict[Partition, int]:
    """Return the offset after the last of these records, by partition: to commit when all are finished.

    Batches finish in the order they were read, so everything below is finished as well.
    """
    offsets: dict[Partition, int] = {}
    for record in records:
        position = record.position
        offsets[position.partition] = max(offsets.get(position.partition, 0), position.offset + 1)
    return offsets


def later_offsets(one: Mapping[Partition, int], other: Mapping[Partition, int]) -> dict[Partition, int]:
    """Both, the later where a partition is in both: committed offsets only grow."""
    return {partition: max(one.get(partition, 0), other.get(partition, 0)) for partition in {**one, **other}}


def not_below(records: Iterable[_AnyRecord], offsets: Mapping[Partition, int]) -> list[_AnyRecord]:
    """Return the records at or above the offset of their partition, and all of partitions without one."""
    return [
        record for record in records if record.position.offset >= offsets.get(record.position.partition, 0)
    ]
