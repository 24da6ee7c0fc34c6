"""Retries a step while a dependency is unavailable, with growing pauses, until a deadline."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from typing import TypeVar

from neardup_stream.cancellation import watch_cancellation
from neardup_stream.errors import ConfigError, DependencyLost, StoreUnavailable, Unavailable
from neardup_stream.meters import Dependency, PipelineMeters

__all__ = ["Retries", "RetryPolicy", "back_off_seconds"]

T = TypeVar("T")

_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How long a dependency may stay unavailable.

    Attributes:
        retry_deadline_seconds: after this long without progress the process stops, for its supervisor to
            decide. It counts from the first failure, since a first attempt may be long and make progress, and
            no attempt is cut short.
        first_pause_seconds: before the first repeat; doubled each time.
        longest_pause_seconds: where the doubling ends.
    """

    retry_deadline_seconds: float = 300.0
    first_pause_seconds: float = 0.05
    longest_pause_seconds: float = 2.0

    def __post_init__(self) -> None:
        """Refuse a schedule that cannot run.

        Raises:
            ConfigError: a negative wait, or a first pause longer than the longest.
        """
        if self.retry_deadline_seconds < 0:
            raise ConfigError(
                f"pipeline.retry_deadline_seconds is {self.retry_deadline_seconds}, must not be negative"
            )
        if not 0 < self.first_pause_seconds <= self.longest_pause_seconds:
            raise ConfigError(
                f"first_pause_seconds is {self.first_pause_seconds},"
                f" must be above 0 and at most longest_pause_seconds ({self.longest_pause_seconds})"
            )


def back_off_seconds(retry_policy: RetryPolicy) -> Iterator[float]:
    """Yield the pauses between attempts, without end.

    >>> from itertools import islice
    >>> list(islice(back_off_seconds(RetryPolicy(60, 1, 5)), 5))
    [1, 2, 4, 5, 5]
    """
    pause = retry_policy.first_pause_seconds
    while True:
        yield pause
        pause = min(2 * pause, retry_policy.longest_pause_seconds)


@dataclass(eq=False)
class _Wait:
    """A step that is repeated, and why it failed last."""

    error: Unavailable
    failure: tuple[Dependency, str] | None = None


class Retries:
    """Runs steps until they succeed; of those that wait for the same reason, one is logged.

    Args:
        retry_policy: the pauses, and the deadline.
        meters: where each retry is counted.
        on_unavailable: called with the error when a dependency becomes unavailable or stays so for another
            reason; when a step succeeds, with the error of another one that still waits, None if none does.
    """

    def __init__(
        self,
        retry_policy: RetryPolicy,
        meters: PipelineMeters,
        on_unavailable: Callable[[Unavailable | None], None],
    ) -> None:
        self._retry_policy = retry_policy
        self._meters = meters
        self._on_unavailable = on_unavailable
        self._waits: list[_Wait] = []

    @property
    def latest_error(self) -> Unavailable | None:
        """Return why the step failed that began to be repeated last; None while none is."""
        return self._waits[-1].error if self._waits else None

    async def retry(self, step: Callable[[], Awaitable[T]]) -> T:
        """Await `step()`, again and again while it raises Unavailable; it must be safe to repeat.

        Raises:
            DependencyLost: no attempt succeeded within the retry deadline.
        """
        try:
            return await _uncancelled(step)
        except Unavailable as error:
            first_error = error
        wait = _Wait(first_error)
        self._waits.append(wait)
        try:
            self._report(wait, first_error)
            result = await self._retry_until_deadline(wait, step, first_error)
        finally:
            self._waits.remove(wait)
        if not self._is_waited_for(wait.failure):
            _logger.info("dependency_back")
        self._on_unavailable(self.latest_error)
        return result

    async def _retry_until_deadline(
        self, wait: _Wait, step: Callable[[], Awaitable[T]], latest: Unavailable
    ) -> T:
        now_seconds = asyncio.get_running_loop().time
        deadline = now_seconds() + self._retry_policy.retry_deadline_seconds
        for pause in back_off_seconds(self._retry_policy):
            if now_seconds() + pause > deadline:
                break
            self._meters.retry(_dependency(latest))
            await asyncio.sleep(pause)
            try:
                return await _uncancelled(step)
            except Unavailable as error:
                self._report(wait, error)
                latest = error
        raise DependencyLost(
            f"no progress for {self._retry_policy.retry_deadline_seconds:g} s"
            f" (pipeline.retry_deadline_seconds): {latest}"
        ) from latest

    def _is_waited_for(self, failure: tuple[Dependency, str] | None) -> bool:
        return any(each.failure == failure for each in self._waits)

    def _report(self, wait: _Wait, error: Unavailable) -> None:
        """Count every failure; publish it if its reason is new to the step, log it if it is new to all."""
        wait.error = error
        failure = dependency, reason = _dependency(error), error.reason
        self._meters.dependency_error(dependency, reason)
        if failure == wait.failure:
            return
        is_logged = self._is_waited_for(failure)
        wait.failure = failure
        if not is_logged:
            fields = {
                "dependency": dependency,
                "reason": reason,
                "retry_deadline_seconds": self._retry_policy.retry_deadline_seconds,
                "error": str(error),
            }
            _logger.warning("dependency_unavailable", extra={"fields": fields})
        self._on_unavailable(error)


async def _uncancelled(step: Callable[[], Awaitable[T]]) -> T:
    """Return the step's result, unless this task was cancelled meanwhile.

    Before Python 3.12 `asyncio.wait_for`, which clients use inside, may swallow a cancellation that arrives
    as its inner work ends; the task would then continue although it was cancelled.
    """
    is_cancelled = watch_cancellation()
    try:
        result = await step()
    except Unavailable:
        if is_cancelled():
            raise asyncio.CancelledError from None
        raise
    if is_cancelled():
        raise asyncio.CancelledError
    return result


def _dependency(error: Unavailable) -> Dependency:
    return "store" if isinstance(error, StoreUnavailable) else "stream"
