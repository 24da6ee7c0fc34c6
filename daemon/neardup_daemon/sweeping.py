"""Run retention beside the daemon: its share of the rounds through all page records."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from math import ceil
from time import time
from typing import Final, Protocol

from neardup_daemon.clocks import MOST_SECONDS_APART, StoreClock
from neardup_daemon.logs import log_event
from neardup_daemon.settings.retention import Retention
from neardup_daemon.settings.settings import Settings
from neardup_daemon.wiring import Stores
from neardup_stream.pipeline.reading_gate import ReadingGate
from neardup_stream.pipeline.retention import RetentionConfig, Sweep, Sweeper, Swept
from neardup_stream.pipeline.retries import Retries
from neardup_stream.pipeline.sweep_pace import SweepPace, sweep_pace
from neardup_stream.stores.sweep_rounds import Claim, SweepRounds

__all__ = [
    "SweepMeters",
    "Sweeping",
    "build_sweeper",
    "claim_limit",
    "is_trusted",
    "retention_config",
    "sweeping",
]

_logger = logging.getLogger(__name__)

_CLAIMED_SLOTS: Final = 1024
"""Slots of one pass: at most some 64,000 records, which wait for the next round if the daemon dies."""

_FEWEST_CLAIMED_SLOTS: Final = 128
_CLAIMS_A_ROUND: Final = 32
"""So that several sweeps share the work of a round where it is short."""

_LONGEST_PAUSE_SECONDS: Final = 10.0
_PAUSES_A_ROUND: Final = 20
"""So often is looked for slots that are due; on a small index many are due then."""


class SweepMeters(Protocol):
    """Receives what a pass did."""

    def swept(self, action: Sweep, count: int) -> None:
        """Count the records that met this."""

    def sweep_pace(self, round_seconds: float, overdue_seconds: float) -> None:
        """Note how long a round takes at the pace of this pass, and by how much its latest page was late."""

    def sweep_lag(self, lag_seconds: float, in_flight: int) -> None:
        """Report how far the sweeps are behind their schedule, and how many are in flight."""

    def clock_offset(self, seconds: float) -> None:
        """Note how far this host's clock is ahead of Redis."""


def build_sweeper(settings: Settings, stores: Stores) -> Sweeper:
    """Expires pages and drops stubs, by the settings."""
    pages = stores.pages
    return Sweeper(
        records=pages.records,
        index=pages.index,
        clusters=pages.clusters,
        config=retention_config(settings.retention),
    )


def retention_config(retention: Retention) -> RetentionConfig:
    """Return the same for the sweeper: records have whole seconds, so nothing expires too early."""
    return RetentionConfig(
        page_seconds=ceil(retention.seconds) or None, stub_seconds=ceil(retention.stub_seconds)
    )


@asynccontextmanager
async def sweeping(
    settings: Settings, stores: Stores, retries: Retries, meters: SweepMeters, gate: ReadingGate
) -> AsyncIterator[None]:
    """Sweep while the block runs, and pause the gate while the sweeps are late.

    Raises:
        ExceptionGroup: holding what ended a sweep (DependencyLost, CorruptData, ConfigError), or the block.
    """
    async with asyncio.TaskGroup() as group:
        scheduled = Sweeping(
            rounds=stores.sweep_rounds,
            slot_count=stores.pages.records.slot_count,
            sweeper=build_sweeper(settings, stores),
            config=retention_config(settings.retention),
            clock=stores.clock,
            retries=retries,
            meters=meters,
            gate=gate,
        )
        running = group.create_task(scheduled.run())
        try:
            yield
        finally:
            running.cancel()


