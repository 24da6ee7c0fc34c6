import asyncio
import logging
from contextlib import suppress

import pytest

from neardup_stream.errors import (
    ConfigError,
    DependencyLost,
    StoreUnavailable,
    StreamUnavailable,
    Unavailable,
)
from neardup_stream.meters import Dependency, NoMeters
from neardup_stream.pipeline.retries import Retries, RetryPolicy

QUICK = RetryPolicy(retry_deadline_seconds=10, first_pause_seconds=1e-6, longest_pause_seconds=1e-6)


class CountedRetries(NoMeters):
    def __init__(self) -> None:
        self.retried: list[Dependency] = []
        self.errors: list[tuple[Dependency, str]] = []

    def retry(self, dependency: Dependency) -> None:
        self.retried.append(dependency)

    def dependency_error(self, dependency: Dependency, reason: str) -> None:
        self.errors.append((dependency, reason))


class Flaky:
    """Fails with each error in turn, then answers."""

    def __init__(self, *errors: Exception) -> None:
        self._errors = list(errors)

    async def step(self) -> str:
        if self._errors:
            raise self._errors.pop(0)
        return "done"


async def test_a_step_is_repeated_until_its_dependency_is_back() -> None:
    meters = CountedRetries()
    condition: list[Unavailable | None] = []
    gone, other = StoreUnavailable("gone"), StreamUnavailable("other")
    flaky = Flaky(gone, StoreUnavailable("still"), other)

    answer = await Retries(QUICK, meters, condition.append).retry(flaky.step)

    assert answer == "done"
    assert meters.retried == ["store", "store", "stream"]
    assert condition == [gone, other, None]


async def test_every_failure_is_counted_and_only_another_reason_is_news(
    caplog: pytest.LogCaptureFixture,
) -> None:
    meters = CountedRetries()
    condition: list[Unavailable | None] = []
    full, loading = StoreUnavailable("full", "out_of_memory"), StoreUnavailable("loading", "loading")
    flaky = Flaky(full, StoreUnavailable("full as before", "out_of_memory"), loading)

    with caplog.at_level(logging.WARNING):
        await Retries(QUICK, meters, condition.append).retry(flaky.step)

    assert meters.errors == [("store", "out_of_memory")] * 2 + [("store", "loading")]
    assert condition == [full, loading, None]
    assert [record.__dict__["fields"]["reason"] for record in caplog.records] == ["out_of_memory", "loading"]


async def test_the_first_failure_is_logged_at_once_with_the_dependency_and_the_deadline(
    caplog: pytest.LogCaptureFixture,
) -> None:
    policy = RetryPolicy(retry_deadline_seconds=0)

    with caplog.at_level(logging.WARNING), pytest.raises(DependencyLost):
        await Retries(policy, NoMeters(), lambda _error: None).retry(
            Flaky(StoreUnavailable("no server")).step
        )

    (record,) = caplog.records
    assert record.__dict__["fields"]["dependency"] == "store"
    assert record.__dict__["fields"]["retry_deadline_seconds"] == 0


async def test_steps_that_wait_for_the_same_reason_are_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    condition: list[Unavailable | None] = []
    retries = Retries(QUICK, NoMeters(), condition.append)
    full = StoreUnavailable("full", "out_of_memory")
    steps = [Flaky(*[full] * 3).step, Flaky(*[full] * 50).step, Flaky(StreamUnavailable("other"), full).step]

    with caplog.at_level(logging.INFO):
        await asyncio.gather(*map(retries.retry, steps))

    assert [record.getMessage() for record in caplog.records] == [
        "dependency_unavailable",
        "dependency_unavailable",
        "dependency_back",
    ]
    assert [record.__dict__["fields"]["dependency"] for record in caplog.records[:2]] == ["store", "stream"]
    assert condition[-1] is None


async def test_when_one_of_two_dependencies_is_back_the_other_is_the_reason() -> None:
    condition: list[Unavailable | None] = []
    retries = Retries(QUICK, NoMeters(), condition.append)
    kafka, redis = StreamUnavailable("no broker"), StoreUnavailable("no server")

    await asyncio.gather(*map(retries.retry, [Flaky(*[kafka] * 9).step, Flaky(*[redis] * 3).step]))

    assert condition == [kafka, redis, kafka, None]


async def test_a_step_that_succeeds_says_nothing() -> None:
    condition: list[Unavailable | None] = []

    await Retries(QUICK, NoMeters(), condition.append).retry(Flaky().step)

    assert condition == []


async def test_the_deadline_passes_with_the_setting_and_the_last_error_named() -> None:
    retry_policy = RetryPolicy(retry_deadline_seconds=0)
    flaky = Flaky(StoreUnavailable("connection refused"))

    with pytest.raises(DependencyLost, match=r"pipeline\.retry_deadline_seconds.*connection refused"):
        await Retries(retry_policy, NoMeters(), lambda _: None).retry(flaky.step)


async def test_other_errors_are_not_repeated() -> None:
    with pytest.raises(ConfigError):
        await Retries(QUICK, NoMeters(), lambda _: None).retry(Flaky(ConfigError("wrong")).step)


@pytest.mark.parametrize(
    ("name", "seconds"),
    [("retry_deadline_seconds", -1), ("first_pause_seconds", 0), ("first_pause_seconds", 9)],
)
def test_a_schedule_that_cannot_run_is_refused_by_the_name_of_what_is_wrong(
    name: str, seconds: float
) -> None:
    with pytest.raises(ConfigError, match=f"{name} is {seconds}"):
        RetryPolicy(**{name: seconds})


async def test_a_cancellation_that_a_step_swallows_still_ends_the_task() -> None:
    async def swallow() -> str:
        with suppress(asyncio.CancelledError):
            await asyncio.Event().wait()
        return "as if nothing had happened"

    task = asyncio.create_task(Retries(QUICK, NoMeters(), lambda _: None).retry(swallow))
    await asyncio.sleep(0)
    task.cancel()

    with pytest.raises(asyncio.CancelledError):
        await task


async def test_a_cancellation_that_ends_in_an_error_still_ends_the_task() -> None:
    async def swallow() -> str:
        with suppress(asyncio.CancelledError):
            await asyncio.Event().wait()
        raise StoreUnavailable("gone meanwhile")

    task = asyncio.create_task(Retries(QUICK, NoMeters(), lambda _: None).retry(swallow))
    await asyncio.sleep(0)
    task.cancel()

    with pytest.raises(asyncio.CancelledError):
        await task


@pytest.mark.parametrize("errors", [[], [StoreUnavailable("gone")]], ids=["at-once", "repeated"])
async def test_a_cancellation_that_was_caught_before_ends_no_step(errors: list[Exception]) -> None:
    async def cancelled_before() -> str:
        task = asyncio.current_task()
        assert task
        task.cancel()
        with suppress(asyncio.CancelledError):
            await asyncio.sleep(0)
        return await Retries(QUICK, NoMeters(), lambda _: None).retry(Flaky(*errors).step)

    assert await asyncio.create_task(cancelled_before()) == "done"


async def test_nothing_is_back_before_everything_is() -> None:
    condition: list[Unavailable | None] = []
    retries = Retries(QUICK, NoMeters(), condition.append)
    store_is_back = asyncio.Event()

    async def store() -> None:
        if not store_is_back.is_set():
            raise StoreUnavailable("gone")

    waiting = asyncio.create_task(retries.retry(store))
    await asyncio.sleep(0)
    await retries.retry(Flaky(StreamUnavailable("gone too")).step)

    assert None not in condition
    store_is_back.set()
    await waiting
    assert condition[-1] is None
