"""Attacks an HTTP port: many connections at once that are half-open, malformed or broken off.

`python -m tests.servers.http_attack PORT CONNECTIONS SECONDS` prints as JSON how many connections of each
kind there were.
"""

import asyncio
import json
import socket
import struct
import subprocess
import sys
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from random import Random
from typing import Final

__all__ = ["KINDS", "attack", "start_attack"]

_PAUSE_SECONDS: Final = 0.3
_MOST_SECONDS: Final = 15.0
_RESET: Final = struct.pack("ii", 1, 0)
_REQUEST: Final = b"GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n"
_ODD_VERSION: Final = b"GET /metrics HTTP/1.1\r\nHost: a\r\nAccept: text/plain; version=a\r\n\r\n"
_TLS_HELLO: Final = bytes.fromhex("1603010200010001fc0303") + bytes(range(256)) * 2

_Kind = Callable[[asyncio.StreamReader, asyncio.StreamWriter, Random], Awaitable[None]]


async def _slow_headers(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, random: Random) -> None:
    writer.write(b"GET /metrics HTTP/1.1\r\nHost: a\r\n")
    while not reader.at_eof():
        writer.write(b"X-%d: a\r\n" % random.randrange(1000))
        await writer.drain()
        with suppress(TimeoutError):
            async with asyncio.timeout(_PAUSE_SECONDS):
                await reader.read(1)


async def _half_open(reader: asyncio.StreamReader, _writer: asyncio.StreamWriter, _random: Random) -> None:
    await reader.read(1)


async def _garbage(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, random: Random) -> None:
    writer.write(random.randbytes(random.randrange(1, 20_000)) + b"\r\n\r\n")
    await reader.read()


async def _huge_headers(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, _random: Random) -> None:
    writer.write(b"GET /metrics HTTP/1.1\r\nHost: a\r\n")
    for _ in range(64):
        writer.write(b"X: " + b"a" * 16_000 + b"\r\n")
        await writer.drain()
    await reader.read()


async def _pipelined(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, _random: Random) -> None:
    writer.write(_REQUEST * 200)
    await writer.drain()
    await reader.read()


async def _unread(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter, _random: Random) -> None:
    writer.transport.pause_reading()  # type: ignore[attr-defined] # a socket's transport can
    writer.write(_REQUEST * 200)
    await asyncio.sleep(_PAUSE_SECONDS)


async def _tls_hello(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, _random: Random) -> None:
    writer.write(_TLS_HELLO)
    await reader.read()


async def _endless_body(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, _random: Random) -> None:
    writer.write(b"POST /metrics HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n")
    while not reader.at_eof():
        writer.write(b"400\r\n" + b"a" * 0x400 + b"\r\n")
        await writer.drain()
        with suppress(TimeoutError):
            async with asyncio.timeout(_PAUSE_SECONDS):
                await reader.read(1 << 16)


async def _odd_version(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, _random: Random) -> None:
    writer.write(_ODD_VERSION)
    await reader.read()


async def _reset(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter, random: Random) -> None:
    writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
    writer.write(_REQUEST[: random.randrange(len(_REQUEST) + 1)])
    await asyncio.sleep(random.random() * _PAUSE_SECONDS)


KINDS: Final[Mapping[str, _Kind]] = {
    "slow_headers": _slow_headers,
    "half_open": _half_open,
    "garbage": _garbage,
    "huge_headers": _huge_headers,
    "pipelined": _pipelined,
    "unread": _unread,
    "tls_hello": _tls_hello,
    "endless_body": _endless_body,
    "odd_version": _odd_version,
    "reset": _reset,
}


async def attack(port: int, connections: int, seconds: float) -> Counter[str]:
    """Keep so many connections open for so long, each kind in its turn; return how many there were."""
    ended: Counter[str] = Counter()
    end = asyncio.get_running_loop().time() + seconds
    with suppress(TimeoutError):
        async with asyncio.timeout_at(end), asyncio.TaskGroup() as group:
            for number in range(connections):
                group.create_task(_visit_again_and_again(port, number, ended))
    return ended


async def _visit_again_and_again(port: int, number: int, ended: Counter[str]) -> None:
    random, names = Random(number), list(KINDS)
    while True:
        kind = names[number % len(names)]
        number += 1
        try:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
        except OSError:
            ended["refused"] += 1
            await asyncio.sleep(_PAUSE_SECONDS)
            continue
        try:
            with suppress(OSError, TimeoutError):
                async with asyncio.timeout(_MOST_SECONDS):
                    await KINDS[kind](reader, writer, random)
        finally:
            ended[kind] += 1
            writer.transport.abort()


@contextmanager
def start_attack(port: int, connections: int, seconds: float) -> Iterator[Callable[[], dict[str, int]]]:
    """Attack from another process while the block runs; what is yielded waits for its end and its counts."""
    command = [sys.executable, "-m", __name__, str(port), str(connections), str(seconds)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as child:

        def counts() -> dict[str, int]:
            out, _ = child.communicate(timeout=seconds + 60)
            assert child.returncode == 0
            found: dict[str, int] = json.loads(out)
            return found

        try:
            yield counts
        finally:
            child.kill()


if __name__ == "__main__":
    json.dump(asyncio.run(attack(int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]))), sys.stdout)
