"""Sends messages and commits offsets: at least once, or exactly once.

At least once notes that records are decided, sends, and commits later: what was sent and not committed is
sent again after a crash.
Exactly once holds messages back until their transaction, which sends them and commits the offset behind them,
or does neither; those who read committed never see what was cut.
"""

import asyncio
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple, Protocol

import msgspec

from neardup_stream.errors import InvariantBroken, StreamUnavailable
from neardup_stream.message import Message, Partition, Position
from neardup_stream.pipeline.offsets import later_offsets, next_offsets
from neardup_stream.pipeline.retries import Retries
from neardup_stream.streams.protocol import Sink, Source
from neardup_stream.streams.transactions import Transactions

__all__ = ["AtLeastOnce", "BatchOutput", "Delivery", "ExactlyOnce", "OutgoingDeadLetter", "OutgoingMessage"]


class OutgoingMessage(msgspec.Struct, frozen=True, gc=False):
    """A message, and the record that it comes from."""

    position: Position
    message: Message


@dataclass(slots=True)
class OutgoingDeadLetter:
    """A dead letter, rendered for each attempt to send it: its topic may accept less than before.

    Attributes:
        position: of its record.
        make: makes it, no larger than the topic accepts now.
        rendered: as it was made last; None before the first attempt.
    """

    position: Position
    make: Callable[[], Message]
    rendered: Message | None = None

    def render(self) -> Message:
        """Make it for one attempt."""
        self.rendered = self.make()
        return self.rendered


class BatchOutput(NamedTuple):
    """The messages and offsets of one batch.

    Attributes:
        record_count: how many records it had.
        next_offsets: the offset after the last of them, by partition.
        events: in the order of their records.
        dead_letters: in the order of their records.
        acknowledged: called once every message is acknowledged, with the partitions whose events the next
            owner sends.
    """

    record_count: int
    next_offsets: Mapping[Partition, int]
    events: Sequence[OutgoingMessage]
    dead_letters: Sequence[OutgoingDeadLetter]
    acknowledged: Callable[[Collection[Partition]], None]


class Delivery(Protocol):
    """Sends and commits the outputs of batches; the loop calls `commit` from one task at a time."""

    @property
    def held_count(self) -> int:
        """Records whose messages wait for the next commit."""
        ...

    async def send(self, batch_output: BatchOutput) -> Collection[Partition]:
        """Deliver what need not wait for the commit; return the partitions whose events the next owner sends.

        Raises:
            DependencyLost: the sink stayed unavailable.
        """
        ...

    def finish(self, batch_output: BatchOutput, refused: Collection[Partition]) -> None:
        """Include an output that was sent, and whose partitions are still ours, in the next commit.

        Args:
            batch_output: that was sent.
            refused: what `send` returned for it.
        """
        ...

    async def commit(self) -> Mapping[Partition, int]:
        """Commit everything finished; return what every consumer sees as committed, which may be trimmed.

        Raises:
            StreamUnavailable: not everything was; commit again.
        """
        ...

    async def on_revoked(self) -> None:
        """Forget what was not committed: the partitions are no longer ours."""
        ...


class AtLeastOnce:
    """Notes what is decided, sends it, and commits what was sent.

    The note comes first, so that nothing is published that an index could forget unnoticed: the next owner
    of a partition compares the index with the note.

    Args:
        source: whose offsets are noted and committed.
        events: where events go.
        dead_letters: where dead letters go.
        retries: while a sink is unavailable.
    """

    held_count = 0

    def __init__(self, source: Source, events: Sink, dead_letters: Sink, retries: Retries) -> None:
        self._source = source
        self._events = events
        self._dead_letters = dead_letters
        self._retries = retries
        self._finished: dict[Partition, int] = {}
        self._lost: set[Partition] = set()

    async def send(self, batch_output: BatchOutput) -> Collection[Partition]:
        """Send events, then dead letters; each step is retried until it is acknowledged.

        Events of partitions that are not ours any more are left to their next owner.
        """
        refused = await self._note(batch_output.events)
        events = [each.message for each in batch_output.events if each.position.partition not in refused]
        await self._retries.retry(partial(self._events.send, events))
        await self._retries.retry(partial(self._send_dead_letters, batch_output.dead_letters))
        batch_output.acknowledged(refused)
        return refused

    def finish(self, batch_output: BatchOutput, refused: Collection[Partition]) -> None:
        """Include its offsets in the next commit, but not of partitions whose events the next owner sends.

        No later offset of such a partition is committed either: it would pass the events that were not sent.
        A group may accept such a commit from a member that had left and has joined again.
        """
        self._lost.update(refused)
        offsets = {one: at for one, at in batch_output.next_offsets.items() if one not in self._lost}
        self._finished = later_offsets(self._finished, offsets)

    async def commit(self) -> Mapping[Partition, int]:
        """Commit the latest offsets, if there are any."""
        offsets = self._finished
        if offsets:
            committed = await self._source.commit(offsets)
            self._finished = {one: at for one, at in self._finished.items() if offsets.get(one) != at}
            return committed
        return {}

    async def on_revoked(self) -> None:
        """Forget what was sent: the next owners of the partitions read it again."""
        self._finished = {}
        self._lost = set()

    async def _send_dead_letters(self, dead_letters: Sequence[OutgoingDeadLetter]) -> None:
        await self._dead_letters.send([each.render() for each in dead_letters])

    async def _note(self, events: Sequence[OutgoingMessage]) -> Collection[Partition]:
        """Note the decisions of the events; return the partitions of events that are not ours any more."""
        offsets = next_offsets(events)
        ours = await self._retries.retry(partial(self._source.note_decided, offsets)) if offsets else ()
        return offsets.keys() - ours


