"""A survey that fails: who hears of it, and when the next one is made."""

import asyncio
import logging

import pytest
from neardup_daemon.query_api.survey import Survey, Surveys
from neardup_daemon.settings.settings import Settings

from neardup_stream.errors import StoreUnavailable
from neardup_stream.stores.cluster_store import WalkedClusters
from neardup_stream.stores.memory.clusters import MemoryClusters
from tests.pipelines import Pipeline

SETTINGS = Settings()
PERIOD_SECONDS = SETTINGS.api.survey_seconds


class Walked(MemoryClusters):
    """Clusters that cannot be walked while a test wants it."""

    def __init__(self) -> None:
        super().__init__()
        self.is_unavailable = False
        self.walk_count = 0

    async def walk(self, slot: int) -> WalkedClusters:
        self.walk_count += slot == 0
        if self.is_unavailable:
            raise StoreUnavailable("Redis is unavailable", "timeout")
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
    monkeypatch.setattr("neardup_daemon.query_api.survey.monotonic", clock)
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
    store.is_unavailable = True

    with caplog.at_level(logging.WARNING):
        answers = [await ask_later(surveys, clock, seconds) for seconds in (PERIOD_SECONDS, 1, 1)]

    assert answers == [first] * 3
    assert store.walk_count == 2
    assert [record.message for record in caplog.records] == ["survey_failed"]

    store.is_unavailable = False
    await ask_later(surveys, clock, PERIOD_SECONDS)

    assert store.walk_count == 3
    assert await surveys.latest() is not first


async def test_while_there_is_none_each_request_makes_one_and_hears_why_it_fails(
    surveys: Surveys, store: Walked, clock: Clock
) -> None:
    store.is_unavailable = True
    for _ in range(2):
        with pytest.raises(StoreUnavailable):
            await ask_later(surveys, clock, 0)

    store.is_unavailable = False

    assert (await surveys.latest()).is_complete
