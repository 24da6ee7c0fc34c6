"""The HTTP server of the query API."""

import asyncio
import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Final

import msgspec
from aiohttp import web
from prometheus_client import CollectorRegistry

from neardup_daemon.connection_limits import ConnectionLimits, LimitedConnections, lengthen_queue
from neardup_daemon.health import is_no_fault_of_clients
from neardup_daemon.logs import log_event
from neardup_daemon.metrics_page import MetricsPage
from neardup_daemon.query_api.access import Access, server_tls
from neardup_daemon.query_api.answering import Answering, json_answer, problems_of_routing
from neardup_daemon.query_api.endpoints import Endpoint
from neardup_daemon.query_api.metrics import ApiMetrics
from neardup_daemon.query_api.openapi import openapi_document
from neardup_daemon.settings.query_api import Api
from neardup_stream.errors import ConfigError

__all__ = ["serve_api"]

_logger = logging.getLogger(__name__)

_HEAD_SECONDS: Final = 5.0
_CONNECTION_SECONDS: Final = 86_400.0
_KEEPALIVE_SECONDS: Final = 30.0
_SHUTDOWN_SECONDS: Final = 5.0


@asynccontextmanager
async def serve_api(
    api: Api, endpoints: Sequence[Endpoint], metrics: ApiMetrics, registry: CollectorRegistry | None
) -> AsyncIterator[int]:
    """Serve the endpoints and `/openapi.json` while the block runs.

    Args:
        api: address, security and limits.
        endpoints: that are served.
        metrics: told each answer.
        registry: of a process without a port of its own for `/livez`, `/readyz` and `/metrics`, which are
            served here then; the metrics need the token as well.

    Yields:
        The port it listens on.

    Raises:
        ConfigError: the address or the port cannot be had, or files of the token or of TLS cannot be read.
    """
    access = Access(api)
    answering = Answering(api, access, metrics)
    document = msgspec.json.encode(openapi_document(endpoints, needs_token=api.needs_token))

    async def openapi(_request: web.Request) -> web.StreamResponse:
        return json_answer(document)

    app = web.Application(middlewares=[problems_of_routing], client_max_size=api.max_body_bytes)
    app.router.add_get("/openapi.json", answering.checked(openapi))
    for endpoint in endpoints:
        app.router.add_route(endpoint.method, endpoint.path, answering.handler(endpoint))
    if registry is not None:
        page = MetricsPage(registry, lambda: connections.asking_count)
        app.router.add_get("/metrics", answering.checked(page.answer))
        app.router.add_get("/livez", _alive)
        app.router.add_get("/readyz", _alive)
    logger = logging.getLogger(f"{__name__}.http")
    logger.addFilter(is_no_fault_of_clients)
    runner = web.AppRunner(
        app,
        access_log=None,
        logger=logger,
        keepalive_timeout=_KEEPALIVE_SECONDS,
        shutdown_timeout=_SHUTDOWN_SECONDS,
    )
    await runner.setup()
    assert runner.server is not None  # noqa: S101 - it is set up
    limits = ConnectionLimits(api.max_connections, _HEAD_SECONDS, _CONNECTION_SECONDS, evicts_asking=False)
    connections = LimitedConnections(runner.server, limits)
    try:
        server = await _listening(connections, api)
        lengthen_queue(server)
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


async def _listening(connections: LimitedConnections, api: Api) -> asyncio.Server:
    tls = server_tls(api)
    handshake = _HEAD_SECONDS if tls else None
    try:
        return await asyncio.get_running_loop().create_server(
            connections, api.host.strip("[]"), api.port, ssl=tls, ssl_handshake_timeout=handshake
        )
    except OSError as error:
        raise ConfigError(
            f"cannot listen on {api.host}:{api.port}: {error.strerror}; choose another api.port, or 0 for any"
        ) from error
