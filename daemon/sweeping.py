"""Retention while the daemon runs: a pass over a few hashes of records, again and again."""

import asyncio
import random
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from math import ceil
from time import time

from daemon.settings import Retention, Settings
from daemon.wiring import Stores
from neardup_stream.pipeline.retention import RetentionConfig, Sweep, Sweeper
from neardup_stream.pipeline.retries import Retries

__all__ = ["build_sweeper", "retention_config", "sweeping"]

OnSwept = Callable[[Sweep, int], None]
"""Told how many records met what in one pass."""


def build_sweeper(settings: Settings, stores: Stores, first_slot: int = 0) -> Sweeper:
    """Lets pages and stubs go, as set."""
    judged = stores.judged
    return Sweeper(
        records=judged.records,
        index=judged.index,
        clusters=judged.clusters,
        config=retention_config(settings.retention),
        first_slot=first_slot,
    )


def retention_config(retention: Retention) -> RetentionConfig:
    """The same, as the sweeper wants it: records know whole seconds, so nothing goes too early."""
    return RetentionConfig(
        page_seconds=ceil(retention.seconds) or None,
        stub_seconds=ceil(retention.stub_seconds),
        slots_per_pass=retention.sweep_slots,
    )


@asynccontextmanager
async def sweeping(
    settings: Settings, stores: Stores, retries: Retries, on_swept: OnSwept
) -> AsyncIterator[None]:
    """Sweep while the block runs; where it begins is left to chance, so that daemons need not meet.

    Raises:
        ExceptionGroup: holding what ended the sweep (DependencyLost, CorruptData), or the block.
    """
    first_slot = random.randrange(stores.judged.records.slot_count)  # noqa: S311 - no secret
    sweeper = build_sweeper(settings, stores, first_slot)

    async def sweep() -> None:
        while True:
            await asyncio.sleep(settings.retention.sweep_interval_seconds)
            for what, count in (await retries.persist(partial(sweeper.sweep, int(time())))).items():
                on_swept(what, count)

    async with asyncio.TaskGroup() as group:
        running = group.create_task(sweep())
        try:
            yield
        finally:
            running.cancel()
