"""How long does the query API take to answer while a stream runs, and what does that cost the stream?

    python -m benchmarks.api [--seconds 10] [--rate 200] [--stream 200] [--only "POST /v1/pages"] [--json]

Broker, Redis, one daemon and `serve` run on this machine. A stream of pages comes at a fixed rate all the
time: first alone, then beside requests to one operation after the other. Those are sent at a fixed rate
whether answers come or not, and timed from the moment they were due. Every answer is checked: its status,
the cluster of a page, the verdict of a page that is a copy, or none; each posted page has one decision of its
own, and the lists have what was fed. Requests that are refused with 429 are counted apart.
"""

import argparse
import asyncio
import json
import os
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from itertools import count
from pathlib import Path
from typing import Any

import aiohttp
import msgspec
import numpy as np
from rich.console import Console
from rich.table import Table

from neardup_stream.message import Message
from neardup_stream.streams.kafka.config import KafkaConnection, KafkaSinkConfig
from neardup_stream.streams.kafka.sink import KafkaSink
from tests.pipelines import essay, page_json
from tests.servers.daemon import Daemon, start_daemon
from tests.servers.kafka import start_kafka
from tests.servers.query_api import QueryApi, start_query_api
from tests.servers.redis import start_redis

ORIGINALS = 200
"""Pages that are stored before; every tenth of the others is a copy of one."""
COPY_EVERY = 10
BROKEN = 5
"""Records that are no pages: the dead letters."""
PARTITIONS = 2
TICK_SECONDS = 0.05
TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")

Ask = Callable[[int], Awaitable[None]]


@dataclass(frozen=True)
class Figures:
    """Of one operation.

    The daemon's CPU time is for each page that it delivered meanwhile, that of `serve` for each answer.
    """

    requests: int
    refused: int
    p50_ms: float
    p99_ms: float
    daemon_cpu_us: float
    serve_cpu_us: float
    stream_share: float


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=int, default=10)
    parser.add_argument("--rate", type=int, default=200, help="requests a second")
    parser.add_argument("--stream", type=int, default=200, help="pages a second of the stream")
    parser.add_argument("--only", help="one operation, such as POST /v1/pages")
    parser.add_argument("--json", action="store_true", help="one JSON line instead of the table")
    arguments = parser.parse_args()
    with ExitStack() as servers:
        broker = servers.enter_context(start_kafka())
        store = servers.enter_context(start_redis())
        for topic in ("pages", "events", "letters"):
            broker.create_topic(topic, PARTITIONS)
        settings = (
            f"kafka.bootstrap_servers={broker.bootstrap_servers}",
            *("kafka.pages_topic=pages", "kafka.events_topic=events", "kafka.dead_letters_topic=letters"),
            f"redis.url={store.url}",
        )
        daemon = servers.enter_context(start_daemon(settings))
        daemon.wait_until_ready()
        api = servers.enter_context(start_query_api(settings))
        run = Run(daemon, api, broker.bootstrap_servers, arguments.rate, arguments.stream)
        figures = asyncio.run(run.measure(arguments.seconds, arguments.only))
        assert daemon.stop() == 0
    if arguments.json:
        print(json.dumps({**vars(arguments), **{name: asdict(each) for name, each in figures.items()}}))
    else:
        print_table(figures, arguments.rate, arguments.stream)


