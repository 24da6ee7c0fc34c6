"""A Kafka in memory: topics, and a group that reads one of them with eager rebalances.

Methods serve calls and never wait, so joining is asking again: a member that has joined asks `dealt` until
the generation is complete. As with a real broker,

- a member that was not heard of for the session's time is out, and so is one that does not join in time;
- commits count for members of the current generation alone; but anyone may fetch, and anyone may send;
- opening the transactions of a partition fences those who opened them before.
"""

import random
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

import msgspec

from neardup_stream.errors import StreamUnavailable
from neardup_stream.message import Message, Partition, Position, Record, input_id, topic_of

__all__ = ["Broker", "Dealt", "Standing"]

SESSION_SECONDS = 6.0
"""So long may a member be silent."""

REBALANCE_SECONDS = 8.0
"""So long may it take to join again."""


Standing = Literal["fine", "rebalancing", "unknown"]
"""The answer to a heartbeat."""


class Dealt(NamedTuple):
    """What a member gets: its partitions, each with the next offset that the group wants, and its note."""

    generation: int
    next_offsets: Mapping[Partition, int]
    witnesses: Mapping[Partition, str]


@dataclass
class _Group:
    generation: int = 0
    heard: dict[str, float] = field(default_factory=dict)
    joined: set[str] | None = None
    deadline: float = 0.0
    assignments: dict[str, list[Partition]] = field(default_factory=dict)


