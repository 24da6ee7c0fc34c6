"""Half-open and malformed connections to the HTTP port."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractContextManager, ExitStack, asynccontextmanager

import aiohttp
import pytest
from neardup_daemon.connection_limits import ConnectionLimits, LimitedConnections
from neardup_daemon.health import Condition, serve_health
from neardup_daemon.metrics import Metrics
from neardup_daemon.metrics_page import MANY_CONNECTIONS
from prometheus_client import CollectorRegistry, Metric
from prometheus_client.registry import Collector

HEAD = b"GET / HTTP/1.1\r\n\r\n"
LONG = 3600.0


class Echo(asyncio.Protocol):
    """Sends back what comes, and reports a request that is never answered once a head has come."""

    def __init__(self, answering: Callable[[object], AbstractContextManager[None]]) -> None:
        self._answering = answering
        self._request = ExitStack()
        self._said = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        said, self._said = self._said, self._said + data
        if HEAD in self._said and HEAD not in said:
            self._request.enter_context(self._answering(self))
        self.transport.write(data)

    def connection_lost(self, exc: Exception | None) -> None:
        self._request.close()


Connection = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class Visitor:
    """One connection."""

    def __init__(self, connection: Connection) -> None:
        self._reader, self._writer = connection

    async def say(self, said: bytes) -> None:
        self._writer.write(said)
        assert await self._reader.readexactly(len(said)) == said

    async def is_ended(self) -> bool:
        """Wait until the other side ends the connection."""
        try:
            return await self._reader.read() == b""
        except ConnectionResetError:
            return True

    def leave(self) -> None:
        self._writer.close()


class Port:
    """A port with limits."""

    def __init__(self, port: int) -> None:
        self._port = port
        self.visitors: list[Visitor] = []

    async def visit(self) -> Visitor:
        visitor = Visitor(await asyncio.open_connection("127.0.0.1", self._port))
        self.visitors.append(visitor)
        return visitor


@asynccontextmanager
async def listening(limits: ConnectionLimits) -> AsyncIterator[Port]:
    connections = LimitedConnections(lambda: Echo(connections.answering), limits)
    server = await asyncio.get_running_loop().create_server(connections, "127.0.0.1", 0)
    async with asyncio.timeout(30), server:
        port = Port(server.sockets[0].getsockname()[1])
        yield port
        for visitor in port.visitors:
            visitor.leave()
        connections.close()


async def test_one_connection_too_many_ends_the_oldest_that_asked_nothing() -> None:
    async with listening(ConnectionLimits(3, LONG, LONG)) as port:
        asking, silent, younger = [await port.visit() for _ in range(3)]
        await asking.say(HEAD)
        await silent.say(b"GET / HTTP/1.1\r\n")
        await younger.say(b"x")

        newest = await port.visit()

        assert await silent.is_ended()
        for visitor in (asking, younger, newest):
            await visitor.say(b"still here")


async def test_where_all_have_asked_the_oldest_ends() -> None:
    async with listening(ConnectionLimits(2, LONG, LONG)) as port:
        oldest, younger = [await port.visit() for _ in range(2)]
        for visitor in (oldest, younger):
            await visitor.say(HEAD)

        newest = await port.visit()

        assert await oldest.is_ended()
        await younger.say(b"still here")
        await newest.say(b"here")


async def test_where_no_connection_that_asked_may_end_the_newest_is_refused() -> None:
    async with listening(ConnectionLimits(2, LONG, LONG, evicts_asking=False)) as port:
        asking, silent = [await port.visit() for _ in range(2)]
        await asking.say(HEAD)
        await silent.say(b"x")

        newer = await port.visit()
        assert await silent.is_ended()
        await newer.say(HEAD)
        newest = await port.visit()

        assert await newest.is_ended()
        for visitor in (asking, newer):
            await visitor.say(b"still here")


async def test_a_connection_that_leaves_makes_room() -> None:
    async with listening(ConnectionLimits(2, LONG, LONG)) as port:
        staying, leaving = [await port.visit() for _ in range(2)]
        await leaving.say(HEAD)
        leaving.leave()
        assert await leaving.is_ended()

        await (await port.visit()).say(HEAD)

        await staying.say(b"still here")


async def test_a_client_without_a_request_is_not_waited_for() -> None:
    async with listening(ConnectionLimits(9, 0.5, LONG)) as port:
        silent, halting = [await port.visit() for _ in range(2)]
        await halting.say(HEAD[:-1])

        assert await silent.is_ended()
        assert await halting.is_ended()


async def test_a_request_in_pieces_is_a_request() -> None:
    async with listening(ConnectionLimits(9, LONG, 0.05)) as port:
        visitor = await port.visit()
        for byte in HEAD:
            await visitor.say(bytes([byte]))

        assert await visitor.is_ended()


async def test_no_connection_stays_for_long() -> None:
    async with listening(ConnectionLimits(9, LONG, 0.05)) as port:
        visitor = await port.visit()
        await visitor.say(HEAD)

        assert await visitor.is_ended()


class Renderings(Collector):
    """Counts how often the metrics are rendered."""

    count = 0

    def collect(self) -> list[Metric]:
        self.count += 1
        return []


async def test_requests_of_many_connections_at_once_share_a_rendering() -> None:
    registry, renderings = CollectorRegistry(), Renderings()
    registry.register(renderings)
    count = 10 * MANY_CONNECTIONS
    async with (
        asyncio.timeout(60),
        serve_health("127.0.0.1", 0, lambda: Condition("ready"), registry) as port,
    ):
        renderings.count = 0
        connections = [await asyncio.open_connection("127.0.0.1", port) for _ in range(count)]
        for _, writer in connections:
            writer.write(b"GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n")
        for reader, writer in connections:
            assert (await reader.read()).startswith(b"HTTP/1.1 200 ")
            writer.close()

    assert renderings.count < count / 2


MALFORMED = {
    "nothing": b"\r\n\r\n",
    "tls": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
    "version": b"GET /metrics HTTP/9.9\r\n\r\n",
    "length": b"GET /metrics HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n",
    "chunk": b"GET /metrics HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n\r\n",
    "header": b"GET / HTTP/1.1\r\nHost: a\r\nA: " + b"a" * 20_000 + b"\r\n\r\n",
    "http2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
}


@pytest.mark.parametrize("request_", MALFORMED.values(), ids=MALFORMED)
async def test_malformed_requests_fill_no_log_and_the_next_is_answered(
    request_: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    async with (
        asyncio.timeout(30),
        serve_health("127.0.0.1", 0, lambda: Condition("ready"), Metrics().registry.prometheus) as port,
    ):
        for _ in range(10):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(request_)
            writer.write_eof()
            await reader.read()
            writer.close()
        async with aiohttp.ClientSession() as client, client.get(f"http://127.0.0.1:{port}/livez") as answer:
            assert answer.status == 200

    assert [record for record in caplog.records if record.levelno > logging.INFO] == []