class Run:
    """One run over running servers."""

    def __init__(self, daemon: Daemon, api: QueryApi, brokers: str, rate: int, stream: int) -> None:
        self._daemon, self._api, self._rate, self._stream = daemon, api, rate, stream
        self._base = f"http://127.0.0.1:{api.port}"
        connection = KafkaConnection(bootstrap_servers=brokers)
        self._pages = KafkaSink(KafkaSinkConfig(connection=connection, topic="pages"))
        self._names = count()
        self._sent = 0
        self._positions: set[tuple[int, int]] = set()
        self._clusters: list[str] = []
        self._refused = 0

    async def measure(self, seconds: int, only: str | None) -> dict[str, Figures]:
        """Measure the stream alone, then every operation beside it, or one of them."""
        async with self._pages, aiohttp.ClientSession(self._base) as self._client:
            await self._pages.send([_message(_original(n), essay(n)) for n in range(ORIGINALS)])
            await self._pages.send([Message(key=b"broken", value=b"{")] * BROKEN)
            self._sent = ORIGINALS + BROKEN
            await asyncio.to_thread(self._daemon.wait_for_pages, self._sent)
            for number in range(ORIGINALS):
                found = await self._get("/v1/pages", [("url", _url(_original(number)))])
                self._clusters.append(found["cluster"]["id"])
            operations: dict[str, Ask | None] = {
                "stream alone": None,
                "GET /v1/pages": self._page,
                "GET /v1/clusters": self._largest,
                "GET /v1/clusters/{id}": self._cluster,
                "GET /v1/clusters/{id}/links": self._links,
                "GET /v1/explain": self._explain,
                "POST /v1/compare": self._compare,
                "POST /v1/query": self._query,
                "GET /v1/hosts": self._hosts,
                "GET /v1/merges": self._merges,
                "GET /v1/dead-letters": self._dead_letters,
                "POST /v1/pages": self._decide,
            }
            if only:
                operations = {name: operations[name] for name in ("stream alone", only)}
            for ask in operations.values():  # connections, caches, kernels
                await self._beside_stream(ask, 1)
            return {name: await self._figures(ask, seconds) for name, ask in operations.items()}

    async def _figures(self, ask: Ask | None, seconds: int) -> Figures:
        before, cpu_before = self._delivered(), _cpu_seconds(self._daemon.pid)
        serve_before = _cpu_seconds(self._api.pid)
        due, self._refused = self._sent, 0
        delays_ms = await self._beside_stream(ask, seconds)
        in_time = self._delivered() - before
        await asyncio.to_thread(self._daemon.wait_for_pages, self._sent)
        cpu, serve_cpu = (
            _cpu_seconds(self._daemon.pid) - cpu_before,
            _cpu_seconds(self._api.pid) - serve_before,
        )
        return Figures(
            requests=len(delays_ms),
            refused=self._refused,
            p50_ms=float(np.percentile(delays_ms, 50)) if delays_ms else 0.0,
            p99_ms=float(np.percentile(delays_ms, 99)) if delays_ms else 0.0,
            daemon_cpu_us=cpu / (self._sent - due) * 1e6,
            serve_cpu_us=serve_cpu / (len(delays_ms) or 1) * 1e6,
            stream_share=in_time / (self._sent - due),
        )

    def _delivered(self) -> int:
        return int(self._daemon.metrics()["neardup_pages_total"])

    async def _beside_stream(self, ask: Ask | None, seconds: int) -> list[float]:
        """Return the delays of the answers, in milliseconds."""
        streaming = asyncio.create_task(self._feed(seconds))
        delays_ms = await self._ask_all(ask, seconds) if ask else []
        await streaming
        return delays_ms

    async def _feed(self, seconds: int) -> None:
        each = max(1, round(self._stream * TICK_SECONDS))
        begin = time.perf_counter()
        for tick in range(round(seconds / TICK_SECONDS)):
            await asyncio.sleep(begin + tick * TICK_SECONDS - time.perf_counter())
            await self._pages.send([_message(*self._next_page()) for _ in range(each)])
            self._sent += each

    async def _ask_all(self, ask: Ask, seconds: int) -> list[float]:
        begin = time.perf_counter()

        async def timed(number: int) -> float | None:
            due = begin + number / self._rate
            await asyncio.sleep(due - time.perf_counter())
            try:
                await ask(number)
            except Refused:
                self._refused += 1
                return None
            return (time.perf_counter() - due) * 1000

        delays_ms = await asyncio.gather(*(timed(number) for number in range(self._rate * seconds)))
        return [each for each in delays_ms if each is not None]

    def _next_page(self) -> tuple[str, str]:
        number = next(self._names)
        seed = number % ORIGINALS if number % COPY_EVERY == 0 else ORIGINALS + number
        return f"page-{number}", essay(seed)

    async def _get(self, path: str, params: Sequence[tuple[str, str]] = ()) -> Any:
        async with self._client.get(path, params=params) as answer:
            return await _checked(answer)

    async def _post(self, path: str, page: bytes) -> Any:
        async with self._client.post(path, data=page, headers=_JSON) as answer:
            return await _checked(answer)

    async def _page(self, number: int) -> None:
        url = _url(_original(number % ORIGINALS))
        found = await self._get("/v1/pages", [("url", url)])
        assert found["cluster"]["representative"]["url"] == url

    async def _cluster(self, number: int) -> None:
        found = await self._get(f"/v1/clusters/{self._clusters[number % ORIGINALS]}", [("limit", "20")])
        assert found["members"][0]["url"] == _url(_original(number % ORIGINALS))

    async def _links(self, number: int) -> None:
        found = await self._get(f"/v1/clusters/{self._clusters[number % ORIGINALS]}/links")
        assert found["pages"][0]["url"] == _url(_original(number % ORIGINALS))
        assert sum(link["is_tree"] for link in found["links"]) == len(found["pages"]) - 1

    async def _largest(self, _number: int) -> None:
        found = await self._get("/v1/clusters")
        assert found["largest"][0]["size"] >= 2, found

    async def _hosts(self, _number: int) -> None:
        found = await self._get("/v1/hosts")
        assert [host["host"] for host in found["hosts"]] == ["example.com"], found

    async def _merges(self, _number: int) -> None:
        found = await self._get("/v1/merges")
        assert (found["topic"], found["merges"]) == ("events", [])  # no page has matched two clusters
        assert found["records"] > 0

    async def _dead_letters(self, _number: int) -> None:
        found = await self._get("/v1/dead-letters")
        assert found["reasons"] == [{"reason": "not_json", "count": BROKEN}], found

    async def _compare(self, number: int) -> None:
        is_copy = number % 2 == 0
        text = essay(number % ORIGINALS) if is_copy else essay(10_000_000 + number)
        first, second = {"url": _url(_original(number % ORIGINALS))}, {"url": _url("asked"), "text": text}
        found = await self._post("/v1/compare", msgspec.json.encode({"first": first, "second": second}))
        assert found["is_match"] == is_copy, found
        assert found["second_text"]["lines"]

    async def _explain(self, number: int) -> None:
        urls = [_url(_original(each % ORIGINALS)) for each in (number, number + 1)]
        found = await self._get("/v1/explain", [("url", url) for url in urls])
        assert found["verdict"] == "unlike"

    async def _query(self, number: int) -> None:
        is_copy = number % 2 == 0
        text = essay(number % ORIGINALS) if is_copy else essay(10_000_000 + number)
        found = await self._post("/v1/query", page_json("asked", text))
        assert found["verdict"] == ("exact" if is_copy else "unique"), found

    async def _decide(self, _number: int) -> None:
        name, text = self._next_page()
        found = await self._post("/v1/pages", page_json(name, text))
        self._sent += 1
        is_copy = int(name.removeprefix("page-")) % COPY_EVERY == 0
        assert found["outcome"] == ("duplicate" if is_copy else "unique"), found
        position = found["position"]["partition"], found["position"]["offset"]
        assert position not in self._positions
        self._positions.add(position)


