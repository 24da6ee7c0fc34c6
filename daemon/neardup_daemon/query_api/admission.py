"""Admits requests: so many at once, so many in a queue, and no more."""

import asyncio
from http import HTTPStatus
from typing import Protocol

from neardup_daemon.query_api.problems import RETRY_SOON, Refused

__all__ = ["Admission", "AdmissionMeters", "Place"]


class AdmissionMeters(Protocol):
    """What admission reports."""

    def requests(self, running: int, queued: int) -> None:
        """Set how many requests are worked on, and how many wait."""
        ...


class Place:
    """A request's place among the concurrent ones; released once, however often that is asked.

    Args:
        admission: that gave it.
    """

    def __init__(self, admission: "Admission") -> None:
        self._admission: Admission | None = admission

    def release(self) -> None:
        """Give the place to the next request."""
        admission, self._admission = self._admission, None
        if admission is not None:
            admission.leave()


class Admission:
    """Counts requests, in order of their arrival.

    Args:
        max_concurrent: most at once.
        max_queued: most that wait.
        meters: where both counts are reported.
    """

    def __init__(self, max_concurrent: int, max_queued: int, meters: AdmissionMeters) -> None:
        self._max_queued = max_queued
        self._meters = meters
        self._turns = asyncio.Semaphore(max_concurrent)
        self._running = 0
        self._queued = 0

    async def enter(self) -> Place:
        """Wait for a place.

        Raises:
            Refused: too many requests wait already.
        """
        if self._turns.locked() and self._queued >= self._max_queued:
            raise Refused(
                HTTPStatus.TOO_MANY_REQUESTS,
                f"{self._running} requests run (api.max_concurrent_requests) and {self._queued} wait"
                " (api.max_queued_requests); try again later",
                headers=RETRY_SOON,
            )
        self._queued += 1
        self._report()
        try:
            await self._turns.acquire()
            self._running += 1
        finally:
            self._queued -= 1
            self._report()
        return Place(self)

    def leave(self) -> None:
        """Free a place; see `Place.release`."""
        self._running -= 1
        self._turns.release()
        self._report()

    def _report(self) -> None:
        self._meters.requests(self._running, self._queued)
