"""Track liveness and readiness in a small state machine, and serve the pages that show them.

    degraded ◄──► starting ──► ready ◄──► degraded, stalled
        │             │          │            │
        └─────────────┴─────┬────┴────────────┘
                            ▼
                        draining ──► stopped

Live means: no restart needed. Ready means: it processes pages now. A daemon that waits for Redis is live and
not ready; a restart would not bring Redis back. One that has work and does none of it, while no dependency is
unavailable, is stalled, and not live.
"""

import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Final, NamedTuple

from prometheus_client import CollectorRegistry

from neardup_daemon.connection_limits import LimitedConnections, listen
from neardup_daemon.logs import log_event
from neardup_daemon.metrics_page import MetricsPage
from neardup_daemon.telemetry.process_metrics import ProcessMetrics, State
from neardup_daemon.telemetry.stalls import Progress, StallWatch
from neardup_stream.errors import InvariantBroken

__all__ = ["Condition", "Health", "State", "is_live", "is_ready", "serve_health"]

_logger = logging.getLogger(__name__)

_HTTP_SHUTDOWN_SECONDS = 1.0

_NEXT: Final[Mapping[State, frozenset[State]]] = {
    "starting": frozenset({"ready", "degraded", "draining", "stopped"}),
    "ready": frozenset({"degraded", "stalled", "draining", "stopped"}),
    "degraded": frozenset({"starting", "ready", "draining", "stopped"}),
    "stalled": frozenset({"ready", "degraded", "draining", "stopped"}),
    "draining": frozenset({"stopped"}),
    "stopped": frozenset(),
}


class Condition(NamedTuple):
    """How the daemon is.

    Attributes:
        state: where in the picture.
        reason: why it is degraded or stalled, for a person; else empty.
    """

    state: State
    reason: str = ""


def is_live(condition: Condition) -> bool:
    """Return whether a supervisor should leave the process alone."""
    return condition.state not in {"stalled", "stopped"}


def is_ready(condition: Condition) -> bool:
    """Return whether the daemon processes pages."""
    return condition.state == "ready"


class Health:
    """The condition of this process; every change is one log line and moves `neardup_state`."""

    def __init__(self, metrics: ProcessMetrics) -> None:
        self._metrics = metrics
        self._condition = Condition("starting")
        self._before_degraded: State = "starting"

    @property
    def condition(self) -> Condition:
        """How the daemon is now."""
        return self._condition

    def become(self, state: State, reason: str = "") -> None:
        """Move to `state`.

        A dependency that fails or returns while the daemon drains changes nothing: draining continues.

        Raises:
            InvariantBroken: called after the daemon stopped.
        """
        now = self._condition.state
        if now == "draining" and state in {"ready", "degraded", "stalled"}:
            return
        if state not in _NEXT[now] and state != now:
            raise InvariantBroken(f"health cannot go from {now} to {state}")
        if Condition(state, reason) == self._condition:
            return
        if state == "degraded" and now != "degraded":
            self._before_degraded = "ready" if now == "stalled" else now
        self._condition = Condition(state, reason)
        self._metrics.state(state)
        log_event(_logger, "state_changed", former=now, state=state, reason=reason)

    def recover(self) -> None:
        """Return to the state before the dependency became unavailable, be it only the start."""
        if self._condition.state == "degraded":
            self.become(self._before_degraded)

    def watch(self, stalls: StallWatch, progress: Progress, now_seconds: float) -> None:
        """Become stalled when nothing moves, ready again when it does; other states count no stall."""
        if self._condition.state not in {"ready", "stalled"}:
            stalls.rest()
            return
        reason = stalls.look(progress, now_seconds)
        self.become("stalled" if reason else "ready", reason)


@asynccontextmanager
async def serve_health(
    host: str, port: int, condition: Callable[[], Condition], registry: CollectorRegistry
) -> AsyncIterator[int]:
    """Serve `/livez`, `/readyz` and `/metrics` while the block runs; anything else is 404 or 405.

    Args:
        host: address to listen on.
        port: 0 takes any free one.
        condition: asked at each request.
        registry: rendered on this loop, at each request in the format and coding that it accepts; at many
            requests at once see `MetricsPage`.

    Yields:
        The port it listens on.

    Raises:
        ConfigError: the address or the port cannot be had.
    """
    from aiohttp import web  # noqa: PLC0415 - 0.2 s that commands without a port do not pay

    from neardup_daemon.http_protocol import http_protocols, without_versions  # noqa: PLC0415 - as above

    def answer(verdict: Callable[[Condition], bool]) -> web.Response:
        now = condition()
        text = f"{now.state}: {now.reason}\n" if now.reason else f"{now.state}\n"
        return web.Response(text=text, status=200 if verdict(now) else 503)

    async def livez(_request: web.Request) -> web.Response:
        return answer(is_live)

    async def readyz(_request: web.Request) -> web.Response:
        return answer(is_ready)

    async def close_after(_request: web.Request, response: web.StreamResponse) -> None:
        """Close the connection after one request, so that requests in a pipeline cost no more than one."""
        response.headers["Connection"] = "close"
        response.force_close()

    @web.middleware
    async def noting(
        request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
    ) -> web.StreamResponse:
        with connections.answering(request.protocol):
            return await handler(request)

    page = MetricsPage(registry, lambda: connections.unanswered_count)
    app = web.Application(middlewares=[noting])
    app.on_response_prepare.extend([close_after, without_versions])
    app.add_routes(
        [
            web.get("/livez", livez),
            web.get("/readyz", readyz),
            web.get("/metrics", page.answer),
        ]
    )
    logger = logging.getLogger(f"{__name__}.http")
    runner = web.AppRunner(app, shutdown_timeout=_HTTP_SHUTDOWN_SECONDS)
    await runner.setup()
    assert runner.server is not None  # noqa: S101 - it is set up
    connections = LimitedConnections(http_protocols(runner.server, logger))
    try:
        server = await listen(connections, host, port, "http")
        bound_port: int = server.sockets[0].getsockname()[1]
        log_event(_logger, "http_listening", host=host, port=bound_port)
        try:
            yield bound_port
        finally:
            server.close()
            connections.close()
    finally:
        await runner.cleanup()