class Refused(Exception):  # noqa: N818 - an answer, not an error
    """The API had too many requests."""


async def _checked(answer: aiohttp.ClientResponse) -> Any:
    if answer.status == 429:
        raise Refused
    assert answer.status == 200, await answer.text()
    return await answer.json()


_JSON = {"Content-Type": "application/json"}


def _url(name: str) -> str:
    return f"https://example.com/{name}"


def _original(number: int) -> str:
    return f"original-{number}"


def _message(name: str, text: str) -> Message:
    return Message(key=_url(name).encode(), value=page_json(name, text))


def _cpu_seconds(pid: int) -> float:
    words = Path("/proc", str(pid), "stat").read_text().rpartition(")")[2].split()
    return (int(words[11]) + int(words[12])) / TICKS_PER_SECOND


def print_table(figures: dict[str, Figures], rate: int, stream: int) -> None:
    """Print what was measured."""
    table = Table(title=f"{rate} requests a second beside a stream of {stream} pages a second")
    for column in (
        "operation",
        "answered",
        "refused",
        "p50 ms",
        "p99 ms",
        "daemon CPU µs/page",
        "serve CPU µs",
        "delivered in time",
    ):
        is_name = column == "operation"
        table.add_column(column, justify="left" if is_name else "right", no_wrap=is_name)
    for name, each in figures.items():
        delays = (f"{each.p50_ms:.1f}", f"{each.p99_ms:.1f}") if each.requests else ("", "")
        table.add_row(
            name,
            f"{each.requests:,}",
            f"{each.refused:,}",
            *delays,
            f"{each.daemon_cpu_us:,.0f}",
            f"{each.serve_cpu_us:,.0f}" if each.requests else "",
            f"{each.stream_share:.1%}",
        )
    Console(width=130).print(table)


if __name__ == "__main__":
    main()
