"""Where a page came: the last applied offset of each partition, as its record keeps them. Pure."""

from collections.abc import Iterable
from typing import NamedTuple

from neardup_stream.message import Partition, Position, epoch_of, topic_of

__all__ = ["LATER_PARTITIONS", "Applied", "Later", "applied_at", "highest_epochs", "position_of"]

Applied = tuple[str, int, int]
"""input id, partition number, offset."""

LATER_PARTITIONS = 4
"""A page comes in one partition of a topic; each file it comes in again is another one."""


class Later(NamedTuple):
    """The partitions that brought a page after `made_by`, or before it, at most LATER_PARTITIONS of them.

    Attributes:
        applied: the last offset of each, the latest last.
        former_count: how many of them, from the first, brought former versions only.
    """

    applied: tuple[Applied, ...] = ()
    former_count: int = 0

    @property
    def again(self) -> tuple[Applied, ...]:
        """Those that brought this version again."""
        return self.applied[self.former_count :]

    def seen_again(self, at: Applied, made_by: Applied) -> "Later":
        """Return them after `at` brought this version again."""
        return _later(self._former_without(at), (*_without(self.again, at), at), made_by)

    def claimed(self, former_maker: Applied, made_by: Applied) -> "Later":
        """Return them after `made_by` took this version over from its maker."""
        again = _last_of_each((former_maker, *self.again))
        return _later(self._former_without(made_by), _without(again, made_by), made_by)

    def followed(self, former_maker: Applied, made_by: Applied) -> "Later":
        """Return them after `made_by` brought the next version."""
        former = (*self.applied[: self.former_count], former_maker, *self.again)
        return _later(_without(_last_of_each(former), made_by), (), made_by)

    def _former_without(self, at: Applied) -> tuple[Applied, ...]:
        return _without(self.applied[: self.former_count], at)


def _later(former: tuple[Applied, ...], again: tuple[Applied, ...], made_by: Applied) -> Later:
    """Return the last of these offsets, without those of epochs that have ended."""
    later = (*former, *again)
    highest = highest_epochs((*later, made_by))
    if highest:
        later = tuple(each for each in later if (epoch_of(each[0]) or 0) >= highest.get(topic_of(each[0]), 0))
    later = later[-LATER_PARTITIONS:]
    return Later(later, sum(each in later for each in former))


def _without(applied: tuple[Applied, ...], at: Applied) -> tuple[Applied, ...]:
    """Return those of other partitions."""
    return tuple(each for each in applied if each[:2] != at[:2])


def _last_of_each(applied: tuple[Applied, ...]) -> tuple[Applied, ...]:
    """Return the last offset of each partition, in its place."""
    last: dict[tuple[str, int], Applied] = {}
    for each in reversed(applied):
        last.setdefault(each[:2], each)
    return tuple(reversed(last.values()))


def highest_epochs(applied: Iterable[Applied]) -> dict[str, int]:
    """Return, by topic, its highest epoch; a topic of which only epoch 0 was applied may be left out."""
    highest: dict[str, int] = {}
    for input_id, *_ in applied:
        if "@" in input_id and (epoch := epoch_of(input_id)) is not None:
            highest[topic_of(input_id)] = max(epoch, highest.get(topic_of(input_id), 0))
    return highest


def applied_at(position: Position) -> Applied:
    """Return a position as records keep it."""
    return position.partition.input_id, position.partition.number, position.offset


def position_of(applied: Applied) -> Position:
    """Return the position that a record keeps so."""
    input_id, number, offset = applied
    return Position(Partition(input_id, number), offset)
