"""A survey that fails: who hears of it, and when the next one is made."""

import asyncio
import logging

import pytest
from neardup_daemon.query_api.survey import Survey, Surveys
from neardup_daemon.settings.settings import Settings

from neardup_stream.errors import CorruptData, StoreUnavailable
from neardup_stream.stores.cluster_store import WalkedClusters
from neardup_stream.stores.memory.clusters import MemoryClusters
from tests.pipelines import Pipeline

SETTINGS = Settings()
PERIOD_SECONDS = SETTINGS.api.survey_seconds


class Walked(MemoryClusters):
    """Clusters whose walk ends with an error while a test wants it."""

    def __init__(self) -> None:
        super().__init__()
        self.error: Exception | None = None
        self.walk_count = 0

    async def walk(self, slot: int) -> WalkedClusters:
        self.walk_count += slot == 0
        if self.error is not None:
            raise self.error
        return await super().walk(slot)


class Clock:
    """Seconds that pass when a test wants it."""

    def __init__(self) -> None:
        self.now_seconds = 0.0

    def __call__(self) -> float:
        return self.now_seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr("neardup_daemon.query_api.shared_reading.monotonic", clock)
    return clock


@pytest.fixture
def store() -> Walked:
    return Walked()


@pytest.fixture
def surveys(store: Walked) -> Surveys:
    pipeline = Pipeline(clusters=store)
    return Surveys(pipeline.decider(), pipeline.records, SETTINGS)


async def ask_later(surveys: Surveys, clock: Clock, seconds: float) -> Survey:
    """Ask after so many seconds, and let the survey that this begins end."""
    clock.now_seconds += seconds
    answer = await surveys.latest()
    begun = asyncio.all_tasks() - {asyncio.current_task()}
    if begun:
        await asyncio.wait(begun)
    await asyncio.sleep(0)  # for what is called when they end
    return answer


async def test_one_that_fails_is_logged_and_made_again_when_the_next_one_is_due(
    surveys: Surveys, store: Walked, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    first = await surveys.latest()
    store.error = StoreUnavailable("Redis is unavailable", "timeout")

    with caplog.at_level(logging.WARNING):
        answers = [await ask_later(surveys, clock, seconds) for seconds in (PERIOD_SECONDS, 1, 1)]

    assert answers == [first] * 3
    assert store.walk_count == 2
    assert [record.message for record in caplog.records] == ["survey_failed"]

    store.error = None
    await ask_later(surveys, clock, PERIOD_SECONDS)

    assert store.walk_count == 3
    assert await surveys.latest() is not first


@pytest.mark.parametrize(
    ("error", "level", "is_bug"),
    [
        (StoreUnavailable("Redis is unavailable", "timeout"), logging.WARNING, False),
        (CorruptData("a cell is not ours"), logging.ERROR, False),
        (ZeroDivisionError(), logging.ERROR, True),
    ],
    ids=["unavailable", "damaged", "bug"],
)
async def test_why_one_fails_decides_the_level_and_a_bug_is_logged_with_its_traceback(
    surveys: Surveys,
    store: Walked,
    clock: Clock,
    caplog: pytest.LogCaptureFixture,
    *,
    error: Exception,
    level: int,
    is_bug: bool,
) -> None:
    await surveys.latest()
    store.error = error

    with caplog.at_level(logging.WARNING):
        await ask_later(surveys, clock, PERIOD_SECONDS)

    (record,) = caplog.records
    assert (record.levelno, record.exc_info is not None) == (level, is_bug)


async def test_while_there_is_none_each_request_makes_one_and_hears_why_it_fails(
    surveys: Surveys, store: Walked, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    store.error = StoreUnavailable("Redis is unavailable", "timeout")
    with caplog.at_level(logging.WARNING):
        for _ in range(2):
            with pytest.raises(StoreUnavailable):
                await ask_later(surveys, clock, 0)

    assert caplog.records == []  # who asked logs the error
    store.error = None

    assert (await surveys.latest()).is_complete
