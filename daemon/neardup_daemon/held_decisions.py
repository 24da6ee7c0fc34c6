"""Keeps the decision records of awaited pages for a while after their commit, so that they can be read.

A decision record is trimmed as soon as its offset is committed. A page that came through the query API has
the header `AWAITED`; its decision record stays for some seconds longer, and with it those behind it in the
same partition. Where no page is awaited, nothing changes.
"""

import asyncio
from collections import defaultdict, deque
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from time import monotonic
from typing import Final

from neardup_stream.clusters.placements import AlreadyDecided, Decided
from neardup_stream.clusters.protocol import Decider, Portion
from neardup_stream.clusters.requests import PageVersion, Request
from neardup_stream.errors import StoreUnavailable
from neardup_stream.frames.table import LineHashes
from neardup_stream.message import Partition, Position, Record
from neardup_stream.page import Page
from neardup_stream.pipeline.arrival import Prepared
from neardup_stream.pipeline.preparation import Prepares
from neardup_stream.stores.protocol import RecordStore
from neardup_stream.wire.pages import AWAITED

__all__ = ["MOST_AWAITED", "HeldDecisions", "NotingPreparation", "holding_decisions"]

MOST_AWAITED: Final = 100_000
"""Awaited positions that are remembered; the decision records of older ones are trimmed as any."""

_LOOK_SECONDS: Final = 1.0


class _Held:
    """The awaited positions of one partition.

    Attributes:
        undelivered: decided, or about to be, and not committed.
        kept: committed ones in order of their offsets, and when they were.
        committed: the offset up to which the partition is committed.
        trimmed: the offset up to which it was trimmed.
    """

    def __init__(self) -> None:
        self.undelivered: set[int] = set()
        self.kept: deque[tuple[int, float]] = deque()
        self.committed = 0
        self.trimmed = 0

    @property
    def is_empty(self) -> bool:
        """Whether everything that was awaited is trimmed."""
        return not self.undelivered and not self.kept

    def commit(self, offset: int, now_seconds: float) -> None:
        """Take in that everything below an offset is committed."""
        self.committed = max(self.committed, offset)
        done = sorted(each for each in self.undelivered if each < offset)
        self.undelivered.difference_update(done)
        self.kept.extend((each, now_seconds) for each in done)

    def end(self, before_seconds: float) -> int:
        """Return the offset up to which may be trimmed what was committed before a time."""
        while self.kept and (self.kept[0][1] <= before_seconds or len(self.kept) > MOST_AWAITED):
            self.kept.popleft()
        return self.kept[0][0] if self.kept else self.committed


