"""The daemons' lives: they begin, meet their faults, and begin anew, until everything has been quiet.

Quiet is when the faults are over, everything is committed, and the daemons have left after finishing.
"""

import asyncio
import random
from collections.abc import Callable
from dataclasses import dataclass

from neardup_stream.errors import ConfigError, DependencyLost, EpochEnded
from tests.schedules.broker import Broker
from tests.schedules.clock_jumps import Clocks, host_clock
from tests.schedules.daemon import live
from tests.schedules.losses import Loss, flush, restore, snapshot, written_since
from tests.schedules.network import Network
from tests.schedules.shared import EVENTS, Protocol, Shared
from tests.schedules.sites import site_hashes
from tests.schedules.story import Fault, FaultProfile, Story
from tests.schedules.virtual_loop import Process, Stuck, VirtualLoop

__all__ = ["Stage"]

START_SECONDS = 1_700_000_000.0
CALM_SECONDS = 30.0
"""After the last record was written, the network is good."""

MOST_SECONDS = 3600.0
"""Of virtual time; then a run that is not quiet yet will never be."""

LOOK_SECONDS = 5.0
"""Between two looks whether it is."""


@dataclass
class _Seat:
    """A daemon's place, in which one life follows the other.

    Attributes:
        number: of the daemon.
        ahead_seconds: how wrongly it knows the time of the store.
        faults: of the daemon, the next one last.
        calls: made so far.
        lives: begun so far.
        process: of the present life.
        stop: set to let that life finish and end.
    """

    number: int
    ahead_seconds: float
    faults: list[Fault]
    calls: int = 0
    lives: int = 0
    process: Process | None = None
    stop: asyncio.Event | None = None


