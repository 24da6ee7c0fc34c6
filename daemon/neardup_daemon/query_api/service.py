"""The query API as a process of its own: for `serve`."""

import logging
from pathlib import Path

from neardup_daemon.logs import log_event
from neardup_daemon.query_api.metrics import ApiMetrics
from neardup_daemon.query_api.opening import serving_queries
from neardup_daemon.settings.settings import Settings
from neardup_daemon.stopping import Stop
from neardup_daemon.stored_index import open_stored_index
from neardup_daemon.telemetry.metric_registry import MetricRegistry
from neardup_daemon.telemetry.process_metrics import ProcessMetrics
from neardup_stream.version import __version__

__all__ = ["run_query_service"]

_logger = logging.getLogger(__name__)


async def run_query_service(settings: Settings, state_dir: Path | None) -> int:
    """Serve the query API until the process is told to stop.

    Returns:
        The exit code of a stop: 0, or 128 + signal after a second signal.

    Raises:
        ConfigError: the settings or the index do not fit.
        StoreUnavailable: Redis is unavailable at the start.
        CorruptData: what is stored is not ours.
    """
    registry = MetricRegistry()
    process = ProcessMetrics(registry)
    process.settings(settings)
    metrics = ApiMetrics(registry)
    stop = Stop()
    with stop.on_signals():
        log_event(_logger, "starting", version=__version__)
        async with (
            open_stored_index(settings, state_dir) as stores,
            serving_queries(settings, stores, metrics, registry.prometheus),
        ):
            process.service(settings, stores.namespace.schema_id)
            process.state("ready")
            log_event(_logger, "started", schema=stores.namespace.schema_id)
            stop.is_watched = True
            await stop.requested.wait()
            process.state("draining")
        log_event(_logger, "stopped")
    return stop.exit_code
