"""A TCP proxy that does to connections what networks do: slow, cut, refused, half-open, in slices.

```python
with start_proxy(server.port) as proxy:
    client = redis.Redis(port=proxy.port)
    proxy.half_open()  # a client that sends now waits for ever
    proxy.heal()
```

It runs on a loop in a thread of its own, so tests with and without a loop use it alike. Each call returns
once the fault is there; a fault stays until `heal`, and faults of different kinds add up.
"""

import asyncio
import socket
import struct
import threading
from collections.abc import Coroutine, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from tests.servers.process import free_ports

__all__ = ["Proxy", "start_proxy"]

READ_BYTES = 1 << 16
CALL_SECONDS = 60
BACKLOG = 128

_RESET_AT_CLOSE = struct.pack("ii", 1, 0)
"""SO_LINGER with no time to linger: closing sends a reset."""


class Proxy:
    """Passes bytes between a port of 127.0.0.1 and a server on another; not for use on two threads at once.

    Attributes:
        port: where clients connect.
    """

    def __init__(self, target_port: int, port: int) -> None:
        self.port = port
        self._target = ("127.0.0.1", target_port)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="proxy", daemon=True)
        self._listening: asyncio.Task[None] | None = None
        self._links: set[_Link] = set()
        self._delay_seconds = 0.0
        self._slice_bytes = READ_BYTES
        self._swallows = False

    @property
    def connection_count(self) -> int:
        """How many connections pass through it now."""
        return len(self._links)

    @property
    def harmed_count(self) -> int:
        """How many of them have lost bytes."""
        return sum(link.lost_bytes for link in tuple(self._links))

    def delay(self, seconds: float) -> None:
        """Hold every piece back for so long, in both directions."""
        self._delay_seconds = seconds

    def slice(self, size_bytes: int) -> None:
        """Pass so few bytes at a time."""
        self._slice_bytes = size_bytes

    def half_open(self) -> None:
        """Swallow what is sent, answer nothing, keep connections and accept new ones, without an error."""
        self._swallows = True

    def cut(self) -> None:
        """Reset every connection, once; new ones are taken."""
        self._call(self._end(self._links))

    def refuse(self) -> None:
        """Reset every connection and refuse new ones, as if no server listened."""
        self._call(self._refuse())

    def heal(self) -> None:
        """End every fault. Connections that lost bytes are reset; the others go on."""
        self._delay_seconds, self._slice_bytes, self._swallows = 0.0, READ_BYTES, False
        self._call(self._end({link for link in self._links if link.lost_bytes}))
        self._call(self._listen())

    def start(self) -> None:
        """Begin to listen; called once."""
        self._thread.start()
        self._call(self._listen())

    def stop(self) -> None:
        """Reset every connection and end the thread; called once."""
        self._call(self._finish())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(CALL_SECONDS)
        self._loop.close()

    def _call(self, step: Coroutine[None, None, None]) -> None:
        asyncio.run_coroutine_threadsafe(step, self._loop).result(CALL_SECONDS)

    async def _listen(self) -> None:
        if self._listening is None:
            listener = socket.create_server(("127.0.0.1", self.port), backlog=BACKLOG)
            listener.settimeout(0)
            self._listening = asyncio.create_task(self._accept(listener))

    async def _refuse(self) -> None:
        if self._listening is not None:
            await _cancel([self._listening])
            self._listening = None
        await self._end(self._links)

    async def _finish(self) -> None:
        await self._refuse()
        while trailing := asyncio.all_tasks() - {asyncio.current_task()}:
            await asyncio.wait(trailing)

    async def _accept(self, listener: socket.socket) -> None:
        with listener:
            while True:
                client, _ = await self._loop.sock_accept(listener)
                client.settimeout(0)
                self._take(client)

    def _take(self, client: socket.socket) -> None:
        link = _Link()

        def forget(_task: asyncio.Task[None]) -> None:  # of a task that was ended before it began, too
            client.close()
            self._links.discard(link)

        link.task = asyncio.create_task(self._relay(link, client))
        link.task.add_done_callback(forget)
        self._links.add(link)

    async def _end(self, links: Iterable["_Link"]) -> None:
        await _cancel(link.task for link in links)

    async def _relay(self, link: "_Link", client: socket.socket) -> None:
        """Pass bytes both ways until one side closes; both see a reset if this is cancelled."""
        with socket.socket() as server:
            server.settimeout(0)
            ways: list[asyncio.Task[None]] = []
            try:
                await self._loop.sock_connect(server, self._target)
                ends = ((client, server), (server, client))
                ways = [asyncio.create_task(self._pass_on(link, *way)) for way in ends]
                await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
            except (asyncio.CancelledError, OSError):
                for side in (client, server):
                    side.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET_AT_CLOSE)
            finally:
                await _cancel(ways)

    async def _pass_on(self, link: "_Link", source: socket.socket, sink: socket.socket) -> None:
        sink.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        while data := await self._loop.sock_recv(source, READ_BYTES):
            await asyncio.sleep(self._delay_seconds)
            if self._swallows:
                link.lost_bytes = True
                continue
            for begin in range(0, len(data), size_bytes := self._slice_bytes):
                await self._loop.sock_sendall(sink, data[begin : begin + size_bytes])
                await asyncio.sleep(0)
        if self._swallows:  # nor does the other side learn that this one is gone
            link.lost_bytes = True
            await asyncio.Event().wait()


@dataclass(eq=False)
class _Link:
    """One connection of a client, and ours to the server."""

    lost_bytes: bool = False
    task: asyncio.Task[None] = field(init=False)


async def _cancel(tasks: Iterable[asyncio.Task[None]]) -> None:
    """Cancel all tasks, then wait for their ends, whatever these are."""
    ending = list(tasks)
    for task in ending:
        task.cancel()
    await asyncio.gather(*ending, return_exceptions=True)


@contextmanager
def start_proxy(target_port: int, port: int | None = None) -> Iterator[Proxy]:
    """Run a proxy until the block ends.

    Args:
        target_port: of the server on 127.0.0.1, which need not run yet.
        port: where to listen; None takes a free one.
    """
    proxy = Proxy(target_port, port or free_ports(1)[0])
    proxy.start()
    try:
        yield proxy
    finally:
        proxy.stop()
