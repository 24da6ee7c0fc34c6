"""Bodies of requests to the query API: slow ones keep no other request waiting, and take bounded memory."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from neardup_daemon.settings.query_api import Api

from tests.unit.daemon.size_api import size_api

BODY = b'{"size": 12}'
LIMITS = Api(port=0, max_body_bytes=len(BODY), max_concurrent_requests=2, max_queued_requests=0)


class Client:
    """A connection with one request, whose head the server has read."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    async def ask(self) -> None:
        lines = [
            "POST /read HTTP/1.1",
            "Host: localhost",
            "Content-Type: application/json",
            f"Content-Length: {len(BODY)}",
            "Expect: 100-continue",
        ]
        self._writer.write("\r\n".join([*lines, "", ""]).encode())
        assert await self.status() == 100

    def send(self, part: bytes) -> None:
        self._writer.write(part)

    async def status(self) -> int:
        """Return the status of the next answer."""
        return int((await self._reader.readuntil(b"\r\n\r\n")).split()[1])

    def leave(self) -> None:
        self._writer.transport.abort()


@asynccontextmanager
async def clients(count: int) -> AsyncIterator[list[Client]]:
    """Yield clients that asked a server, each of whose bodies is still to be sent."""
    async with size_api(LIMITS) as port:
        connected = [Client(*await asyncio.open_connection("127.0.0.1", port)) for _ in range(count)]
        for each in connected:
            await each.ask()
        yield connected
        for each in connected:
            each.leave()


async def test_a_request_takes_its_turn_when_its_body_has_come() -> None:
    async with clients(5) as (*slow, first, second):
        for each in slow:
            each.send(BODY[:1])
        for quick in (first, second):
            quick.send(BODY)
            assert await quick.status() == 200

        for each in slow:
            each.send(BODY[1:])
            assert await each.status() == 200


async def test_bodies_hold_no_more_bytes_than_those_of_the_requests_that_may_run() -> None:
    async with clients(4) as (first, second, more, later):
        for each in (first, second, more):
            each.send(BODY[:-1])
        assert await more.status() == 429

        for each in (first, second):
            each.send(BODY[-1:])
            assert await each.status() == 200

        later.send(BODY)
        assert await later.status() == 200
