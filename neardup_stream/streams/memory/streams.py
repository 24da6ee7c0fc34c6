"""Implement streams over lists, for tests of this project and of programs built on it.

Faults are items among the records and for the sends, so that a failing run is a list literal:

    MemorySource([*numbered([b"1", b"2"]), Fail(), *numbered([b"3"], first_offset=2)])
"""

import asyncio
from collections import deque
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice
from typing import Self

from neardup_stream.errors import StreamUnavailable
from neardup_stream.message import Message, Partition, Position, Record
from neardup_stream.streams.buffer import take_records
from neardup_stream.streams.protocol import Begin, Drain, EndOfStream, Finish, TakeOver

__all__ = ["End", "Fail", "Gap", "MemorySink", "MemorySource", "Pass", "Pause", "numbered"]

SILENCE_SECONDS = 0.01
"""How long a read waits at a pause before it returns nothing."""


@dataclass(frozen=True, slots=True)
class Fail:
    """Make a read or send raise `StreamUnavailable`, once.

    Attributes:
        is_delivered: of a send, whether its messages are delivered anyway.
    """

    is_delivered: bool = False


@dataclass(frozen=True, slots=True)
class Pause:
    """Make reads after it return nothing, and sends wait, until the event is set."""

    until: asyncio.Event = field(default_factory=asyncio.Event)


@dataclass(frozen=True, slots=True)
class End:
    """End the stream here until it is opened again."""


@dataclass(frozen=True, slots=True)
class Gap:
    """A gap: the records up to `next_offset` are deleted.

    The read that reaches it continues there, and commits that.

    Attributes:
        partition: of the records.
        next_offset: the first remaining one.
    """

    partition: Partition
    next_offset: int


_Item = Record | Fail | Pause | Gap | End


@dataclass(frozen=True, slots=True)
class Pass:
    """A send that succeeds, between others that fail."""


def numbered(
    values: Iterable[bytes | None],
    *,
    keys: Iterable[bytes | None] | None = None,
    partition: Partition = Partition("memory", 0),  # noqa: B008 - frozen
    first_offset: int = 0,
) -> list[Record]:
    """Return records of one partition, with consecutive offsets; without `keys`, none has one."""
    values = list(values)
    return [
        Record(position=Position(partition, offset), key=key, value=value)
        for offset, (key, value) in enumerate(
            zip(keys or [None] * len(values), values, strict=True), first_offset
        )
    ]


