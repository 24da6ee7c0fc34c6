"""Delivers exactly once: transactions send messages and commit the offset behind them, or do neither.

Messages are held until their transaction; those who read committed never see what was cut.
"""

import asyncio
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from neardup_stream.errors import InvariantBroken, StreamUnavailable
from neardup_stream.message import Partition
from neardup_stream.pipeline.delivery_guarantees import (
    BatchOutput,
    CommittedOffsets,
    OutgoingDeadLetter,
    OutgoingMessage,
)
from neardup_stream.streams.transactions import Transactions

__all__ = ["ExactlyOnce"]


class _Lease:
    """A partition of ours.

    Attributes:
        committed: the committed offset; None after a transaction whose result is unknown.
        floor: the last committed offset that was known.
        seen: what every consumer sees as committed, at least: where the last transaction began, or what was
            read since.
    """

    def __init__(self, committed: int) -> None:
        self.committed: int | None = committed
        self.floor = self.seen = committed


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
        self._delivered: set[Partition] = set()  # by this commit, and by failed ones before it
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

    async def commit(self) -> CommittedOffsets:
        """Run one transaction for each partition that has outputs, all at once.

        A transaction is over before all brokers know, and the next one cannot end before they do. So what is
        known to be seen is where the last one of each partition began, also where a commit is repeated.
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
        delivered, self._delivered = self._delivered & leases.keys(), set()
        return CommittedOffsets(
            known={one: leases[one].floor for one in delivered},
            seen={one: leases[one].seen for one in delivered},
        )

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
            lease.seen = committed
            lease.committed = lease.floor = share.next_offset
        self._delivered.add(partition)

    async def _committed_offset(self, partition: Partition, lease: _Lease) -> int:
        if lease.committed is None:
            committed = (await self._transactions.open([partition])).get(partition, 0)
            if committed < lease.floor:
                raise StreamUnavailable(
                    f"the committed offset of {partition.input_id}-{partition.number} went back from "
                    f"{lease.floor} to {committed}; the events of the records between them would be lost"
                )
            lease.committed = lease.floor = lease.seen = committed
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
