"""Run the daemon: start, wait for what it needs, process pages, drain, stop.

The first SIGTERM, SIGINT or SIGHUP ends reading; batches in flight are finished, delivered and committed. The
second stops at once, and commits nothing more.
"""

import asyncio
import logging
from contextlib import AsyncExitStack
from dataclasses import replace
from typing import TYPE_CHECKING

from neardup_daemon.embedded import EmbeddedServer
from neardup_daemon.exit_codes import OK
from neardup_daemon.failpoints import failing_stages
from neardup_daemon.forked_workers import ForkedWorkers
from neardup_daemon.gc_tuning import keep_what_is_loaded
from neardup_daemon.health import Health, serve_health
from neardup_daemon.held_decisions import NotingPreparation, holding_decisions
from neardup_daemon.kafka_wiring import message_publication, open_kafka
from neardup_daemon.logs import log_event
from neardup_daemon.loop_wiring import (
    asked_text_parts,
    build_consultation,
    build_loop,
    build_retries,
    loop_config,
)
from neardup_daemon.preparing import open_preparation
from neardup_daemon.settings.settings import Settings
from neardup_daemon.stopping import Stop, run_until_stopped
from neardup_daemon.sweeping import sweeping
from neardup_daemon.telemetry.tracing import Tracing, build_tracing
from neardup_daemon.telemetry.watching import watching, watching_limits
from neardup_daemon.wiring import open_stores
from neardup_stream.errors import Unavailable
from neardup_stream.pipeline.reading_gate import ReadingGate
from neardup_stream.pipeline.stages import Runtime
from neardup_stream.version import __version__

if TYPE_CHECKING:
    from neardup_daemon.query_api.metrics import ApiMetrics
    from neardup_daemon.query_api.server import ApiServer

__all__ = ["run_service"]

_logger = logging.getLogger(__name__)


async def run_service(settings: Settings, forked: ForkedWorkers, *, embedded: bool) -> int:
    """Run the daemon until a signal stops it.

    Args:
        settings: all of them.
        forked: its workers.
        embedded: whether a private Redis runs as long.

    Returns:
        The exit code of a stop: 0, or 128 + signal after a second signal.

    Raises:
        ConfigError: the settings, Redis or Kafka do not fit, or tracing is not installed.
        DependencyLost: one of them stayed unavailable.
        CorruptData: what is stored is not ours.
    """
    tracing = await asyncio.to_thread(build_tracing, settings)
    metrics = tracing.metrics
    metrics.process.settings(settings)
    health = Health(metrics.process)
    stop = Stop()
    with stop.on_signals():
        try:
            async with serve_health(
                settings.http.host,
                settings.http.port,
                lambda: health.condition,
                metrics.registry.prometheus,
            ):
                await _serve(settings, forked, tracing, health, stop, embedded=embedded)
        finally:
            health.become("stopped")
            if stop.exit_code == OK:  # a second signal waits for no collector, nor does one while this waits
                await tracing.close()
    return stop.exit_code


async def _serve(
    settings: Settings, forked: ForkedWorkers, tracing: Tracing, health: Health, stop: Stop, *, embedded: bool
) -> None:
    metrics = tracing.metrics

    def on_unavailable(error: Unavailable | None) -> None:
        if error is None:
            health.recover()
        else:
            health.become("degraded", str(error))

    log_event(_logger, "starting", version=__version__, pages_topic=settings.kafka.pages_topic)
    retries = build_retries(settings, metrics, on_unavailable)
    server = _query_server(settings, metrics.api)
    async with AsyncExitStack() as stack:
        url = settings.redis.url
        if embedded:
            url = (await stack.enter_async_context(EmbeddedServer())).url
        stores = await stack.enter_async_context(open_stores(settings, url, retries))
        archives = await asyncio.to_thread(build_consultation, settings, metrics, stores.policy)
        if server is not None:
            from neardup_daemon.query_api.opening import serving_queries  # noqa: PLC0415

            await stack.enter_async_context(
                serving_queries(settings, stores, server, metrics.api, forked=forked.queries)
            )
        # What has to be compiled is, before partitions are ours and wait.
        preparation = await stack.enter_async_context(
            open_preparation(settings, metrics, asked_text_parts(archives), forked.pages)
        )
        epochs = stores.epochs.of_an_embedded_server() if embedded else stores.epochs
        streams = await stack.enter_async_context(open_kafka(settings, epochs, retries, metrics))
        held = await stack.enter_async_context(
            holding_decisions(stores.pages.clusters, settings.api.decision_kept_seconds)
        )
        stores = replace(stores, pages=replace(stores.pages, clusters=held))
        noting = NotingPreparation(preparation, held)
        publication = message_publication(streams.events, streams.dead_letters, streams.transactions)
        gate = ReadingGate(metrics.sweep.reading_waited)
        on_stage = failing_stages(settings.failpoints.points())
        runtime = Runtime(loop_config(settings), retries, metrics, tracing.tracer, gate, on_stage)
        loop = build_loop(settings, stores, streams.source, publication, noting, runtime, archives=archives)
        keep_what_is_loaded()
        metrics.process.service(settings, stores.namespace.schema_id)
        health.become("ready")
        log_event(_logger, "started", store=stores.server_name, schema=stores.namespace.schema_id)
        stop.is_watched = True
        async with (
            sweeping(settings, stores, retries, metrics.sweep, gate),
            watching(streams.source, stores.usage, settings.pipeline.stall_seconds, metrics, health),
            watching_limits(stores.tables, metrics.process),
        ):
            await run_until_stopped(
                loop.run,
                stop,
                settings.pipeline.drain_seconds,
                "what was not committed will be read again",
                lambda: retries.latest_error,
                lambda: health.become("draining"),
            )
    counts = metrics.outcome_counts()
    log_event(_logger, "stopped", pages=sum(counts.values()), outcomes=counts)


def _query_server(settings: Settings, metrics: "ApiMetrics") -> "ApiServer | None":
    """Return what serves the query API; None where it is switched off.

    Raises:
        ConfigError: files of the token or of TLS cannot be read.
    """
    if not settings.api.enabled:
        return None
    # 0.2 s of aiohttp that commands do not pay
    from neardup_daemon.query_api.server import ApiServer  # noqa: PLC0415

    return ApiServer(settings.api, metrics, None)
