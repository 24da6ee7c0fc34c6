"""Bounds what is between read and delivery: in pages, in bytes, and small batches in number.

A batch costs some milliseconds of CPU time however few pages it has. A source returns a small one when it has
nothing more, so the next one may wait for another to finish: meanwhile it grows.
"""

import asyncio
from dataclasses import dataclass
from typing import Final

from neardup_stream.errors import ConfigError
from neardup_stream.meters import PipelineMeters

__all__ = ["InFlight", "InFlightLimits"]

_SMALL_PAGES: Final = 32
_SMALL_PAGES_SHARE: Final = 1 / 8
_SMALL_BYTES_SHARE: Final = 1 / 128
"""A batch is small below so many pages and these shares of the most pages and bytes of a batch: by default
below 32 pages and 128 KiB. What is read of a backlog is larger."""

_SMALL_BATCHES: Final = 2
"""How many batches may be in flight while the newest one is small: one is decided while one is delivered."""


@dataclass(frozen=True, slots=True)
class InFlightLimits:
    """How much one batch, and all batches in flight, may hold.

    Attributes:
        max_batch_pages: most records of one batch.
        max_batch_bytes: most bytes of one batch, but for a single record larger than it.
        max_in_flight_pages: reading waits while this many are in flight.
        max_in_flight_bytes: reading waits while this much is in flight.
        is_room_whole: whether reading waits until there is room for a whole batch. Then time does not decide
            where the batches of a file end, and so when its pages teach frames.
    """

    max_batch_pages: int = 512
    max_batch_bytes: int = 16 << 20
    max_in_flight_pages: int = 2048
    max_in_flight_bytes: int = 128 << 20
    is_room_whole: bool = False

    def __post_init__(self) -> None:
        """Refuse limits under which nothing could be read.

        Raises:
            ConfigError: a limit below one, or a batch larger than what may be in flight.
        """
        for name in ("batch_pages", "batch_bytes"):
            batch, whole = getattr(self, f"max_{name}"), getattr(self, f"max_in_flight_{name[6:]}")
            if not 1 <= batch <= whole:
                raise ConfigError(
                    f"pipeline.max_{name} ({batch}) must be at least 1 and at most "
                    f"pipeline.max_in_flight_{name[6:]} ({whole})"
                )


class InFlight:
    """Counts what is in flight; one reader waits for room, any task may wait until nothing is."""

    def __init__(self, limits: InFlightLimits, meters: PipelineMeters) -> None:
        self._limits = limits
        self._meters = meters
        self._pages = 0
        self._size_bytes = 0
        self._batches = 0
        self._newest_is_small = False
        self._changed = asyncio.Condition()

    @property
    def pages(self) -> int:
        """Pages in flight."""
        return self._pages

    async def wait_for_room(self) -> tuple[int, int]:
        """Wait until something may be read; return how many pages and bytes the next batch may hold."""
        limits = self._limits
        async with self._changed:
            await self._changed.wait_for(self._has_room)
        return (
            min(limits.max_batch_pages, limits.max_in_flight_pages - self._pages),
            min(limits.max_batch_bytes, limits.max_in_flight_bytes - self._size_bytes),
        )

    def add(self, pages: int, size_bytes: int) -> None:
        """Count a batch that was read. Does not wait, so that no record is ever outside the count."""
        self._pages += pages
        self._size_bytes += size_bytes
        self._batches += 1
        self._newest_is_small = (
            pages < min(_SMALL_PAGES, _SMALL_PAGES_SHARE * self._limits.max_batch_pages)
            and size_bytes < _SMALL_BYTES_SHARE * self._limits.max_batch_bytes
        )
        self._meters.in_flight(self._pages, self._size_bytes)

    async def remove(self, pages: int, size_bytes: int) -> None:
        """Stop counting a batch that is finished or dropped."""
        async with self._changed:
            self._pages -= pages
            self._size_bytes -= size_bytes
            self._batches -= 1
            self._meters.in_flight(self._pages, self._size_bytes)
            self._changed.notify_all()

    async def wait_until_empty(self) -> None:
        """Wait until nothing is in flight."""
        async with self._changed:
            await self._changed.wait_for(lambda: self._pages == 0)

    def _has_room(self) -> bool:
        limits = self._limits
        pages, size_bytes = (
            (limits.max_batch_pages, limits.max_batch_bytes) if limits.is_room_whole else (1, 1)
        )
        return (
            self._pages + pages <= limits.max_in_flight_pages
            and self._size_bytes + size_bytes <= limits.max_in_flight_bytes
            and not (self._newest_is_small and self._batches >= _SMALL_BATCHES)
        )
