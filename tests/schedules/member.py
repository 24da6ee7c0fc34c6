"""The connections of a daemon to the broker: its membership in the group, its sinks and transactions.

`GroupMember` keeps what the real source keeps, which is what safety rests on: a commit counts only for what
this membership read. Like the real one it still reads while it drains, and until it has heard that it is
out, which may be long after it is.
"""

import asyncio
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Self

from neardup_stream.errors import EpochEnded, NeardupError, StoreUnavailable, StreamUnavailable
from neardup_stream.message import Message, Partition, Record, epoch_of, topic_of
from neardup_stream.streams.kafka.start_offsets import InputHistory, NoHistory
from neardup_stream.streams.protocol import Begin, Drain, Finish, TakeOver
from tests.schedules.broker import Broker, Dealt
from tests.schedules.network import Network

__all__ = ["GroupMember", "TopicSink", "TopicTransactions"]

HEARTBEAT_SECONDS = 2.0
ASK_AGAIN_SECONDS = 0.5
DRAIN_SECONDS = 4.0
SILENCE_SECONDS = 10.0
"""How long a read waits for news. Long, because time costs nothing here and reads do."""


@dataclass(slots=True)
class _Run:
    """What this membership read of a partition: offsets from `first`, `end` not among them."""

    first: int
    end: int
    committed: int
    noted: int


class GroupMember:
    """A Source that is a member of the group.

    Args:
        name: never used before.
        broker: the group's.
        network: to it.
        history: what is noted beside offsets, and compared when they are dealt.
    """

    def __init__(
        self, name: str, broker: Broker, network: Network, history: InputHistory | None = None
    ) -> None:
        self._name = name
        self._epochs = {topic_of(one.input_id): epoch_of(one.input_id) or 0 for one in broker.logs}
        self._history = history or NoHistory()
        self._broker = network.to(broker, StreamUnavailable)
        self._news = asyncio.Event()
        self._generation = 0
        self._runs: dict[Partition, _Run] = {}
        self._drain: Drain | None = None
        self._take_over: TakeOver | None = None
        self._begin: Begin | None = None
        self._failure: NeardupError | None = None
        self._membership: asyncio.Task[None] | None = None
        broker.listeners.append(self._news.set)

    async def __aenter__(self) -> Self:
        """Begin to join."""
        self._membership = asyncio.create_task(self._stay_a_member())
        return self

    async def __aexit__(self, *exc: object) -> None:
        """Leave the group."""
        assert self._membership is not None
        self._membership.cancel()
        with suppress(asyncio.CancelledError):
            await self._membership
        with suppress(StreamUnavailable):
            await self._broker.leave(self._name)

    def on_revoke(self, drain: Drain) -> None:
        """Await `drain` before partitions are revoked."""
        self._drain = drain

    def on_assign(self, take_over: TakeOver) -> None:
        """Await `take_over` before partitions are read."""
        self._take_over = take_over

    def on_begin(self, begin: Begin) -> None:
        """Await `begin` before partitions are read."""
        self._begin = begin

    def on_gap(self, finish: Finish) -> None:
        """This broker deletes no records."""

    async def read(self, max_records: int, max_bytes: int) -> Sequence[Record]:
        """Return the next records; none when there is no news for a while."""
        if self._failure is not None:
            failure, self._failure = self._failure, None
            raise failure
        self._news.clear()
        runs = self._runs
        wanted = {partition: run.end for partition, run in runs.items()}
        records: list[Record] = await self._broker.fetch(wanted, max_records) if wanted else []
        if runs is not self._runs:
            return ()
        for record in records:
            runs[record.position.partition].end = record.position.offset + 1
        if not records:
            with suppress(TimeoutError):
                async with asyncio.timeout(SILENCE_SECONDS):
                    await self._news.wait()
        return records

    async def note_decided(self, next_offsets: Mapping[Partition, int]) -> Collection[Partition]:
        """Commit once more what is committed, with a note beside it."""
        runs = self._runs
        known = {
            one: offset for one, offset in next_offsets.items() if one in runs and offset <= runs[one].end
        }
        unnoted = {one: runs[one].committed for one, offset in known.items() if offset > runs[one].noted}
        if unnoted and not await self._commit(unnoted):
            return known.keys() - unnoted.keys()
        for one, offset in known.items():
            runs[one].noted = max(offset, runs[one].noted)
        return known.keys()

    async def commit(self, next_offsets: Mapping[Partition, int]) -> Mapping[Partition, int]:
        """Commit what this membership read; what is committed now."""
        runs = self._runs
        known = {
            partition: offset
            for partition, offset in next_offsets.items()
            if (run := runs.get(partition)) is not None and run.first <= offset <= run.end
        }
        rising = {
            partition: offset for partition, offset in known.items() if offset > runs[partition].committed
        }
        if rising and not await self._commit(rising):
            return {partition: offset for partition, offset in known.items() if partition not in rising}
        for partition, offset in rising.items():
            runs[partition].committed = offset
        return known

    async def _commit(self, offsets: Mapping[Partition, int]) -> bool:
        """Return whether the group took it: as the member that it was when this was asked."""
        generation = self._generation
        witnesses = await self._history.witnesses(list(offsets))
        is_taken: bool = await self._broker.commit(self._name, generation, offsets, witnesses)
        return is_taken

    def lag(self) -> Mapping[Partition, int]:
        """Return nothing: no stage asks."""
        return {}

    def untaken(self) -> Collection[Partition]:
        """Return nothing: no stage asks."""
        return ()

    async def _stay_a_member(self) -> None:
        """Join, say that we live until we hear that the group moves on, and join again."""
        is_member = False
        while True:
            try:
                if not is_member:
                    await self._broker.join(self._name)
                    is_member = await self._is_dealt()
                elif await self._broker.heartbeat(self._name, self._generation) == "fine":
                    await asyncio.sleep(HEARTBEAT_SECONDS)
                else:
                    is_member = False
                    await self._on_revoked()
            except StreamUnavailable:
                await asyncio.sleep(ASK_AGAIN_SECONDS)

    async def _is_dealt(self) -> bool:
        """Wait for our partitions; False where we came too late."""
        while (dealt := await self._broker.dealt(self._name)) == "rebalancing":  # noqa: ASYNC110 - as it really is
            await asyncio.sleep(ASK_AGAIN_SECONDS)
        if not isinstance(dealt, Dealt):
            return False
        try:
            self._enter(dealt.next_offsets)
            await self._history.check(dealt.witnesses)
        except NeardupError as error:
            self._failure = error
            self._news.set()
            return False
        next_offsets = dict(dealt.next_offsets)
        if self._take_over is not None:
            next_offsets |= await self._take_over(list(next_offsets))
        try:
            if self._begin is not None:
                await self._begin(list(next_offsets))
        except StoreUnavailable:
            return False
        self._generation = dealt.generation
        self._runs = {
            partition: _Run(offset, offset, offset, offset) for partition, offset in next_offsets.items()
        }
        self._news.set()
        return True

    def _enter(self, dealt: Collection[Partition]) -> None:
        """Refuse to read an epoch that is not the one with which we have begun."""
        for partition in dealt:
            topic, epoch = topic_of(partition.input_id), epoch_of(partition.input_id) or 0
            if epoch > self._epochs[topic]:
                raise EpochEnded(topic, epoch, self._epochs[topic])

    async def _on_revoked(self) -> None:
        try:
            if self._drain is not None and self._runs:
                async with asyncio.timeout(DRAIN_SECONDS):
                    await self._drain()
        except TimeoutError:
            pass
        except NeardupError as error:
            self._failure = error
        finally:
            self._runs = {}


