"""Measure what a running daemon reports by the clock: lag and stalls, its event loop, the use of Redis."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from time import monotonic
from typing import Final

from neardup_daemon.health import Health
from neardup_daemon.metrics import Metrics
from neardup_daemon.tables import Tables
from neardup_daemon.telemetry.process_metrics import ProcessMetrics
from neardup_daemon.telemetry.stalls import StallWatch
from neardup_stream.errors import StoreUnavailable
from neardup_stream.stores.redis.usage import RedisUsage
from neardup_stream.streams.protocol import Source

__all__ = ["watching", "watching_limits"]

_LAG_SECONDS: Final = 1.0
_LOOP_SECONDS: Final = 0.25
_USAGE_SECONDS: Final = 15.0
"""How often each is measured."""


@asynccontextmanager
async def watching(
    source: Source, usage: RedisUsage, stall_seconds: float, metrics: Metrics, health: Health
) -> AsyncIterator[None]:
    """Measure while the block runs.

    Args:
        source: whose lag is measured, and what it has to take over.
        usage: of the index.
        stall_seconds: how long there may be work and no commit.
        metrics: receives the measurements.
        health: receives stalls.
    """
    async with asyncio.TaskGroup() as group:
        tasks = [
            group.create_task(_watch_lag(source, stall_seconds, metrics, health)),
            group.create_task(_watch_loop(metrics)),
            group.create_task(_watch_usage(usage, metrics)),
        ]
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()


@asynccontextmanager
async def watching_limits(tables: Tables, metrics: ProcessMetrics) -> AsyncIterator[None]:
    """Export the limits in force while the block runs: 'rebuild --into' changes one of them."""
    async with asyncio.TaskGroup() as group:
        task = group.create_task(_watch_limits(tables, metrics))
        try:
            yield
        finally:
            task.cancel()


async def _watch_limits(tables: Tables, metrics: ProcessMetrics) -> None:
    while True:
        with suppress(StoreUnavailable):  # the next call to the store reports it
            metrics.settings(await tables.settings_in_force())
        await asyncio.sleep(_USAGE_SECONDS)


async def _watch_lag(source: Source, stall_seconds: float, metrics: Metrics, health: Health) -> None:
    stalls = StallWatch(stall_seconds)
    while True:
        lag = source.lag()
        metrics.lag(lag)
        metrics.process.event_loop_tasks(len(asyncio.all_tasks()))
        health.watch(stalls, metrics.progress(lag, source.untaken()), monotonic())
        await asyncio.sleep(_LAG_SECONDS)


async def _watch_loop(metrics: Metrics) -> None:
    while True:
        start_seconds = monotonic()
        await asyncio.sleep(_LOOP_SECONDS)
        metrics.process.event_loop_delay(max(0.0, monotonic() - start_seconds - _LOOP_SECONDS))


async def _watch_usage(usage: RedisUsage, metrics: Metrics) -> None:
    while True:
        try:
            measured = await usage.measure()
        except StoreUnavailable:  # the pipeline meets it as well, reports it and retries
            metrics.usage(None)
        else:
            metrics.usage(measured)
        await asyncio.sleep(_USAGE_SECONDS)
