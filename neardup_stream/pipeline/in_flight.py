"""What is between reading and commit, bounded in pages and in bytes."""

import asyncio
from dataclasses import dataclass

from neardup_stream.errors import ConfigError
from neardup_stream.meters import PipelineMeters

__all__ = ["InFlight", "InFlightLimits"]


@dataclass(frozen=True, slots=True)
class InFlightLimits:
    """How much one batch, and everything under way, may hold.

    Attributes:
        max_batch_pages: most records of one batch.
        max_batch_bytes: most bytes of one batch, but for a single record larger than it.
        max_in_flight_pages: reading waits while this many are under way.
        max_in_flight_bytes: reading waits while this much is under way.
    """

    max_batch_pages: int = 256
    max_batch_bytes: int = 16 << 20
    max_in_flight_pages: int = 2048
    max_in_flight_bytes: int = 128 << 20

    def __post_init__(self) -> None:
        """Refuse limits under which nothing could be read.

        Raises:
            ConfigError: a limit below one, or a batch larger than what may be under way.
        """
        for name in ("batch_pages", "batch_bytes"):
            batch, whole = getattr(self, f"max_{name}"), getattr(self, f"max_in_flight_{name[6:]}")
            if not 1 <= batch <= whole:
                raise ConfigError(
                    f"pipeline.max_{name} ({batch}) must be at least 1 and at most "
                    f"pipeline.max_in_flight_{name[6:]} ({whole})"
                )


class InFlight:
    """Counts what is under way; one reader waits for room, anyone may wait for emptiness."""

    def __init__(self, limits: InFlightLimits, meters: PipelineMeters) -> None:
        self._limits = limits
        self._meters = meters
        self._pages = 0
        self._size_bytes = 0
        self._changed = asyncio.Condition()

    @property
    def pages(self) -> int:
        """How many are under way."""
        return self._pages

    async def wait_for_room(self) -> tuple[int, int]:
        """Wait until something may be read; how many pages and bytes the next batch may hold."""
        limits = self._limits
        async with self._changed:
            await self._changed.wait_for(
                lambda: (
                    self._pages < limits.max_in_flight_pages and self._size_bytes < limits.max_in_flight_bytes
                )
            )
        return (
            min(limits.max_batch_pages, limits.max_in_flight_pages - self._pages),
            min(limits.max_batch_bytes, limits.max_in_flight_bytes - self._size_bytes),
        )

    def add(self, pages: int, size_bytes: int) -> None:
        """A batch was read. Without waiting, so that no record is ever outside the count."""
        self._pages += pages
        self._size_bytes += size_bytes
        self._meters.in_flight(self._pages, self._size_bytes)

    async def remove(self, pages: int, size_bytes: int) -> None:
        """A batch is finished, or given up."""
        async with self._changed:
            self._pages -= pages
            self._size_bytes -= size_bytes
            self._meters.in_flight(self._pages, self._size_bytes)
            self._changed.notify_all()

    async def wait_until_empty(self) -> None:
        """Wait until nothing is under way."""
        async with self._changed:
            await self._changed.wait_for(lambda: self._pages == 0)
