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

__all__ = ["ApiServer"]

_logger = logging.getLogger(__name__)

_PROBES: Final = frozenset({"/livez", "/readyz"})
_STRANGERS: Final = frozenset({HTTPStatus.UNAUTHORIZED, HTTPStatus.MISDIRECTED_REQUEST})
"""Answers to those who may not ask; like probes, which anyone may send, they end their connection."""

_Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

_SHUTDOWN_SECONDS: Final = 5.0
_LAST_REQUESTS_SECONDS: Final = 0.05
"""Requests of connections that were accepted last are read for so long; the library would wait for others."""

_LINE_BYTES: Final = 1 << 17
"""Of a request's first line: it may name two pages of 4,096 characters, each of twelve bytes in a URL."""

_REST_SECONDS: Final = 2.0
"""For what is left of a body after its request was refused."""


class ApiServer:
    """A port, and what is served there, which may change while it listens.

    Args:
        api: address, security and limits.
        metrics: where each answer is counted.
        registry: of a process without a port of its own for `/livez`, `/readyz` and `/metrics`, which are
            served here then; the metrics need the token as well.

    Raises:
        ConfigError: files of the token or of TLS cannot be read.
    """

    def __init__(self, api: Api, metrics: ApiMetrics, registry: CollectorRegistry | None) -> None:
        self._api = api
        self._registry = registry
        self._access = Access(api)
        self._answering = Answering(api, self._access, metrics)
        self._connections = LimitedConnections(self._protocol, _limits(api), server_tls(api), metrics)
        self._make_protocol: Callable[[], asyncio.Protocol]
        self._listening: asyncio.Server | None = None

    @asynccontextmanager
    async def serving(self, endpoints: Sequence[Endpoint] | None) -> AsyncIterator[int]:
        """Serve the endpoints, `/openapi.json` and the web page while the block runs.

        In the block of another call it takes over: new connections are its own. The port is closed at the
        end of the innermost block; those that are asking are answered first.

        Args:
            endpoints: that are served; None while there is no index: every request is answered with 503.

        Yields:
            The port it listens on.

        Raises:
            ConfigError: the address or the port cannot be had.
        """
        runner = web.AppRunner(self._app(endpoints), shutdown_timeout=_SHUTDOWN_SECONDS)
        await runner.setup()
        try:
            self._make_protocol = self._protocols_of(runner)
            if self._listening is None:
                self._listening = await self._listen()
            yield self._listening.sockets[0].getsockname()[1]
        finally:
            await self._end(runner)

    def _protocol(self) -> asyncio.Protocol:
        return self._make_protocol()

    def _app(self, endpoints: Sequence[Endpoint] | None) -> web.Application:
        @web.middleware
        async def noting(request: web.Request, handler: _Handler) -> web.StreamResponse:
            with self._connections.answering(request.protocol):
                response = await handler(request)
                if endpoints is None or request.path in _PROBES or response.status in _STRANGERS:
                    response.force_close()
                return response

        checked = self._answering.checked
        app = web.Application(middlewares=[noting, problems_of_routing])
        app.on_response_prepare.append(without_versions)
        if self._registry is not None:
            page = MetricsPage(self._registry, lambda: self._connections.unanswered_count)
            app.router.add_get("/metrics", checked(page.answer))
            app.router.add_get("/livez", _waiting if endpoints is None else _alive)
            app.router.add_get("/readyz", _not_ready if endpoints is None else _alive)
        if endpoints is None:
            app.router.add_route("*", "/{path:.*}", checked(no_index))
            return app
        document = msgspec.json.encode(openapi_document(endpoints, needs_token=self._api.needs_token))

        async def openapi(_request: web.Request) -> web.StreamResponse:
            return json_answer(document)

        app.router.add_get("/openapi.json", checked(openapi))
        for path, answer in web_routes(self._access):
            app.router.add_get(path, answer)
        for endpoint in endpoints:
            app.router.add_route(endpoint.method, endpoint.path, self._answering.handler(endpoint))
        return app

    def _protocols_of(self, runner: web.AppRunner) -> Callable[[], asyncio.Protocol]:
        assert runner.server is not None  # noqa: S101 - it is set up
        return http_protocols(
            runner.server,
            logging.getLogger(f"{__name__}.http"),
            keepalive_timeout=self._api.idle_timeout_seconds,
            lingering_time=_REST_SECONDS,
            max_line_size=_LINE_BYTES,
        )

    async def _listen(self) -> asyncio.Server:
        api = self._api
        server = await listen(self._connections, api.host.strip("[]"), api.port, "api")
        port = server.sockets[0].getsockname()[1]
        log_event(_logger, "api_listening", host=api.host, port=port, tls=bool(api.tls_certificate_file))
        return server

    async def _end(self, runner: web.AppRunner) -> None:
        """Accept no more, answer what was asked unless this is cancelled, and end all connections."""
        try:
            if self._listening is not None:
                self._listening.close()
                self._listening = None
                await asyncio.sleep(_LAST_REQUESTS_SECONDS)
            await runner.cleanup()
        finally:
            self._connections.close()


async def _alive(_request: web.Request) -> web.StreamResponse:
    return web.Response(text="ready\n")


async def _waiting(_request: web.Request) -> web.StreamResponse:
    return web.Response(text="starting\n")


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
