"""Sends messages and commits offsets: at least once here, exactly once in `exactly_once`.

At least once notes that records are decided, sends, and commits later: what was sent and not committed is
sent again after a crash.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple, Protocol

import msgspec

from neardup_stream.message import Message, Partition, Position
from neardup_stream.pipeline.offsets import later_offsets, next_offsets
from neardup_stream.pipeline.retries import Retries
from neardup_stream.streams.protocol import Sink, Source

__all__ = [
    "AtLeastOnce",
    "BatchOutput",
    "CommittedOffsets",
    "Delivery",
    "OutgoingDeadLetter",
    "OutgoingMessage",
]


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


class CommittedOffsets(NamedTuple):
    """What a commit has committed.

    Attributes:
        known: by partition, the offset below which this process knows everything as committed.
        seen: what every consumer sees as committed, at least; decision records below may be trimmed.
    """

    known: Mapping[Partition, int]
    seen: Mapping[Partition, int]


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

    async def commit(self) -> CommittedOffsets:
        """Commit everything finished; return how far the partitions of it are committed.

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

        Events of partitions that are not ours any more are left to their next owner, and dead letters beside
        them too.
        """
        refused = await self._note(batch_output.events)
        events = [each.message for each in batch_output.events if each.position.partition not in refused]
        letters = [each for each in batch_output.dead_letters if each.position.partition not in refused]
        await self._retries.retry(partial(self._events.send, events))
        await self._retries.retry(partial(self._send_dead_letters, letters))
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

    async def commit(self) -> CommittedOffsets:
        """Commit the latest offsets, if there are any."""
        offsets = self._finished
        if not offsets:
            return CommittedOffsets({}, {})
        committed = await self._source.commit(offsets)
        self._finished = {one: at for one, at in self._finished.items() if offsets.get(one) != at}
        return CommittedOffsets(committed, committed)

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