class TopicSink:
    """A Sink into one topic. A message may arrive while the next one is lost with the connection."""

    max_message_bytes = None

    def __init__(self, topic: str, broker: Broker, network: Network) -> None:
        self._topic = topic
        self._broker = network.to(broker, StreamUnavailable)

    async def __aenter__(self) -> Self:
        """Nothing to open."""
        return self

    async def __aexit__(self, *exc: object) -> None:
        """Nothing to close."""

    async def send(self, messages: Sequence[Message]) -> None:
        """Send one half after the other."""
        middle = len(messages) // 2
        for some in (messages[:middle], messages[middle:]):
            if some:
                await self._broker.send(self._topic, some)


class TopicTransactions:
    """Transactions of the partitions of the pages topic.

    Args:
        topics: of events, and of dead letters.
        broker: of all of them.
        network: to it.
    """

    def __init__(self, topics: tuple[str, str], broker: Broker, network: Network) -> None:
        self._topics = topics
        self._broker = network.to(broker, StreamUnavailable)
        self._fences: dict[Partition, int] = {}

    async def __aenter__(self) -> Self:
        """Nothing is open yet."""
        return self

    async def __aexit__(self, *exc: object) -> None:
        """Close what is open."""
        await self.close()

    async def open(self, partitions: Sequence[Partition]) -> Mapping[Partition, int]:
        """Fence the former owners."""
        opened: dict[Partition, tuple[int, int]] = await self._broker.open(partitions)
        self._fences |= {partition: fence for partition, (fence, _) in opened.items()}
        return {partition: offset for partition, (_, offset) in opened.items()}

    async def deliver(
        self,
        partition: Partition,
        *,
        events: Sequence[Message],
        dead_letters: Sequence[Message],
        next_offset: int,
    ) -> None:
        """Everything in one call, after which the partition is open only if the call succeeded."""
        fence = self._fences.pop(partition, None)
        if fence is None:
            raise StreamUnavailable(f"{partition} is not open")
        topics = dict(zip(self._topics, (events, dead_letters), strict=True))
        await self._broker.deliver(partition, fence, topics, next_offset)
        self._fences[partition] = fence

    async def close(self) -> None:
        """Forget all fences."""
        self._fences.clear()
