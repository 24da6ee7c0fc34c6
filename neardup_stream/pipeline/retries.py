"""Retries a step while a dependency is unavailable, with growing pauses, until a deadline."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from typing import TypeVar

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
            decide.
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
        if self.retry_deadline_seconds < 0 or not 0 < self.first_pause_seconds <= self.longest_pause_seconds:
            raise ConfigError(
                f"pipeline.retry_deadline_seconds ({self.retry_deadline_seconds}) must not be negative"
            )


def back_off_seconds(retry_policy: RetryPolicy) -> Iterator[float]:
    """The pauses between tries, without end.

    >>> from itertools import islice
    >>> list(islice(back_off_seconds(RetryPolicy(60, 1, 5)), 5))
    [1, 2, 4, 5, 5]
    """
    pause = retry_policy.first_pause_seconds
    while True:
        yield pause
        pause = min(2 * pause, retry_policy.longest_pause_seconds)


class Retries:
    """Runs steps until they succeed.

    Args:
        patience: how long to go on.
        meters: told of each repeat.
        on_unavailable: called with the error when a dependency becomes unavailable or stays so for another
            reason, with None when no step waits any more.
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
        self._waiting_count = 0

    async def retry(self, step: Callable[[], Awaitable[T]]) -> T:
        """Await `step()`, again and again while it raises Unavailable; it must be safe to repeat.

        Raises:
            DependencyLost: patience ended.
        """
        try:
            return await _uncancelled(step)
        except Unavailable as error:
            away = error
        self._tell(away)
        self._waiting_count += 1
        try:
            result = await self._keep_trying(step, away)
        finally:
            self._waiting_count -= 1
        _logger.info("dependency_back")
        if not self._waiting_count:
            self._on_unavailable(None)
        return result

    async def _keep_trying(self, step: Callable[[], Awaitable[T]], away: Unavailable) -> T:
        now_seconds = asyncio.get_running_loop().time
        deadline = now_seconds() + self._retry_policy.retry_deadline_seconds
        for pause in back_off_seconds(self._retry_policy):
            if now_seconds() + pause > deadline:
                break
            self._meters.retry(_dependency(away))
            await asyncio.sleep(pause)
            try:
                return await _uncancelled(step)
            except Unavailable as error:
                self._tell(error, former=away)
                away = error
        raise DependencyLost(
            f"no progress for {self._retry_policy.retry_deadline_seconds:g} seconds"
            f" (pipeline.retry_deadline_seconds): {away}"
        ) from away

    def _tell(self, away: Unavailable, former: Unavailable | None = None) -> None:
        """Count every failure; log and show only what is news."""
        dependency = _dependency(away)
        self._meters.dependency_error(dependency, away.reason)
        if former is None or (_dependency(former), former.reason) != (dependency, away.reason):
            fields = {"dependency": dependency, "reason": away.reason, "error": str(away)}
            _logger.warning("dependency_unavailable", extra={"fields": fields})
            self._on_unavailable(away)


async def _uncancelled(step: Callable[[], Awaitable[T]]) -> T:
    """The step's result, unless this task was cancelled meanwhile.

    Before Python 3.12 `asyncio.wait_for`, which clients use inside, may swallow a cancellation that arrives
    as its inner work ends; the task would then go on as if nobody had asked it to stop.
    """
    task = asyncio.current_task()
    assert task is not None  # noqa: S101 - a coroutine runs in a task
    try:
        result = await step()
    except Unavailable:
        if task.cancelling():
            raise asyncio.CancelledError from None
        raise
    if task.cancelling():
        raise asyncio.CancelledError
    return result


def _dependency(away: Unavailable) -> Dependency:
    return "store" if isinstance(away, StoreUnavailable) else "stream"
