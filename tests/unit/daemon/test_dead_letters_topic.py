"""What `replay` reads of its topic, and when it takes another member of its group for another replay."""

from collections.abc import Mapping, Sequence
from typing import cast

import pytest
from neardup_daemon.repair import dead_letters_topic
from neardup_daemon.repair.dead_letters_topic import DeadLetters

from neardup_stream.errors import StreamUnavailable
from neardup_stream.message import Partition, Position, Record
from neardup_stream.streams.kafka.source import KafkaSource

PARTITIONS = [Partition("dead", number) for number in range(3)]
ENDS = {PARTITIONS[0]: 2, PARTITIONS[1]: 2}
LIMIT_SECONDS = dead_letters_topic._TIMEOUT_SECONDS
Letter = tuple[int, int]
"""Partition and offset."""
Step = tuple[float, Sequence[Letter], Mapping[int, int]]
"""Seconds since the step before, letters that are read, how many are left by partition that is assigned."""

BOTH = {0: 1, 1: 1}
READ = {0: 0, 1: 0}


class Group:
    """What each read brings, and when."""

    def __init__(self, steps: Sequence[Step]) -> None:
        self.now = 0.0
        self._steps = list(steps)
        self._left: Mapping[int, int] = {}

    async def read(self, _records: int, _bytes: int) -> list[Record]:
        seconds, letters, self._left = self._steps.pop(0)
        self.now += seconds
        return [
            Record(position=Position(PARTITIONS[number], offset), key=None, value=b"x")
            for number, offset in letters
        ]

    def lag(self) -> Mapping[Partition, int]:
        return {PARTITIONS[number]: count for number, count in self._left.items()}


async def read_all(steps: Sequence[Step], monkeypatch: pytest.MonkeyPatch) -> list[Letter]:
    group = Group(steps)
    monkeypatch.setattr(dead_letters_topic, "monotonic", lambda: group.now)
    letters = DeadLetters(cast("KafkaSource", group), "replay", ENDS)
    return [
        (record.position.partition.number, record.position.offset)
        async for records in letters.records()
        for record in records
    ]


async def test_letters_that_come_meanwhile_and_those_of_a_later_partition_are_left(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    steps: list[Step] = [(1, [(2, 0), (0, 0)], BOTH), (1, [(0, 1), (0, 2), (1, 1)], BOTH)]

    assert await read_all(steps, monkeypatch) == [(0, 0), (0, 1), (1, 1)]


async def test_a_partition_is_read_to_its_end_also_where_the_last_offset_has_no_letter(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    steps: list[Step] = [(1, [(0, 0), (1, 1)], {0: 0, 1: 1})]

    assert await read_all(steps, monkeypatch) == [(0, 0), (1, 1)]


async def test_letters_that_are_read_again_after_a_rebalance_are_taken_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    steps: list[Step] = [
        (1, [(0, 0), (0, 1), (1, 0)], BOTH),
        (1, [(0, 0), (0, 1)], {0: 0}),
        (1, [(1, 0), (1, 1)], READ),
    ]

    assert await read_all(steps, monkeypatch) == [(0, 0), (0, 1), (1, 0), (1, 1)]


async def test_a_rebalance_after_a_long_time_is_no_other_replay(monkeypatch: pytest.MonkeyPatch) -> None:
    steps: list[Step] = [(LIMIT_SECONDS + 1, [], BOTH), (1, [], {}), (1, [], {0: 1}), (1, [], READ)]

    assert await read_all(steps, monkeypatch) == []


async def test_letters_are_awaited_anew_after_each_of_a_part_of_the_partitions(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    steps: list[Step] = [
        (1, [], BOTH),
        (LIMIT_SECONDS + 1, [(0, 0)], {0: 1}),
        (LIMIT_SECONDS, [], {0: 1}),
        (1, [], READ),
    ]

    assert await read_all(steps, monkeypatch) == [(0, 0)]


async def test_partitions_that_others_keep_are_those_of_another_replay(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    steps: list[Step] = [(1, [(0, 0)], BOTH), (1, [], {0: 1}), (LIMIT_SECONDS + 1, [], {0: 1})]

    with pytest.raises(StreamUnavailable, match="another replay is at work"):
        await read_all(steps, monkeypatch)
