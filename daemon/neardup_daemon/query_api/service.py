"""Run the query API as a process of its own, for `serve`."""

import asyncio
import logging
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Final

from neardup_daemon.logs import log_event
from neardup_daemon.query_api.metrics import ApiMetrics
from neardup_daemon.query_api.opening import serving_queries
from neardup_daemon.query_api.server import ApiServer
from neardup_daemon.redaction import redact
from neardup_daemon.settings.settings import Settings
from neardup_daemon.stopping import Stop
from neardup_daemon.stored_index import NoIndex, open_stored_index
from neardup_daemon.telemetry.metric_registry import MetricRegistry
from neardup_daemon.telemetry.process_metrics import ProcessMetrics
from neardup_daemon.telemetry.watching import watching_limits
from neardup_daemon.wiring import Stores
from neardup_stream.errors import StoreUnavailable
from neardup_stream.pipeline.forked_parent import ForkedParent
from neardup_stream.version import __version__

__all__ = ["run_query_service"]

_logger = logging.getLogger(__name__)

_PAUSE_SECONDS: Final = 1.0


async def run_query_service(
    settings: Settings,
    state_dir: Path | None,
    forked: ForkedParent | None,
    *,
    waits_for_index: bool = False,
) -> int:
    """Serve the query API until a signal stops the process.

    Args:
        settings: of the index.
        state_dir: what `dedup --state` keeps; None for the Redis in the settings.
        forked: see `serving_queries`.
        waits_for_index: whether to wait, live but not ready, while Redis is unavailable or nothing is stored;
            without `state_dir` only.

    Returns:
        The exit code of a stop: 0, or 128 + signal after a second signal.

    Raises:
        ConfigError: the settings or the index do not fit; or there is none, and this does not wait for it.
        StoreUnavailable: Redis is unavailable at the start, and this does not wait for it.
        CorruptData: what is stored is not ours.
    """
    registry = MetricRegistry()
    process = ProcessMetrics(registry)
    process.settings(settings)
    metrics = ApiMetrics(registry)
    stop = Stop()
    with stop.on_signals():
        log_event(_logger, "starting", version=__version__)
        server = ApiServer(settings.api, metrics, registry.prometheus)
        async with AsyncExitStack() as stack:
            if waits_for_index:
                await stack.enter_async_context(server.serving(None))
                stores = await _await_index(settings, stack)
            else:
                stores = await stack.enter_async_context(open_stored_index(settings, state_dir))
            await stack.enter_async_context(
                serving_queries(settings, stores, server, metrics, forked=forked, has_kafka=state_dir is None)
            )
            await stack.enter_async_context(watching_limits(stores.tables, process))
            process.service(settings, stores.namespace.schema_id)
            process.state("ready")
            log_event(_logger, "started", schema=stores.namespace.schema_id)
            stop.is_watched = True
            await stop.requested.wait()
            process.state("draining")
        log_event(_logger, "stopped")
    return stop.exit_code


async def _await_index(settings: Settings, stack: AsyncExitStack) -> Stores:
    """Return the index in the Redis of the settings once there is one; the stack closes it."""
    said = ""
    while True:
        try:
            return await stack.enter_async_context(open_stored_index(settings, None))
        except (NoIndex, StoreUnavailable) as error:
            if str(error) != said:
                said = str(error)
                log_event(_logger, "index_awaited", reason=redact(said))
        await asyncio.sleep(_PAUSE_SECONDS)
