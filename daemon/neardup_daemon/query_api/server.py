"""Serve the query API over HTTP."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from http import HTTPStatus
from typing import Final

import msgspec
from aiohttp import web
from prometheus_client import CollectorRegistry

from neardup_daemon.connection_limits import ConnectionLimits, LimitedConnections, listen
from neardup_daemon.http_protocol import http_protocols, without_versions
from neardup_daemon.logs import log_event
from neardup_daemon.metrics_page import MetricsPage
from neardup_daemon.query_api.access import Access, server_tls
from neardup_daemon.query_api.answering import Answering, json_answer, no_index, problems_of_routing
from neardup_daemon.query_api.endpoints import Endpoint
from neardup_daemon.query_api.metrics import ApiMetrics
from neardup_daemon.query_api.openapi import openapi_document
from neardup_daemon.query_api.web_page import web_routes
from neardup_daemon.settings.query_api import Api
from neardup_stream.errors import ConfigError

__all__ = ["serve_api"]

_logger = logging.getLogger(__name__)

_PROBES: Final = frozenset({"/livez", "/readyz"})
_STRANGERS: Final = frozenset({HTTPStatus.UNAUTHORIZED, HTTPStatus.MISDIRECTED_REQUEST})
"""Answers to those who may not ask; like probes, which anyone may send, they end their connection."""

_Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

_SHUTDOWN_SECONDS: Final = 5.0
_LINE_BYTES: Final = 1 << 17
"""Of a request's first line: it may name two pages of 4,096 characters, each of twelve bytes in a URL."""

_REST_SECONDS: Final = 2.0
"""For what is left of a body after its request was refused."""


@asynccontextmanager
async def serve_api(
    api: Api, endpoints: Sequence[Endpoint] | None, metrics: ApiMetrics, registry: CollectorRegistry | None
) -> AsyncIterator[int]:
    """Serve the endpoints, `/openapi.json` and the web page while the block runs.

    Args:
        api: address, security and limits.
        endpoints: that are served; None while there is no index: every request is answered with 503.
        metrics: where each answer is counted.
        registry: of a process without a port of its own for `/livez`, `/readyz` and `/metrics`, which are
            served here then; the metrics need the token as well.

    Yields:
        The port it listens on.

    Raises:
        ConfigError: the address or the port cannot be had, or files of the token or of TLS cannot be read.
    """
    access = Access(api)
    answering = Answering(api, access, metrics)
    document = msgspec.json.encode(openapi_document(endpoints or (), needs_token=api.needs_token))

    async def openapi(_request: web.Request) -> web.StreamResponse:
        return json_answer(document)

    @web.middleware
    async def noting(request: web.Request, handler: _Handler) -> web.StreamResponse:
        with connections.answering(request.protocol):
            response = await handler(request)
            if request.path in _PROBES or response.status in _STRANGERS:
                response.force_close()
            return response

    app = web.Application(middlewares=[noting, problems_of_routing])
    app.on_response_prepare.append(without_versions)
    if registry is not None:
        page = MetricsPage(registry, lambda: connections.unanswered_count)
        app.router.add_get("/metrics", answering.checked(page.answer))
        app.router.add_get("/livez", _alive)
        app.router.add_get("/readyz", _not_ready if endpoints is None else _alive)
    if endpoints is None:
        app.router.add_route("*", "/{path:.*}", answering.checked(no_index))
    else:
        app.router.add_get("/openapi.json", answering.checked(openapi))
        for path, answer in web_routes(access):
            app.router.add_get(path, answer)
        for endpoint in endpoints:
            app.router.add_route(endpoint.method, endpoint.path, answering.handler(endpoint))
    logger = logging.getLogger(f"{__name__}.http")
    runner = web.AppRunner(app, shutdown_timeout=_SHUTDOWN_SECONDS)
    await runner.setup()
    assert runner.server is not None  # noqa: S101 - it is set up
    protocols = http_protocols(
        runner.server,
        logger,
        keepalive_timeout=api.idle_timeout_seconds,
        lingering_time=_REST_SECONDS,
        max_line_size=_LINE_BYTES,
    )
    connections = LimitedConnections(protocols, _limits(api), server_tls(api), metrics)
    try:
        server = await _listening(connections, api)
        port: int = server.sockets[0].getsockname()[1]
        log_event(_logger, "api_listening", host=api.host, port=port, tls=bool(api.tls_certificate_file))
        try:
            yield port
        finally:
            server.close()
    finally:
        await runner.cleanup()
        connections.close()


async def _alive(_request: web.Request) -> web.StreamResponse:
    return web.Response(text="ready\n")


async def _not_ready(_request: web.Request) -> web.StreamResponse:
    return web.Response(text="starting: there is no index\n", status=HTTPStatus.SERVICE_UNAVAILABLE)


def _limits(api: Api) -> ConnectionLimits:
    """Return the limits of connections; a request ends by its own limits before the connection does."""
    return ConnectionLimits(
        max_connections=api.max_connections,
        head_timeout_seconds=api.head_timeout_seconds,
        connection_seconds=api.head_timeout_seconds
        + api.request_timeout_seconds
        + api.decision_timeout_seconds,
        idle_timeout_seconds=api.idle_timeout_seconds,
        evicts_asking=False,
    )


async def _listening(connections: LimitedConnections, api: Api) -> asyncio.Server:
    try:
        return await listen(connections, api.host.strip("[]"), api.port)
    except OSError as error:
        raise ConfigError(
            f"cannot listen on {api.host}:{api.port}: {error.strerror}; choose another api.port, or 0 for any"
        ) from error
