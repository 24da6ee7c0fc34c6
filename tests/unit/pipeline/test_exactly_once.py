"""Exactly-once delivery by itself: every record is delivered in one committed transaction."""

import asyncio
from collections.abc import Mapping, Sequence
from random import Random

import pytest

from neardup_stream.errors import InvariantBroken, StreamUnavailable
from neardup_stream.message import Message, Partition, Position
from neardup_stream.pipeline.delivery_guarantees import (
    BatchOutput,
    CommittedOffsets,
    OutgoingDeadLetter,
    OutgoingMessage,
)
from neardup_stream.pipeline.exactly_once import ExactlyOnce
from neardup_stream.streams.memory.streams import Fail, MemorySink, MemorySource, Pass
from tests.doubles.transactions import MemoryTransactions

FIRST, SECOND = Partition("memory", 0), Partition("memory", 1)


class Group:
    """What all daemons share: committed offsets and two topics."""

    def __init__(self, faults: Sequence[Pass | Fail] = ()) -> None:
        self.source = MemorySource([])
        self.events = MemorySink(faults)
        self.dead_letters = MemorySink()
        self.acknowledged: list[Mapping[Partition, int]] = []

    def daemon(self) -> ExactlyOnce:
        return ExactlyOnce(MemoryTransactions(self.source, self.events, self.dead_letters))

    def batch_output(self, *runs: tuple[Partition, range]) -> BatchOutput:
        """Return records that each have an event, and every third a dead letter too."""
        positions = [Position(partition, offset) for partition, offsets in runs for offset in offsets]
        next_offsets = {partition: offsets.stop for partition, offsets in runs}
        return BatchOutput(
            record_count=len(positions),
            next_offsets=next_offsets,
            events=[_outgoing(position) for position in positions],
            dead_letters=[_letter(position) for position in positions if position.offset % 3 == 0],
            acknowledged=lambda _: self.acknowledged.append(next_offsets),
        )

    def delivered(self, partition: Partition = FIRST) -> list[int]:
        """Return offsets of the delivered events, in order."""
        return _offsets(self.events, partition)

    def letters(self, partition: Partition = FIRST) -> list[int]:
        return _offsets(self.dead_letters, partition)


def _outgoing(position: Position) -> OutgoingMessage:
    return OutgoingMessage(position, _message(position))


def _letter(position: Position) -> OutgoingDeadLetter:
    return OutgoingDeadLetter(position, lambda: _message(position))


def _message(position: Position) -> Message:
    return Message(key=None, value=b"%d %d" % (position.partition.number, position.offset))


def _offsets(sink: MemorySink, partition: Partition) -> list[int]:
    pairs = [(message.value or b"").split() for message in sink.messages]
    return [int(offset) for number, offset in pairs if int(number) == partition.number]


async def deliver(daemon: ExactlyOnce, *batch_outputs: BatchOutput) -> CommittedOffsets:
    for batch_output in batch_outputs:
        daemon.finish(batch_output, await daemon.send(batch_output))
    return await daemon.commit()


async def test_nothing_is_published_before_the_commit_and_everything_by_it() -> None:
    group = Group()
    daemon = group.daemon()
    await daemon.take_over([FIRST, SECOND])
    batch_output = group.batch_output((FIRST, range(4)), (SECOND, range(2)))

    daemon.finish(batch_output, await daemon.send(batch_output))
    before = (list(group.events.messages), daemon.held_count, list(group.acknowledged))
    committed = await daemon.commit()

    assert before == ([], 6, [])
    assert committed == CommittedOffsets(known={FIRST: 4, SECOND: 2}, seen={FIRST: 0, SECOND: 0})
    assert group.source.committed == {FIRST: 4, SECOND: 2}
    assert (group.delivered(), group.delivered(SECOND), group.letters()) == ([0, 1, 2, 3], [0, 1], [0, 3])
    assert (daemon.held_count, group.acknowledged) == (0, [batch_output.next_offsets])


async def test_a_commit_is_known_to_be_seen_once_the_next_one_is_done() -> None:
    """Before that, a reader could see trimmed offsets above the committed ones."""
    group = Group()
    daemon = group.daemon()
    await daemon.take_over([FIRST])

    commits = [await deliver(daemon, group.batch_output((FIRST, range(at, at + 2)))) for at in range(0, 8, 2)]

    assert [each.seen for each in commits] == [{FIRST: 0}, {FIRST: 2}, {FIRST: 4}, {FIRST: 6}]
    assert [each.known for each in commits] == [{FIRST: 2}, {FIRST: 4}, {FIRST: 6}, {FIRST: 8}]