class HeldDecisions:
    """A Decider over another one that trims the decision records of awaited pages later. Of one event loop.

    Args:
        decider: decides.
        kept_seconds: how long those records stay after their commit.
        now_seconds: a monotonic clock.
    """

    def __init__(
        self, decider: Decider, kept_seconds: float, now_seconds: Callable[[], float] = monotonic
    ) -> None:
        self._decider = decider
        self._kept_seconds = kept_seconds
        self._now_seconds = now_seconds
        self._noted: dict[Position, None] = {}
        self._partitions: defaultdict[Partition, _Held] = defaultdict(_Held)

    def note(self, records: Sequence[Record]) -> None:
        """Remember which of these records are awaited, before they are decided."""
        for record in records:
            if record.headers and AWAITED in record.headers:
                self._noted[record.position] = None
        while len(self._noted) > MOST_AWAITED:
            del self._noted[next(iter(self._noted))]

    async def already_decided(self, positions: Sequence[Position]) -> AlreadyDecided:
        """See `Decider`. A position that is looked up here is decided here; dead letters are not."""
        for position in positions:
            if position in self._noted:
                del self._noted[position]
                self._partitions[position.partition].undelivered.add(position.offset)
        return await self._decider.already_decided(positions)

    def portions(self, requests: Sequence[Request], aged_count: int) -> Iterator[Portion]:
        """See `Decider`."""
        return self._decider.portions(requests, aged_count)

    async def trim(self, next_offsets: Mapping[Partition, int]) -> None:
        """See `Decider`; partitions with awaited positions are left to `trim_due`."""
        now = self._now_seconds()
        dead = [each for each in self._noted if each.offset < next_offsets.get(each.partition, 0)]
        for position in dead:  # committed and never looked up
            del self._noted[position]
        for partition, offset in next_offsets.items():
            if partition in self._partitions:
                self._partitions[partition].commit(offset, now)
        free = {one: offset for one, offset in next_offsets.items() if one not in self._partitions}
        if free:
            await self._decider.trim(free)

    async def trim_due(self) -> None:
        """Trim what was kept for long enough.

        Raises:
            StoreUnavailable: the store is unavailable; call again.
        """
        before = self._now_seconds() - self._kept_seconds
        ends = {one: held.end(before) for one, held in self._partitions.items()}
        rising = {one: end for one, end in ends.items() if end > self._partitions[one].trimmed}
        if rising:
            await self._decider.trim(rising)
        for partition, end in ends.items():
            held = self._partitions[partition]
            held.trimmed = max(end, held.trimmed)
            if held.is_empty and held.trimmed >= held.committed:  # else a commit came meanwhile
                del self._partitions[partition]

    async def end_former_epochs(self, partitions: Sequence[Partition]) -> Mapping[Partition, int]:
        """See `Decider`."""
        return await self._decider.end_former_epochs(partitions)

    async def stored_records(self, partition: Partition) -> Mapping[Position, Decided]:
        """See `Decider`."""
        return await self._decider.stored_records(partition)

    async def tidy(self, records: RecordStore) -> None:
        """See `Decider`."""
        await self._decider.tidy(records)

    async def expire(self, nodes: Sequence[PageVersion]) -> list[bool]:
        """See `Decider`."""
        return await self._decider.expire(nodes)

    async def release(self, nodes: Sequence[PageVersion]) -> None:
        """See `Decider`."""
        await self._decider.release(nodes)


class NotingPreparation:
    """Prepares records, and has noted which of them are awaited before they are used.

    Args:
        preparation: prepares them, in other threads.
        held: notes them, in the event loop in which this is made.
    """

    def __init__(self, preparation: Prepares, held: HeldDecisions) -> None:
        self._preparation, self._held = preparation, held
        self._loop = asyncio.get_running_loop()

    @property
    def batches_at_once(self) -> int:
        """See `Prepares`."""
        return self._preparation.batches_at_once

    def prepare(self, records: Sequence[Record]) -> Prepared:
        """See `Prepares`. The note is ahead of the result in what the loop has to do."""
        self._loop.call_soon_threadsafe(self._held.note, records)
        return self._preparation.prepare(records)

    def lines_outside_landmarks(self, page: Page) -> LineHashes | None:
        """See `Prepares`."""
        return self._preparation.lines_outside_landmarks(page)


@asynccontextmanager
async def holding_decisions(
    decider: Decider, kept_seconds: float, look_seconds: float = _LOOK_SECONDS
) -> AsyncIterator[HeldDecisions]:
    """Hold the decision records of awaited pages while the block runs.

    Args:
        decider: decides.
        kept_seconds: how long those records stay after their commit.
        look_seconds: between two looks for records to trim.

    Raises:
        ExceptionGroup: holding what ended the trimming (ConfigError, CorruptData), or the block.
    """
    held = HeldDecisions(decider, kept_seconds)
    async with asyncio.TaskGroup() as group:
        trimming = group.create_task(_trim_when_due(held, look_seconds))
        try:
            yield held
        finally:
            trimming.cancel()


async def _trim_when_due(held: HeldDecisions, look_seconds: float) -> None:
    while True:
        await asyncio.sleep(look_seconds)
        try:
            await held.trim_due()
        except StoreUnavailable:
            continue  # the next look does it; meanwhile it is only memory
