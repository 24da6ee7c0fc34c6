"""The commit stage: commit the offsets behind delivered batches, and trim their decision records."""

import asyncio
from collections.abc import Mapping

from neardup_stream.message import Partition
from neardup_stream.meters import PipelineMeters
from neardup_stream.pipeline.batch import InFlightBatch
from neardup_stream.pipeline.delivery_guarantees import Delivery
from neardup_stream.pipeline.in_flight import InFlight
from neardup_stream.pipeline.loop_config import LoopConfig
from neardup_stream.pipeline.offsets import later_offsets
from neardup_stream.pipeline.retries import Retries
from neardup_stream.pipeline.stores import PageStores
from neardup_stream.pipeline.timing import timed

__all__ = ["Commit"]


class Commit:
    """Commits what is delivered; one commit at a time.

    Args:
        delivery: at least once, or exactly once.
        stores: where decision records are.
        in_flight: what is between read and delivery.
        config: when a commit is due, and which partitions are not trimmed.
        retries: while a dependency is unavailable.
        meters: receives the times and the committed offsets.
    """

    def __init__(
        self,
        delivery: Delivery,
        stores: PageStores,
        in_flight: InFlight,
        config: LoopConfig,
        retries: Retries,
        meters: PipelineMeters,
    ) -> None:
        self._delivery = delivery
        self._stores = stores
        self._in_flight = in_flight
        self._config = config
        self._retries = retries
        self._meters = meters
        self._untrimmed: dict[Partition, int] = {}
        self._last_commit = 0.0
        self._committing = asyncio.Lock()
        self._has_committed = asyncio.Event()

    def start(self) -> None:
        """Count the commit interval from now on."""
        self._last_commit = _now_seconds()

    def is_due(self, batch: InFlightBatch) -> bool:
        """Return whether nothing else is in flight, or enough waits, or has waited for long enough."""
        return (
            self._in_flight.pages == batch.record_count
            or _now_seconds() - self._last_commit >= self._config.commit_interval_seconds
            or self._delivery.held_count >= self._config.limits.max_in_flight_pages
        )

    async def run(self, _batch: InFlightBatch) -> None:
        """Commit everything that is delivered, this batch included.

        Raises:
            DependencyLost: a dependency stayed unavailable.
        """
        await self.commit_all()

    async def commit_all(self) -> None:
        """Commit everything that is delivered.

        Raises:
            DependencyLost: a dependency stayed unavailable.
        """
        await self._retries.retry(self.commit)

    async def commit(self) -> None:
        """Commit everything that is delivered, once.

        Raises:
            Unavailable: not everything was committed and trimmed; commit again.
        """
        async with self._committing:
            with timed(self._meters, "commit"):
                committed = await self._delivery.commit()
            self._meters.committed(committed.known)
            self._untrimmed = later_offsets(self._untrimmed, committed.seen)
            await self._trim(
                {one: end for one, end in self._untrimmed.items() if not self._config.is_read_again(one)}
            )
            self._last_commit = _now_seconds()
            self._has_committed.set()

    async def tidy_after_commits(self) -> None:
        """Remove old tombstones after each commit, beside the stages: no commit waits for it.

        Raises:
            DependencyLost: the store stayed unavailable.
        """
        while True:
            await self._has_committed.wait()
            self._has_committed.clear()
            await self.tidy()

    async def end(self) -> None:
        """Trim what is left, once every output is complete.

        Raises:
            DependencyLost: the store stayed unavailable.
        """
        await self._retries.retry(lambda: self._trim(self._untrimmed))
        await self.tidy()

    async def tidy(self) -> None:
        """Remove old tombstones.

        Raises:
            DependencyLost: the store stayed unavailable.
        """
        await self._retries.retry(lambda: self._stores.clusters.tidy(self._stores.records))

    async def _trim(self, committed: Mapping[Partition, int]) -> None:
        """Remove the decision records of what is committed."""
        if committed:
            with timed(self._meters, "trim"):
                await self._stores.clusters.trim(committed)
            self._untrimmed = {one: end for one, end in self._untrimmed.items() if one not in committed}


def _now_seconds() -> float:
    """By the clock of the running loop, which is monotonic."""
    return asyncio.get_running_loop().time()