async def test_batch_outputs_that_wait_together_are_one_transaction() -> None:
    group = Group([Pass(), Fail(is_delivered=False)])  # a second transaction would meet the fault
    daemon = group.daemon()
    await daemon.take_over([FIRST])

    await deliver(daemon, group.batch_output((FIRST, range(3))), group.batch_output((FIRST, range(3, 9))))

    assert group.delivered() == list(range(9))


@pytest.mark.parametrize("is_delivered", [False, True], ids=["cut", "answer lost"])
async def test_a_transaction_that_failed_is_repeated_only_if_it_was_not_committed(
    *, is_delivered: bool
) -> None:
    group = Group([Fail(is_delivered)])
    daemon = group.daemon()
    await daemon.take_over([FIRST])
    with pytest.raises(StreamUnavailable):
        await deliver(daemon, group.batch_output((FIRST, range(5))))
    acknowledged = list(group.acknowledged)

    committed = await daemon.commit()

    assert acknowledged == []
    assert committed == CommittedOffsets(known={FIRST: 5}, seen={FIRST: 5 * is_delivered})
    assert group.source.committed == {FIRST: 5}
    assert group.delivered() == [0, 1, 2, 3, 4]
    assert group.acknowledged == [{FIRST: 5}]


async def test_a_partition_that_failed_stops_no_other() -> None:
    group = Group([Fail(is_delivered=False)])
    daemon = group.daemon()
    await daemon.take_over([FIRST, SECOND])
    with pytest.raises(StreamUnavailable):
        await deliver(daemon, group.batch_output((FIRST, range(2))), group.batch_output((SECOND, range(3))))
    committed_first = dict(group.source.committed)

    committed = await daemon.commit()

    assert len(committed_first) == 1
    assert committed == CommittedOffsets(known={FIRST: 2, SECOND: 3}, seen={FIRST: 0, SECOND: 0})
    assert group.source.committed == {FIRST: 2, SECOND: 3}
    assert (group.delivered(), group.delivered(SECOND)) == ([0, 1], [0, 1, 2])


async def test_a_commit_that_is_repeated_for_another_partition_is_seen_no_further() -> None:
    """Of a batch with both partitions, the one that was delivered is held until the other one is, too."""
    group = Group([Fail(is_delivered=False)])
    daemon = group.daemon()
    await daemon.take_over([FIRST, SECOND])
    with pytest.raises(StreamUnavailable):
        await deliver(daemon, group.batch_output((FIRST, range(2)), (SECOND, range(3))))

    committed = await daemon.commit()

    assert committed == CommittedOffsets(known={FIRST: 2, SECOND: 3}, seen={FIRST: 0, SECOND: 0})


async def test_of_a_batch_output_that_another_has_published_in_part_only_the_rest_is_published() -> None:
    group = Group()
    slow, quick = group.daemon(), group.daemon()
    await slow.take_over([FIRST])
    await quick.take_over([FIRST])
    await deliver(quick, group.batch_output((FIRST, range(3))))
    with pytest.raises(StreamUnavailable):
        await deliver(slow, group.batch_output((FIRST, range(8))))

    await slow.commit()

    assert group.delivered() == list(range(8))
    assert group.letters() == [0, 3, 6]


async def test_what_is_revoked_is_neither_published_nor_acknowledged() -> None:
    group = Group()
    daemon = group.daemon()
    await daemon.take_over([FIRST])
    daemon.finish(group.batch_output((FIRST, range(5))), refused=())

    await daemon.on_revoked()

    assert await daemon.commit() == CommittedOffsets({}, {})
    assert (group.delivered(), group.acknowledged, group.source.committed) == ([], [], {})


class SlowToOpen(MemoryTransactions):
    """Answers the second call of `open` only when the test lets it."""

    def __init__(self, group: Group) -> None:
        super().__init__(group.source, group.events, group.dead_letters)
        self.calls = 0
        self.waits, self.go = asyncio.Event(), asyncio.Event()

    async def open(self, partitions: Sequence[Partition]) -> Mapping[Partition, int]:
        self.calls += 1
        if self.calls == 2:
            self.waits.set()
            await self.go.wait()
        return await super().open(partitions)