class _Lease:
    """A partition of ours.

    Attributes:
        committed: the committed offset; None after a transaction whose result is unknown.
        floor: the last committed offset that was known.
    """

    def __init__(self, committed: int) -> None:
        self.committed: int | None = committed
        self.floor = committed


@dataclass(slots=True)
class _Share:
    """What outputs hold of one partition."""

    next_offset: int = 0
    events: list[OutgoingMessage] = field(default_factory=list)
    dead_letters: list[OutgoingDeadLetter] = field(default_factory=list)


class ExactlyOnce:
    """Holds outputs until the commit; then a transaction for each partition sends and commits in one step.

    Whatever the result of a transaction, the next one reads the committed offset, and publishes the events of
    records from there on only. No other daemon can commit in between: reading the offset fences every former
    producer of the partition. So it does not matter whether an answer was lost, or whether another daemon
    had the partition meanwhile: the events of each record are in the one transaction that moves the offset
    past it.

    Args:
        transactions: opened by its owner.
    """

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions
        self._leases: dict[Partition, _Lease] = {}
        self._held: list[BatchOutput] = []
        self._committed: dict[Partition, int] = {}
        self._delivering: Sequence[asyncio.Task[None]] = ()

    @property
    def held_count(self) -> int:
        """Records of the outputs held."""
        return sum(batch_output.record_count for batch_output in self._held)

    async def take_over(self, partitions: Sequence[Partition]) -> Mapping[Partition, int]:
        """Fence the former owners of these partitions; return the offsets at which to read them.

        Raises:
            StreamUnavailable: take them over again.
        """
        committed = await self._transactions.open(partitions)
        self._leases |= {one: _Lease(committed.get(one, 0)) for one in partitions}
        return committed

    async def send(self, batch_output: BatchOutput) -> Collection[Partition]:  # noqa: ARG002 - held
        """Do nothing: nothing is sent, or refused, before the commit."""
        return ()

    def finish(
        self,
        batch_output: BatchOutput,
        refused: Collection[Partition],  # noqa: ARG002 - none is
    ) -> None:
        """Hold it."""
        self._held.append(batch_output)

    async def commit(self) -> Mapping[Partition, int]:
        """Run one transaction for each partition that has outputs, all at once.

        A transaction is over before all brokers know, and the next one cannot end before they do. So what is
        known to be seen is where the last one of each partition began.
        """
        leases = self._leases
        shares = _by_partition(self._held)
        if foreign := shares.keys() - leases.keys():
            raise InvariantBroken(f"records were read of {foreign}, which were not taken over")
        self._delivering = [
            asyncio.create_task(self._deliver(one, leases[one], share)) for one, share in shares.items()
        ]
        results = await asyncio.gather(*self._delivering, return_exceptions=True)
        are_ours = leases is self._leases
        if are_ours:
            self._release_committed()
        for result in results:
            if isinstance(result, asyncio.CancelledError) and not are_ours:
                continue
            if isinstance(result, BaseException):
                raise result
        committed, self._committed = self._committed, {}
        return committed

    async def on_revoked(self) -> None:
        """Drop what was not committed: the next owners of the partitions publish it.

        A commit in flight ends here. Else it could look up the offset only when this process has taken the
        partitions over again, and publish what the new lease publishes too.
        """
        self._leases = {}
        self._held = []
        for task in self._delivering:
            task.cancel()
        await asyncio.gather(*self._delivering, return_exceptions=True)
        await self._transactions.close()

    async def _deliver(self, partition: Partition, lease: _Lease, share: _Share) -> None:
        committed = await self._committed_offset(partition, lease)
        if share.next_offset > committed:
            lease.committed = None
            await self._transactions.deliver(
                partition,
                events=[each.message for each in share.events if each.position.offset >= committed],
                dead_letters=[
                    each.render() for each in share.dead_letters if each.position.offset >= committed
                ],
                next_offset=share.next_offset,
            )
            lease.committed = lease.floor = share.next_offset
        self._committed = later_offsets(self._committed, {partition: committed})

    async def _committed_offset(self, partition: Partition, lease: _Lease) -> int:
        if lease.committed is None:
            committed = (await self._transactions.open([partition])).get(partition, 0)
            if committed < lease.floor:
                raise StreamUnavailable(
                    f"the committed offset of {partition.input_id}-{partition.number} went back from "
                    f"{lease.floor} to {committed}; the events of the records between them would be lost"
                )
            lease.committed = lease.floor = committed
        return lease.committed

    def _release_committed(self) -> None:
        held, self._held = self._held, []
        for batch_output in held:
            if all(self._leases[one].floor >= offset for one, offset in batch_output.next_offsets.items()):
                batch_output.acknowledged(())
            else:
                self._held.append(batch_output)


def _by_partition(batch_outputs: Iterable[BatchOutput]) -> dict[Partition, _Share]:
    shares: defaultdict[Partition, _Share] = defaultdict(_Share)
    for batch_output in batch_outputs:
        for partition, offset in batch_output.next_offsets.items():
            shares[partition].next_offset = offset
        for each in batch_output.events:
            shares[each.position.partition].events.append(each)
        for letter in batch_output.dead_letters:
            shares[letter.position.partition].dead_letters.append(letter)
    return shares