class MemorySource:
    """Read a list; when opened again, resume after what was committed.

    A fault applies once in the life of the source, so that a restarted run passes it.

    Attributes:
        committed: the next offset of every partition ever committed.
        fences: how often each partition was opened for transactions.
        dropped_commit_count: partitions committed after they were revoked.
    """

    def __init__(self, items: Iterable[_Item]) -> None:
        self._items = list(items)
        self._ahead: deque[_Item] = deque()
        self._drain: Drain | None = None
        self._take_over: TakeOver | None = None
        self._before_reading: Begin | None = None
        self._finish: Finish | None = None
        self._firsts: dict[Partition, int] = {}
        self._is_taken_over = False
        self._revoked: set[Partition] = set()
        self.committed: dict[Partition, int] = {}
        self.fences: dict[Partition, int] = {}
        self.dropped_commit_count = 0

    async def __aenter__(self) -> Self:
        """Start after what is committed."""
        self._revoked.clear()
        self._firsts.clear()
        self._is_taken_over = False
        self._ahead = self._not_done()
        return self

    async def __aexit__(self, *exc: object) -> None:
        """Drop what was read and not committed."""

    def on_revoke(self, drain: Drain) -> None:
        """Call `drain` when `revoke` is called."""
        self._drain = drain

    def on_assign(self, take_over: TakeOver) -> None:
        """Call `take_over` before the first read, and before the first one after `revoke`."""
        self._take_over = take_over

    def on_begin(self, begin: Begin) -> None:
        """Call `begin` after `take_over`."""
        self._before_reading = begin

    def on_gap(self, finish: Finish) -> None:
        """Call `finish` before a gap is passed."""
        self._finish = finish

    async def revoke(self, partition: Partition) -> None:
        """Revoke a partition as a rebalance does: drain, then neither read it nor accept its commits."""
        self._is_taken_over = False
        if self._drain is not None:
            await self._drain()
        self._revoked.add(partition)

    async def read(self, max_records: int, max_bytes: int) -> Sequence[Record]:
        """Return the records before the next fault, or apply the fault."""
        if not self._is_taken_over:
            await self._begin()
        if self._ahead and not isinstance(self._ahead[0], Record):
            await self._meet(self._ahead[0])
        if not self._ahead:
            raise EndOfStream
        records: deque[Record] = deque(islice(self._records_ahead(), max_records))
        taken = take_records(records, max_records, max_bytes)
        for _ in taken:
            self._ahead.popleft()
        return [record for record in taken if record.position.partition not in self._revoked]

    async def note_decided(self, next_offsets: Mapping[Partition, int]) -> Collection[Partition]:
        """Return the partitions except revoked ones and those whose records a gap has passed."""
        passed = {one for one, offset in next_offsets.items() if offset < self._firsts.get(one, 0)}
        return next_offsets.keys() - self._revoked - passed

    async def commit(self, next_offsets: Mapping[Partition, int]) -> Mapping[Partition, int]:
        """Store the offsets, except for revoked partitions."""
        remembered = {one: offset for one, offset in next_offsets.items() if one not in self._revoked}
        self.dropped_commit_count += len(next_offsets) - len(remembered)
        for partition, offset in remembered.items():
            self.committed[partition] = max(offset, self.committed.get(partition, 0))
        return remembered

    def lag(self) -> Mapping[Partition, int]:
        """Return the number of records ahead, by partition."""
        counts = dict.fromkeys(
            (item.position.partition for item in self._items if isinstance(item, Record)), 0
        )
        for item in self._ahead:
            if isinstance(item, Record):
                counts[item.position.partition] += 1
        return counts

    def untaken(self) -> Collection[Partition]:
        """Return nothing: `lag` counts all partitions at any time."""
        return ()

    async def _begin(self) -> None:
        if self._take_over is not None:
            await self._take_over(self._assigned())
            self._ahead = self._not_done()
        if self._before_reading is not None:
            await self._before_reading(self._assigned())
        self._is_taken_over = True

    def _assigned(self) -> list[Partition]:
        present = {item.position.partition for item in self._items if isinstance(item, Record)}
        return sorted(present - self._revoked)

    def _records_ahead(self) -> Iterator[Record]:
        for item in self._ahead:
            if not isinstance(item, Record):
                return
            yield item

    def _not_done(self) -> deque[_Item]:
        return deque(item for item in self._items if not self._is_done(item))

    def _is_done(self, item: _Item) -> bool:
        return isinstance(item, Record) and item.position.offset < self.committed.get(
            item.position.partition, 0
        )

    async def _meet(self, fault: _Item) -> None:
        match fault:
            case Fail():
                self._pass(fault)
                raise StreamUnavailable("a fault among the records")
            case Pause(until):
                with suppress(TimeoutError):
                    async with asyncio.timeout(SILENCE_SECONDS):
                        await until.wait()
                    self._pass(fault)
            case Gap(partition, next_offset):
                if self._finish is not None:
                    await self._finish()
                self._pass(fault)
                self.committed[partition] = self._firsts[partition] = next_offset
            case End():
                self._items = [item for item in self._items if item is not fault]
                self._ahead.clear()

    def _pass(self, fault: Fail | Pause | Gap) -> None:
        self._items = [item for item in self._items if item is not fault]
        self._ahead.popleft()


class MemorySink:
    """Keep the messages it receives.

    Args:
        faults: applied to the sends, in turn; afterwards every send passes.
        max_message_bytes: reported to the pipeline; not checked.

    Attributes:
        messages: everything delivered, repeats included.
    """

    def __init__(
        self, faults: Iterable[Pass | Fail | Pause] = (), *, max_message_bytes: int | None = None
    ) -> None:
        self._faults = deque(faults)
        self.max_message_bytes = max_message_bytes
        self.messages: list[Message] = []

    async def __aenter__(self) -> Self:
        """Do nothing."""
        return self

    async def __aexit__(self, *exc: object) -> None:
        """Do nothing."""

    async def send(self, messages: Sequence[Message]) -> None:
        """Keep the messages, unless a fault applies."""
        fault = await self.meet_fault()
        if fault != Fail(is_delivered=False):
            self.messages.extend(messages)
        if isinstance(fault, Fail):
            raise StreamUnavailable("a fault among the sends")

    async def meet_fault(self) -> Pass | Fail:
        """Return the result of the next send; wait for a pause."""
        fault = self._faults.popleft() if self._faults else Pass()
        if isinstance(fault, Pause):
            await fault.until.wait()
            return Pass()
        return fault