class Stage:
    """Where a story is lived.

    Args:
        dice: decide whatever the story leaves open.
        fault_profile: what the story was drawn from.
        story: what happens.
        protocol: how daemons are put together.
        on_line: called with every call and every fault, a line each.

    Attributes:
        loop: of all processes.
        shared: what outlives every daemon.
        deaths: what lives ended with that should not end any.
        written_since_loss: what was decided in an index that was lost.
        is_recovered: whether the operator has looked after a loss.
    """

    def __init__(
        self,
        dice: random.Random,
        fault_profile: FaultProfile,
        story: Story,
        protocol: Protocol,
        on_line: Callable[[str], None] | None,
    ) -> None:
        self.loop = VirtualLoop(dice, START_SECONDS)
        self._on_line = on_line
        self._dice = dice
        self._story = story
        self._is_over = False
        self._network = Network(self.loop, dice, fault_profile.weather, self._inject_fault, self._report)
        broker = Broker(story.partitions, self.loop.time, dice)
        self.shared = Shared(
            broker, self._network, self.loop.time, START_SECONDS, fault_profile, story, protocol
        )
        self.deaths: list[BaseException] = []
        self.written_since_loss: list[str] = []
        self.is_recovered = False
        self._copy: object = None
        self._is_index_lost = False
        self._paused: list[Process] = []
        self._seats = [self._seat(number) for number in range(fault_profile.daemons)]

    @property
    def seconds(self) -> float:
        """Since the beginning."""
        return self.loop.time() - START_SECONDS

    async def play(self) -> None:
        """Live the story to its end.

        Raises:
            Stuck: it does not come to one.
        """
        trouble = self._story.frame_trouble
        for seat in self._seats:
            late_seconds = trouble.start_seconds.get(seat.number, 0.0)
            self.loop.call_later(late_seconds + self._dice.uniform(0, 4), self._begin, seat)
        sites, frames = site_hashes(), self.shared.stores.frames
        for fault in trouble.faults:
            self.loop.call_at(START_SECONDS + fault.at_seconds, frames.inject, fault, sites[fault.site])
            self.loop.call_at(START_SECONDS + fault.at_seconds, self._report, fault)
        if self._story.loss is not None:
            self._expect(self._story.loss)
        for at_seconds, *record in self._story.writes:
            self.loop.call_at(START_SECONDS + at_seconds, self.shared.broker.append, *record)
        await asyncio.sleep(self._story.writes[-1].at_seconds + CALM_SECONDS)
        self._network.calm()
        await self._until(self._is_done)
        self._is_over = True
        for seat in self._seats:
            assert seat.stop is not None
            seat.stop.set()
        await self._until(lambda: not any(seat.process for seat in self._seats))

    def _expect(self, loss: Loss) -> None:
        """Let it happen, and the operator come."""
        stores, at = self.shared.stores, START_SECONDS + loss.at_seconds
        for second in range(int(loss.at_seconds) + 1):
            self.loop.call_at(START_SECONDS + second, stores.records.remember)
        if loss.kind == "recent":
            self.loop.call_at(at, self._lose_at_events, loss, len(self.shared.broker.topics[EVENTS]))
            return
        self.loop.call_at(max(START_SECONDS, at - loss.lag_seconds), self._copy_clusters)
        self.loop.call_at(at, self._lose, loss)
        if loss.kind != "records":
            self.loop.call_at(at + loss.operator_seconds, self._look_after, loss)

    def _lose_at_events(self, loss: Loss, sent_count: int) -> None:
        """As soon as further events are sent, lose what was decided shortly before, and some daemons."""
        if self._is_over:
            return
        if len(self.shared.broker.topics[EVENTS]) > sent_count and self._copy is not None:
            self._lose(loss)
            for seat in self._seats:
                if seat.process is not None and self._dice.random() < 0.5:
                    self._end(seat, pause_seconds=self._dice.uniform(0, 2))
            self.loop.call_later(loss.operator_seconds, self._look_after, loss)
            return
        sent_count = len(self.shared.broker.topics[EVENTS])
        if self._dice.random() < 0.02:
            self._copy_clusters()
        self.loop.call_later(0.05, self._lose_at_events, loss, sent_count)

    def _copy_clusters(self) -> None:
        self._copy = snapshot(self.shared.stores.clusters)

    def _lose(self, loss: Loss) -> None:
        if self._is_over:
            return
        self._report(loss)
        stores = self.shared.stores
        if loss.kind == "records":
            stores.records.go_back(loss.lag_seconds, self._dice)
        elif loss.kind == "flushed":
            flush(stores.records, stores.tables, stores.clusters)
        elif loss.kind in {"older", "recent"}:
            restore(stores.clusters, self._copy)
        self._is_index_lost = loss.kind in {"flushed", "older", "recent"}

    def _look_after(self, loss: Loss) -> None:
        """Stop all daemons, and have everything read again: into an index made anew, or as another input."""
        if self._is_over:
            return
        self._report("everything is read again")
        if loss.kind == "flushed":
            self.written_since_loss += written_since(self.shared.stores.clusters)
        if loss.kind == "epoch":
            self.shared.broker.read_again(epoch=1)
        else:
            self.shared.make_index(2)
            self.shared.broker.read_again()
        self._is_index_lost = False
        self.is_recovered = True
        for seat in self._seats:
            if seat.process is not None and seat.process.is_stopped and loss.kind == "epoch":
                self._forget_paused(seat)
            elif seat.process is not None:
                self._end(seat, pause_seconds=1.0)

    def _forget_paused(self, seat: _Seat) -> None:
        """Begin the next life beside a paused process, which will go on in the former epoch."""
        assert seat.process is not None
        self._paused.append(seat.process)
        seat.process = None
        self.loop.call_later(1.0, self._begin, seat, context=self.loop.world_context)

    async def _until(self, is_so: Callable[[], bool]) -> None:
        while not is_so():
            await asyncio.sleep(LOOK_SECONDS)
            if self.seconds > MOST_SECONDS:
                raise Stuck

    def _is_done(self) -> bool:
        """Return whether everything is consumed, and no index that was lost waits for the operator."""
        is_all_up = all(seat.process and not seat.process.is_stopped for seat in self._seats)
        return is_all_up and self.shared.broker.is_consumed and not self._is_index_lost and not self._paused

    def _seat(self, number: int) -> _Seat:
        faults = [fault for fault in self._story.faults if fault.daemon == number]
        return _Seat(number, self._dice.uniform(-2, 2), sorted(faults, key=lambda fault: -fault.call))

    def _begin(self, seat: _Seat) -> None:
        """A new life."""
        if not self._is_over:
            seat.lives += 1
            seat.stop = asyncio.Event()
            name = f"{seat.number}.{seat.lives}"
            seat.process = self.loop.start(name, self._live(name, seat, seat.stop))

    async def _live(self, name: str, seat: _Seat, stop: asyncio.Event) -> None:
        try:
            is_stale = seat.number in self._story.frame_trouble.stale
            await live(name, self.shared, stop, self._clocks(seat), is_stale=is_stale)
        except BaseExceptionGroup as ended:
            refusals: tuple[type[Exception], ...] = (DependencyLost,)
            if self._is_index_lost:
                refusals += (ConfigError,)
            elif self.loop.owner() in self._paused:
                refusals += (EpochEnded,)
            _, unexpected = ended.split(refusals)
            self.deaths += unexpected.exceptions if unexpected else ()
        if self.loop.owner() in self._paused:
            self._paused.remove(self.loop.owner())
            self.loop.kill(self.loop.owner())
        else:
            self._end(seat, pause_seconds=1.0)

    def _clocks(self, seat: _Seat) -> Clocks:
        jumps = [jump for jump in self._story.clock_jumps if jump.daemon == seat.number]
        return Clocks(
            store=lambda: self.loop.time() + seat.ahead_seconds,
            host=host_clock(self.loop.time, START_SECONDS, jumps),
        )

    def _end(self, seat: _Seat, pause_seconds: float) -> None:
        """A life is over, and the supervisor begins the next one after a while."""
        assert seat.process is not None
        self.loop.kill(seat.process)
        seat.process = None
        self.loop.call_later(pause_seconds, self._begin, seat, context=self.loop.world_context)

    async def _inject_fault(self) -> None:
        """Inject the fault of the calling process, if this is its call."""
        owner = self.loop.owner()
        seat = next((seat for seat in self._seats if seat.process is owner), None)
        if seat is None or self._is_over:
            return
        seat.calls += 1
        if not seat.faults or seat.faults[-1].call >= seat.calls:
            return
        fault = seat.faults.pop()
        if fault.is_sent:
            self.loop.call_soon(self._strike, seat, owner, fault, context=self.loop.world_context)
        else:
            self._strike(seat, owner, fault)
            await asyncio.sleep(0)

    def _strike(self, seat: _Seat, process: Process, fault: Fault) -> None:
        if process.is_dead or process.is_stopped:
            return
        self._report(fault)
        if fault.kind == "kill":
            self._end(seat, fault.seconds)
        elif fault.kind == "leave":
            assert seat.stop is not None
            seat.stop.set()
        else:
            process.is_stopped = True
            self.loop.call_later(fault.seconds, _resume, process, context=self.loop.world_context)

    def _report(self, *words: object) -> None:
        if self._on_line is not None:
            self._on_line(f"{self.seconds:7.2f} {' '.join(map(str, words))}")


def _resume(process: Process) -> None:
    process.is_stopped = False