class Sweeping:
    """Claims the slots that are due and sweeps them, several claims at once where the schedule asks for it.

    Args:
        rounds: how far the sweep has come, for all daemons.
        slot_count: of the page records.
        sweeper: sweeps the claims.
        config: how long things are kept.
        clock: set by every claim.
        retries: repeats steps while Redis is unavailable.
        meters: counts claims and passes.
        gate: paused while pages would be kept for too long otherwise.
    """

    def __init__(
        self,
        *,
        rounds: SweepRounds,
        slot_count: int,
        sweeper: Sweeper,
        config: RetentionConfig,
        clock: StoreClock,
        retries: Retries,
        meters: SweepMeters,
        gate: ReadingGate,
    ) -> None:
        self._rounds = rounds
        self._slot_count = slot_count
        self._sweeper = sweeper
        self._round_seconds = config.round_seconds
        self._expires = config.page_seconds is not None
        self._clock = clock
        self._retries = retries
        self._meters = meters
        self._gate = gate
        self._in_flight: dict[asyncio.Task[None], float] = {}
        self._unclaimed_since = clock()

    async def run(self) -> None:
        """Sweep until cancelled.

        Raises:
            ExceptionGroup: holding what ended it (DependencyLost, CorruptData, ConfigError).
        """
        idle_seconds = min(self._round_seconds / _PAUSES_A_ROUND, _LONGEST_PAUSE_SECONDS)
        claim_slots = partial(
            self._rounds.claim,
            claim_limit(self._slot_count),
            self._slot_count,
            self._round_seconds,
        )
        async with asyncio.TaskGroup() as sweeps:
            while True:
                claim = await self._retries.retry(claim_slots)
                if not is_trusted(claim, self._meters):
                    self._gate.resume()
                    await asyncio.sleep(idle_seconds)
                    continue
                self._clock.set(claim.now_seconds)
                self._unclaimed_since = claim.now_seconds - claim.behind_seconds
                if claim.slot_count:
                    self._begin(sweeps, claim)
                    self._unclaimed_since += claim.slot_count / self._slot_count * self._round_seconds
                pace = self._keep_pace()
                if not claim.slot_count:
                    await self._wait(idle_seconds)
                    pace = self._keep_pace()
                while len(self._in_flight) >= pace.sweep_count:
                    await self._wait(idle_seconds)
                    pace = self._keep_pace()

    def _begin(self, sweeps: asyncio.TaskGroup, claim: Claim) -> None:
        sweep = sweeps.create_task(self._sweep(claim))
        self._in_flight[sweep] = claim.now_seconds - claim.behind_seconds
        sweep.add_done_callback(self._in_flight.pop)

    async def _sweep(self, claim: Claim) -> None:
        now_seconds, swept = int(claim.now_seconds), Swept()
        await self._retries.retry(
            partial(self._sweeper.sweep, now_seconds, claim.first_slot, claim.slot_count, swept)
        )
        for action, count in swept.counts.items():
            self._meters.swept(action, count)
        self._meters.sweep_pace(self._round_seconds + claim.behind_seconds, swept.oldest_overdue_seconds)

    async def _wait(self, longest_seconds: float) -> None:
        """Wait until a sweep ends, if one is in flight."""
        if self._in_flight:
            await asyncio.wait(self._in_flight, timeout=longest_seconds, return_when=asyncio.FIRST_COMPLETED)
        else:
            await asyncio.sleep(longest_seconds)

    def _keep_pace(self) -> SweepPace:
        """Return the pace that the lag asks for, and pause or resume reading."""
        oldest_due = min(self._in_flight.values(), default=self._unclaimed_since)
        lag_seconds = max(0.0, self._clock() - min(oldest_due, self._unclaimed_since))
        self._meters.sweep_lag(lag_seconds, len(self._in_flight))
        pace = sweep_pace(lag_seconds, self._round_seconds, was_paused=self._gate.is_paused)
        is_paused = pace.is_reading_paused and self._expires
        if is_paused != self._gate.is_paused:
            _log_reading(lag_seconds, self._round_seconds, is_paused=is_paused)
        if is_paused:
            self._gate.pause()
        else:
            self._gate.resume()
        return pace


def claim_limit(slot_count: int) -> int:
    """Return the most slots of one claim: a round through `slot_count` slots takes several claims."""
    return max(_FEWEST_CLAIMED_SLOTS, min(_CLAIMED_SLOTS, slot_count // _CLAIMS_A_ROUND))


def _log_reading(lag_seconds: float, round_seconds: float, *, is_paused: bool) -> None:
    log_event(
        _logger,
        "reading_paused" if is_paused else "reading_resumed",
        level=logging.WARNING if is_paused else logging.INFO,
        reason="retention is behind its schedule" if is_paused else "retention keeps its schedule",
        sweep_lag_seconds=round(lag_seconds, 1),
        sweep_round_seconds=round(round_seconds, 1),
    )


def is_trusted(claim: Claim, meters: SweepMeters) -> bool:
    """Return whether two clocks agree on the time: else pages that were just seen might expire."""
    offset_seconds = time() - claim.now_seconds
    meters.clock_offset(offset_seconds)
    if abs(offset_seconds) <= MOST_SECONDS_APART:
        return True
    log_event(
        _logger,
        "sweep_refused",
        level=logging.WARNING,
        reason="this host and Redis disagree about the time; set their clocks (NTP)",
        ahead_seconds=round(offset_seconds),
    )
    return False