async def test_a_commit_that_looks_for_its_offset_when_partitions_are_revoked_publishes_nothing() -> None:
    """This process may own them again, and publish the same records, before that commit has its answer."""
    group = Group([Fail()])
    transactions = SlowToOpen(group)
    daemon = ExactlyOnce(transactions)
    await daemon.take_over([FIRST])
    with pytest.raises(StreamUnavailable):
        await deliver(daemon, group.batch_output((FIRST, range(2))))
    former = asyncio.ensure_future(daemon.commit())
    await transactions.waits.wait()

    await daemon.on_revoked()
    await daemon.take_over([FIRST])
    transactions.go.set()
    assert await former == CommittedOffsets({}, {})
    await deliver(daemon, group.batch_output((FIRST, range(2))))

    assert group.delivered() == [0, 1]
    assert group.acknowledged == [{FIRST: 2}]


async def test_the_next_owner_gets_the_start_offsets() -> None:
    group = Group()
    first, second = group.daemon(), group.daemon()
    await first.take_over([FIRST, SECOND])
    await deliver(first, group.batch_output((FIRST, range(5))))

    assert await second.take_over([FIRST, SECOND]) == {FIRST: 5}


async def test_an_offset_that_another_process_set_back_is_not_passed_over() -> None:
    """The records in between would never be delivered."""
    group = Group()
    daemon, other = group.daemon(), group.daemon()
    await daemon.take_over([FIRST])
    await deliver(daemon, group.batch_output((FIRST, range(5))))
    await other.take_over([FIRST])
    group.source.committed[FIRST] = 2

    with pytest.raises(StreamUnavailable):
        await deliver(daemon, group.batch_output((FIRST, range(5, 9))))
    with pytest.raises(StreamUnavailable, match="went back from 5 to 2"):
        await daemon.commit()

    assert group.delivered() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("seed", range(60))
async def test_daemons_that_fight_over_partitions_publish_every_record_once_and_in_order(seed: int) -> None:
    """Each reads on from what was committed when it took over; none knows when it has lost its partitions."""
    dice = Random(seed)
    fates: list[Pass | Fail] = [Pass(), Pass(), Fail(), Fail(is_delivered=True)]
    faults = [dice.choice(fates) for _ in range(60)]
    group = Group(faults)
    daemons = [_Fighter(group, dice) for _ in range(3)]

    for _ in range(120):
        await dice.choice(daemons).step()
    last = daemons[0]
    await last.take_over()
    await last.finish_all()

    for partition in (FIRST, SECOND):
        assert group.delivered(partition) == list(range(_END))
        assert group.letters(partition) == list(range(0, _END, 3))


_END = 40


class _Fighter:
    def __init__(self, group: Group, dice: Random) -> None:
        self._group = group
        self._dice = dice
        self._daemon = group.daemon()
        self._next: dict[Partition, int] = {}

    async def step(self) -> None:
        if not self._next or self._dice.random() < 0.1:
            await self.take_over()
        if self._dice.random() < 0.6:
            self._read()
        else:
            await self._try_to_commit()

    async def take_over(self) -> None:
        await self._daemon.on_revoked()
        committed = await self._daemon.take_over([FIRST, SECOND])
        self._next = {one: committed.get(one, 0) for one in (FIRST, SECOND)}

    async def finish_all(self) -> None:
        while not await self._try_to_commit() or min(self._next.values()) < _END:
            self._read()

    def _read(self) -> None:
        runs = []
        for partition, start in self._next.items():
            stop = min(start + self._dice.randrange(4), _END)
            if stop > start:
                runs.append((partition, range(start, stop)))
                self._next[partition] = stop
        if runs:
            self._daemon.finish(self._group.batch_output(*runs), refused=())

    async def _try_to_commit(self) -> bool:
        try:
            await self._daemon.commit()
        except StreamUnavailable:
            return False
        return True


async def test_a_commit_that_is_cut_short_leaves_the_daemon_able_to_look() -> None:
    group = Group()
    daemon = group.daemon()
    await daemon.take_over([FIRST])
    daemon.finish(group.batch_output((FIRST, range(3))), refused=())
    cut = asyncio.ensure_future(daemon.commit())
    await asyncio.sleep(0)  # let it come so far, and no further
    cut.cancel()
    with pytest.raises(asyncio.CancelledError):
        await cut

    await daemon.commit()

    assert group.delivered() == [0, 1, 2]


async def test_records_of_a_partition_that_was_not_taken_over_are_our_bug() -> None:
    group = Group()
    daemon = group.daemon()
    await daemon.take_over([FIRST])

    with pytest.raises(InvariantBroken, match="not taken over"):
        await deliver(daemon, group.batch_output((FIRST, range(2)), (SECOND, range(2))))

    assert group.delivered() == []
