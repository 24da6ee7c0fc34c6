"""Track what one membership read of each partition, and how much of it is committed."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from aiokafka import TopicPartition

__all__ = ["ReadProgress"]


@dataclass(slots=True)
class _Range:
    """Offsets from `first` to before `end`; those below `noted` are known to be decided."""

    first: int
    end: int
    committed: int
    noted: int


class ReadProgress:
    """One range of offsets for each partition; each membership has its own."""

    def __init__(self) -> None:
        self._progress: dict[TopicPartition, _Range] = {}

    def read(self, one: TopicPartition, first: int, end: int) -> None:
        """Record that the offsets from `first` to before `end` were read, after those read before."""
        self._progress.setdefault(one, _Range(first, end, committed=first, noted=first)).end = end

    def forget(self, one: TopicPartition) -> bool:
        """Reset a partition; return whether anything was read."""
        return self._progress.pop(one, None) is not None

    def led_up_to(self, offsets: Mapping[TopicPartition, int]) -> dict[TopicPartition, int]:
        """Return those offsets that are after, or at the start of, what was read here."""
        return {
            one: offset
            for one, offset in offsets.items()
            if (read := self._progress.get(one)) is not None and read.first <= offset <= read.end
        }

    def above_committed(self, offsets: Mapping[TopicPartition, int]) -> dict[TopicPartition, int]:
        """Return those offsets, of partitions that were read, that are not committed yet."""
        return {one: offset for one, offset in offsets.items() if offset > self._progress[one].committed}

    def above_noted(self, offsets: Mapping[TopicPartition, int]) -> dict[TopicPartition, int]:
        """Return those offsets, of partitions that were read, that are not noted as decided yet."""
        return {one: offset for one, offset in offsets.items() if offset > self._progress[one].noted}

    def committed(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """Return the committed offsets of these partitions, which were read."""
        return {one: self._progress[one].committed for one in partitions}

    def note(self, offsets: Mapping[TopicPartition, int]) -> None:
        """Record that everything below these offsets is noted as decided."""
        for one, offset in offsets.items():
            if (read := self._progress.get(one)) is not None:
                read.noted = max(offset, read.noted)

    def commit(self, offsets: Mapping[TopicPartition, int]) -> None:
        """Record that these offsets are committed."""
        for one, offset in offsets.items():
            if (read := self._progress.get(one)) is not None:
                read.committed = offset