class Broker:
    """One cluster, one group.

    Args:
        partitions: of the pages topic.
        now_seconds: the broker's clock.
        dice: deal the partitions.

    Attributes:
        logs: the pages topic.
        committed: the group's next offsets.
        witnesses: the notes beside them.
        topics: what was sent, in order, repeats included.
        dropped_commit_count: commits of those who were out.
        listeners: called when a record was written.
    """

    def __init__(
        self,
        partitions: Sequence[Partition],
        now_seconds: Callable[[], float],
        dice: random.Random,
    ) -> None:
        self.logs: dict[Partition, list[Record]] = {each: [] for each in partitions}
        self.committed: dict[Partition, int] = dict.fromkeys(partitions, 0)
        self.witnesses: dict[Partition, str] = {}
        self.topics: defaultdict[str, list[Message]] = defaultdict(list)
        self.dropped_commit_count = 0
        self.listeners: list[Callable[[], None]] = []
        self._now_seconds = now_seconds
        self._dice = dice
        self._group = _Group()
        self._fences = dict.fromkeys(partitions, 0)

    @property
    def generation_count(self) -> int:
        """How often the partitions were dealt."""
        return self._group.generation

    @property
    def is_consumed(self) -> bool:
        """Whether everything is committed."""
        return all(self.committed[each] == len(log) for each, log in self.logs.items())

    def read_again(self, epoch: int = 0) -> None:
        """The group has no members, and begins anew; with an epoch, as another input."""
        logs = {}
        for former, log in self.logs.items():
            partition = Partition(input_id(topic_of(former.input_id), epoch), former.number)
            logs[partition] = [
                msgspec.structs.replace(record, position=Position(partition, offset))
                for offset, record in enumerate(log)
            ]
        self.logs, self.committed, self.witnesses = logs, dict.fromkeys(logs, 0), {}
        self._group = _Group(self._group.generation)
        self._fences = dict.fromkeys(logs, 0)

    def append(self, partition: Partition, key: bytes | None, value: bytes | None) -> None:
        """A crawler writes a record."""
        partition = next(each for each in self.logs if each.number == partition.number)
        log = self.logs[partition]
        position = Position(partition, len(log))
        log.append(
            Record(position=position, key=key, value=value, timestamp_ms=int(1000 * self._now_seconds()))
        )

    async def send(self, topic: str, messages: Sequence[Message]) -> None:
        """Append messages to a topic."""
        self.topics[topic] += messages

    async def fetch(self, wanted: Mapping[Partition, int], max_records: int) -> list[Record]:
        """Return records from these offsets on, of whatever partition comes first."""
        found: list[Record] = []
        for partition in self._dice.sample(sorted(wanted), len(wanted)):
            if partition not in self.logs:
                continue  # a fetch that was on its way when the input was raised to another epoch
            first = wanted[partition]
            found += self.logs[partition][first : first + max_records - len(found)]
        return found

    async def commit(
        self,
        member: str,
        generation: int,
        offsets: Mapping[Partition, int],
        witnesses: Mapping[Partition, str],
    ) -> bool:
        """Remember where the group is, with a note beside; False for a member that is out, or late."""
        self._look_around()
        if member not in self._group.heard or generation != self._group.generation:
            self.dropped_commit_count += 1
            return False
        self.committed.update(offsets)
        self.witnesses.update(witnesses)
        return True

    async def open(self, partitions: Sequence[Partition]) -> dict[Partition, tuple[int, int]]:
        """Fence the former owners of these partitions; return the fence of each, and its next offset."""
        for partition in partitions:
            self._fences[partition] += 1
        return {each: (self._fences[each], self.committed[each]) for each in partitions}

    async def deliver(
        self, partition: Partition, fence: int, topics: Mapping[str, Sequence[Message]], next_offset: int
    ) -> None:
        """A transaction: all messages and the offset.

        Raises:
            StreamUnavailable: another daemon has opened the partition since; nothing is done.
        """
        if fence != self._fences[partition]:
            raise StreamUnavailable(f"{partition} was opened by another")
        for topic, messages in topics.items():
            self.topics[topic] += messages
        self.committed[partition] = next_offset

    async def heartbeat(self, member: str, generation: int) -> Standing:
        """Note that a member is alive."""
        self._look_around()
        group = self._group
        if member not in group.heard or generation != group.generation:
            return "unknown"
        group.heard[member] = self._now_seconds()
        return "fine" if group.joined is None else "rebalancing"

    async def join(self, member: str) -> None:
        """Add a member, new or not, to the next generation."""
        self._look_around()
        group = self._group
        group.heard[member] = self._now_seconds()
        if group.joined is None:
            self._begin_rebalance()
        assert group.joined is not None
        group.joined.add(member)
        self._look_around()

    async def dealt(self, member: str) -> Dealt | Standing:
        """Return the partitions of a member, once all members have joined."""
        self._look_around()
        group = self._group
        if member not in group.heard:
            return "unknown"
        group.heard[member] = self._now_seconds()
        if group.joined is not None:
            return "rebalancing" if member in group.joined else "unknown"
        assigned = group.assignments.get(member)
        if assigned is None:
            return "unknown"
        return Dealt(
            group.generation,
            {each: self.committed[each] for each in assigned},
            {each: self.witnesses[each] for each in assigned if each in self.witnesses},
        )

    async def leave(self, member: str) -> None:
        """Remove a member that leaves."""
        if self._group.heard.pop(member, None) is not None:
            self._begin_rebalance()

    def _begin_rebalance(self) -> None:
        self._group.joined = set()
        self._group.deadline = self._now_seconds() + REBALANCE_SECONDS

    def _look_around(self) -> None:
        """Drop who is silent or late, and deal when all have joined."""
        group, now = self._group, self._now_seconds()
        silent = [each for each, heard in group.heard.items() if heard + SESSION_SECONDS < now]
        for member in silent:
            del group.heard[member]
        if silent and group.joined is None:
            self._begin_rebalance()
        if group.joined is None:
            return
        group.joined &= group.heard.keys()
        if group.joined == group.heard.keys() or now >= group.deadline:
            group.heard = {each: group.heard[each] for each in group.heard if each in group.joined}
            self._deal()

    def _deal(self) -> None:
        group = self._group
        group.generation += 1
        group.joined = None
        members = sorted(group.heard)
        self._dice.shuffle(members)
        group.assignments = {member: [] for member in members}
        for turn, partition in enumerate(sorted(self.logs)):
            if members:
                group.assignments[members[turn % len(members)]].append(partition)
