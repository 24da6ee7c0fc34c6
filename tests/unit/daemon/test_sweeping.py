import asyncio
import logging
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from time import time

import pytest
from msgspec.structs import replace
from neardup_daemon.clocks import StoreClock
from neardup_daemon.settings.retention import Retention
from neardup_daemon.sweeping import Sweeping, claim_limit, is_trusted, retention_config

from neardup_stream.clusters.unclustered import Unclustered
from neardup_stream.errors import StoreUnavailable
from neardup_stream.indexes.layout import IndexConfig, IndexLayout
from neardup_stream.indexes.permuted import PermutedIndex
from neardup_stream.message import Partition, Position
from neardup_stream.meters import NoMeters
from neardup_stream.page import Handle, PageId
from neardup_stream.pipeline.reading_gate import ReadingGate
from neardup_stream.pipeline.retention import RetentionConfig, Sweep, Sweeper
from neardup_stream.pipeline.retries import Retries, RetryPolicy
from neardup_stream.pipeline.sweep_pace import MOST_SWEEPS
from neardup_stream.stores.memory.clusters import MemoryClusters
from neardup_stream.stores.memory.records import MemoryRecords
from neardup_stream.stores.page_record import PageRecord
from neardup_stream.stores.protocol import RecordChange, WalkedRecords
from neardup_stream.stores.sweep_rounds import Claim
from tests.doubles.sweep_rounds import MemorySweepRounds
from tests.doubles.tables import MemoryTables


@pytest.mark.parametrize(
    ("seconds", "page_seconds"),
    [(0.0, None), (0.1, 1), (1.0, 1), (1.1, 2)],
    ids=["keeps-all", "less-than-a-second", "whole", "more"],
)
def test_only_nothing_means_for_ever(seconds: float, page_seconds: int | None) -> None:
    config = retention_config(Retention(seconds=seconds, stub_seconds=0.2))

    assert (config.page_seconds, config.stub_seconds) == (page_seconds, 1)


ROUND_SECONDS = 60.0
PAGE_SECONDS = 600
"""Of which a round takes a tenth."""

AHEAD_SECONDS = 20.0
OVERDUE_SECONDS = 90

MOST_JITTER_SECONDS = 100
"""Far below the round of the sweeps here."""


class Noted:
    """Records every call."""

    offset_seconds = 0.0

    def __init__(self) -> None:
        self.counts: Counter[Sweep] = Counter()
        self.rounds: list[float] = []
        self.overdue_seconds: list[float] = []
        self.lags: dict[int, float] = {}
        self.is_swept = asyncio.Event()
        self.most_in_flight = 0
        self.is_full = asyncio.Event()
        self.is_idle = asyncio.Event()

    def swept(self, action: Sweep, count: int) -> None:
        self.counts[action] += count

    def sweep_pace(self, round_seconds: float, overdue_seconds: float) -> None:
        self.rounds.append(round_seconds)
        self.overdue_seconds.append(overdue_seconds)
        self.is_swept.set()

    def sweep_lag(self, lag_seconds: float, in_flight: int) -> None:
        self.lags[in_flight] = lag_seconds
        self.most_in_flight = max(self.most_in_flight, in_flight)
        if in_flight == MOST_SWEEPS:
            self.is_full.set()
        if lag_seconds < MOST_JITTER_SECONDS and not in_flight:
            self.is_idle.set()

    def clock_offset(self, seconds: float) -> None:
        self.offset_seconds = seconds


@pytest.mark.parametrize(("ahead", "trusted"), [(0, True), (55, True), (3000, False), (-3000, False)])
def test_a_pass_is_refused_while_this_host_and_redis_disagree_about_the_time(
    ahead: float, *, trusted: bool, caplog: pytest.LogCaptureFixture
) -> None:
    noted = Noted()

    assert is_trusted(Claim(0, 1, time() - ahead, 0.0), noted) == trusted
    assert abs(noted.offset_seconds - ahead) < 2
    assert [record.message for record in caplog.records] == ([] if trusted else ["sweep_refused"])


class SlowRecords(MemoryRecords):
    """No walk ends until `may_go_on` is set."""

    def __init__(self) -> None:
        super().__init__(slot_bits=11)
        self.may_go_on = asyncio.Event()
        self.walked: list[int] = []

    async def walk(self, slot: int, slot_limit: int) -> WalkedRecords:
        self.walked.append(slot)
        await self.may_go_on.wait()
        return await super().walk(slot, slot_limit)


class FrailRecords(MemoryRecords):
    """The second walk fails."""

    def __init__(self) -> None:
        super().__init__(slot_bits=11)
        self.walk_count = 0

    async def walk(self, slot: int, slot_limit: int) -> WalkedRecords:
        self.walk_count += 1
        if self.walk_count == 2:
            raise StoreUnavailable("in between")
        return await super().walk(slot, slot_limit)


class GivenRounds:
    """Gives these claims, at a clock that is ahead of ours; then none comes any more.

    Args:
        claims: number of slots, and for how long they have been due.
    """

    def __init__(self, *claims: tuple[int, float]) -> None:
        self._claims = list(claims)
        self.are_all_given = asyncio.Event()

    async def claim(self, slot_limit: int, slot_count: int, round_seconds: float) -> Claim:
        if not self._claims:
            self.are_all_given.set()
            await asyncio.Event().wait()
        count, behind_seconds = self._claims.pop(0)
        return Claim(0, count, await self.now_seconds(), behind_seconds)

    async def now_seconds(self) -> float:
        return time() + AHEAD_SECONDS


