"""A query API with an operation that waits, and clients whose connections stay open."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from http import HTTPStatus

import msgspec
from neardup_daemon.query_api.endpoints import Call, Endpoint, Reply
from neardup_daemon.query_api.index_reading import NoParams
from neardup_daemon.query_api.metrics import ApiMetrics
from neardup_daemon.query_api.server import ApiServer
from neardup_daemon.settings.query_api import Api
from neardup_daemon.telemetry.metric_registry import MetricRegistry

__all__ = ["API", "LONG", "MET_SECONDS", "SHORT", "Client", "Server", "serving", "serving_endpoint"]

LONG = 3600.0
SHORT = 0.05
MET_SECONDS = 0.5
"""Short, for what has to happen within it, also on a busy machine."""


class Held(msgspec.Struct, frozen=True):
    """An answer."""

    held: bool


class Client:
    """A connection that is kept open."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self.writer = reader, writer

    def send(self, path: str, headers: Mapping[str, str]) -> None:
        lines = [f"GET {path} HTTP/1.1", "Host: localhost", *(f"{n}: {v}" for n, v in headers.items())]
        self.writer.write("\r\n".join([*lines, "", ""]).encode())

    async def receive(self) -> int:
        """Return the status of an answer, read whole."""
        head = (await self._reader.readuntil(b"\r\n\r\n")).decode()
        (length,) = [
            int(line.partition(":")[2])
            for line in head.splitlines()
            if line.lower().startswith("content-length")
        ]
        await self._reader.readexactly(length)
        return int(head.split()[1])

    async def get(self, path: str = "/openapi.json", **headers: str) -> int:
        self.send(path, headers)
        return await self.receive()

    async def is_ended(self) -> bool:
        try:
            return await self._reader.read() == b""
        except ConnectionError:
            return True


class Server:
    """A query API without an index; an endpoint may wait until the test lets it answer."""

    def __init__(self, port: int, registry: MetricRegistry) -> None:
        self._port, self._registry = port, registry
        self.go, self.begun = asyncio.Event(), asyncio.Event()
        self._clients: list[Client] = []

    async def connect(self, tls: ssl.SSLContext | None = None) -> Client:
        client = Client(*await asyncio.open_connection("127.0.0.1", self._port, ssl=tls))
        self._clients.append(client)
        return client

    def ended(self, reason: str) -> int:
        """Return how many connections the server ended for a reason."""
        return self._sample("neardup_api_connections_ended_total", reason=reason)

    def open(self) -> int:
        return self._sample("neardup_api_connections")

    def _sample(self, name: str, **labels: str) -> int:
        return int(self._registry.prometheus.get_sample_value(name, labels) or 0)

    def leave(self) -> None:
        for client in self._clients:
            client.writer.transport.abort()


API = Api(
    port=0,
    max_connections=2,
    head_timeout_seconds=LONG,
    idle_timeout_seconds=LONG,
    request_timeout_seconds=LONG,
)


@asynccontextmanager
async def serving_endpoint(api: Api, endpoint: Endpoint) -> AsyncIterator[tuple[int, MetricRegistry]]:
    """Serve one operation for a minute at most; yield the port, and what holds the metrics."""
    registry = MetricRegistry()
    async with (
        asyncio.timeout(60),
        ApiServer(api, ApiMetrics(registry), registry.prometheus).serving([endpoint]) as port,
    ):
        yield port, registry


@asynccontextmanager
async def serving(api: Api = API) -> AsyncIterator[Server]:
    async def hold(_call: Call) -> Reply:
        server.begun.set()
        await server.go.wait()
        return Reply(Held(held=True))

    answers: Mapping[HTTPStatus, type[msgspec.Struct]] = {HTTPStatus.OK: Held}
    endpoint = Endpoint("GET", "/hold", "page", "Holds.", NoParams, None, answers, (), hold)
    async with serving_endpoint(api, endpoint) as (port, registry):
        server = Server(port, registry)
        yield server
        server.leave()
