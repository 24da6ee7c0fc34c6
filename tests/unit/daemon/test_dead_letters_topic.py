"""When `replay` takes another member of its group for another replay."""

from collections.abc import Mapping, Sequence
from typing import cast

import pytest
from neardup_daemon.repair import dead_letters_topic
from neardup_daemon.repair.dead_letters_topic import DeadLetters

from neardup_stream.errors import StreamUnavailable
from neardup_stream.message import Partition, Position, Record
from neardup_stream.streams.kafka.source import KafkaSource

BOTH = (Partition("dead", 0), Partition("dead", 1))
LIMIT_SECONDS = dead_letters_topic._TIMEOUT_SECONDS
Step = tuple[float, Sequence[int], Sequence[int]]
"""Seconds since the step before, partitions of which a letter is read, partitions that are assigned."""


class Group:
    """What each read brings, and when."""

    def __init__(self, steps: Sequence[Step]) -> None:
        self.now = 0.0
        self._steps = list(steps)
        self._assigned: Sequence[int] = ()

    async def read(self, _records: int, _bytes: int) -> list[Record]:
        seconds, read, self._assigned = self._steps.pop(0)
        self.now += seconds
        return [Record(position=Position(BOTH[number], 0), key=None, value=b"x") for number in read]

    def lag(self) -> Mapping[Partition, int]:
        return {BOTH[number]: 1 for number in self._assigned}


async def read_all(steps: Sequence[Step], monkeypatch: pytest.MonkeyPatch) -> int:
    group = Group(steps)
    monkeypatch.setattr(dead_letters_topic, "monotonic", lambda: group.now)
    letters = DeadLetters(cast("KafkaSource", group), "replay", dict.fromkeys(BOTH, 1))
    return sum([len(records) async for records in letters.records()])


async def test_a_rebalance_after_a_long_time_is_no_other_replay(monkeypatch: pytest.MonkeyPatch) -> None:
    steps: list[Step] = [(LIMIT_SECONDS + 1, [0], [0, 1]), (1, [], []), (1, [], [0, 1]), (1, [1], [0, 1])]

    assert await read_all(steps, monkeypatch) == 2


async def test_partitions_that_others_keep_are_those_of_another_replay(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    steps: list[Step] = [(1, [0], [0, 1]), (1, [], [0]), (LIMIT_SECONDS + 1, [], [0])]

    with pytest.raises(StreamUnavailable, match="another replay is at work"):
        await read_all(steps, monkeypatch)