class DistrustedRounds(GivenRounds):
    """Gives its claims at a clock that is far behind ours."""

    async def now_seconds(self) -> float:
        return time() - 3000


@asynccontextmanager
async def swept(
    records: MemoryRecords,
    noted: Noted,
    gate: ReadingGate,
    page_seconds: int | None,
    rounds: GivenRounds | None = None,
) -> AsyncIterator[None]:
    """A round that is due as a whole, and so long that nothing else is due in this test; or these."""
    config = RetentionConfig(page_seconds, stub_seconds=10**9)
    clusters = Unclustered(MemoryClusters(time))

    index = PermutedIndex(MemoryTables(), IndexLayout(IndexConfig()))
    scheduled = Sweeping(
        rounds=rounds or MemorySweepRounds(time),
        slot_count=records.slot_count,
        sweeper=Sweeper(records=records, index=index, clusters=clusters, config=config),
        config=config,
        clock=StoreClock(),
        retries=Retries(RetryPolicy(), NoMeters(), lambda _error: None),
        meters=noted,
        gate=gate,
    )
    running = asyncio.create_task(scheduled.run())
    try:
        async with asyncio.timeout(60):
            yield
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


async def test_sweeps_that_are_late_run_at_once_and_reading_waits_until_they_caught_up(
    caplog: pytest.LogCaptureFixture,
) -> None:
    records, noted, gate = SlowRecords(), Noted(), ReadingGate()
    caplog.set_level(logging.INFO)
    async with swept(records, noted, gate, page_seconds=10**9):
        await noted.is_full.wait()
        was_paused = gate.is_paused
        records.may_go_on.set()
        await noted.is_idle.wait()

    assert was_paused
    assert not gate.is_paused
    assert noted.most_in_flight == MOST_SWEEPS
    assert sorted(records.walked) == list(range(records.slot_count))
    logged = [(record.levelname, record.message) for record in caplog.records]
    assert logged == [("WARNING", "reading_paused"), ("INFO", "reading_resumed")]


async def test_the_lag_is_that_of_the_slots_that_were_due_first_by_the_clock_of_the_store() -> None:
    noted, rounds = Noted(), GivenRounds((10, ROUND_SECONDS / 2), (10, ROUND_SECONDS / 10))
    async with swept(SlowRecords(), noted, ReadingGate(), PAGE_SECONDS, rounds):
        await rounds.are_all_given.wait()

    assert noted.lags[2] >= ROUND_SECONDS / 2


async def test_while_no_slots_are_due_it_is_asked_again() -> None:
    noted, rounds = Noted(), GivenRounds(*[(0, 0.0)] * 3)
    async with swept(SlowRecords(), noted, ReadingGate(), 1, rounds):
        await rounds.are_all_given.wait()

    assert set(noted.lags) == {0}


async def test_a_round_takes_as_much_longer_as_its_slots_were_late() -> None:
    records, noted = SlowRecords(), Noted()
    records.may_go_on.set()
    async with swept(records, noted, ReadingGate(), PAGE_SECONDS, GivenRounds((10, 15.0))):
        await noted.is_swept.wait()

    assert noted.rounds == [ROUND_SECONDS + 15.0]


async def test_what_a_sweep_did_before_it_failed_is_counted_once_it_is_repeated() -> None:
    records, noted = FrailRecords(), Noted()
    rounds = GivenRounds((2, 0.0))
    seen_seconds = int(await rounds.now_seconds()) - PAGE_SECONDS - OVERDUE_SECONDS
    page = PageRecord.first(
        page_id=PageId("page"),
        url="page",
        text_fingerprint=1,
        position=Position(Partition("pages", 0), 0),
        seen_seconds=seen_seconds,
        state="short",
    )
    decided = replace(page, rank=1).pack()
    await records.replace([RecordChange(Handle(0), None, decided)])

    async with swept(records, noted, ReadingGate(), PAGE_SECONDS, rounds):
        await noted.is_swept.wait()

    assert noted.counts == Counter(scanned=1, expired=1)
    assert noted.overdue_seconds[0] >= OVERDUE_SECONDS


async def test_reading_does_not_wait_for_stubs() -> None:
    records, noted, gate = SlowRecords(), Noted(), ReadingGate()
    async with swept(records, noted, gate, page_seconds=None):
        await noted.is_full.wait()

        assert not gate.is_paused


async def test_reading_continues_while_this_host_and_redis_disagree_about_the_time() -> None:
    noted, gate, rounds = Noted(), ReadingGate(), DistrustedRounds((10, 0.0))
    gate.pause()
    async with swept(SlowRecords(), noted, gate, 1, rounds):
        await rounds.are_all_given.wait()

    assert not gate.is_paused
    assert noted.lags == {}


@pytest.mark.parametrize(
    ("slot_count", "limit"), [(16, 128), (4096, 128), (8192, 256), (32_768, 1024), (10**6, 1024)]
)
def test_a_round_takes_several_claims_unless_it_is_small(slot_count: int, limit: int) -> None:
    assert claim_limit(slot_count) == limit
