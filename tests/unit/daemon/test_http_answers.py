"""What both ports answer to requests that are none, and to bodies that cannot be decoded."""

import asyncio
import gzip
import json
import logging
import zlib
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import pytest
from neardup_daemon.health import Condition, serve_health
from neardup_daemon.query_api.endpoints import Call, Endpoint, Reply
from neardup_daemon.query_api.index_reading import NoParams
from neardup_daemon.query_api.metrics import ApiMetrics
from neardup_daemon.query_api.problems import Problem
from neardup_daemon.query_api.server import ApiServer
from neardup_daemon.settings.query_api import Api
from neardup_daemon.telemetry.metric_registry import MetricRegistry

from neardup_stream.errors import ConfigError, StoreUnavailable
from tests.unit.daemon.api_clients import serving_endpoint
from tests.unit.daemon.size_api import size_api

PAGE = b'{"size": 5}'


def api_port() -> AbstractAsyncContextManager[int]:
    return size_api(Api(port=0))


@asynccontextmanager
async def health_port() -> AsyncIterator[int]:
    condition = Condition("ready")
    async with (
        asyncio.timeout(60),
        serve_health("127.0.0.1", 0, lambda: condition, MetricRegistry().prometheus) as port,
    ):
        yield port


async def answer(port: int, request: bytes) -> tuple[int, Mapping[str, str], bytes]:
    """Return status, headers and body of what a server answers on a connection of its own."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(request)
    head = (await reader.readuntil(b"\r\n\r\n")).decode().splitlines()
    headers = dict(line.lower().split(": ", 1) for line in head[1:] if line)
    body = await reader.readexactly(int(headers["content-length"]))
    writer.transport.abort()
    return int(head[0].split()[1]), headers, body


def post(coding: str, body: bytes) -> bytes:
    lines = [
        "POST /read HTTP/1.1",
        "Host: localhost",
        "Content-Type: application/json",
        f"Content-Encoding: {coding}",
        f"Content-Length: {len(body)}",
    ]
    return "\r\n".join([*lines, "", ""]).encode() + body


@pytest.mark.parametrize(
    ("coding", "body"),
    [
        pytest.param("gzip", b"broken", id="gzip"),
        pytest.param("deflate", b"\xff\xffbroken", id="deflate"),
        pytest.param("deflate", zlib.compress(PAGE)[:-6], id="deflate-cut-off"),
        pytest.param("br", b"\xffbroken", id="brotli"),
    ],
)
async def test_a_body_that_cannot_be_decoded_is_a_problem_of_the_client_and_no_line_of_the_log(
    caplog: pytest.LogCaptureFixture, coding: str, body: bytes
) -> None:
    async with api_port() as port:
        caplog.clear()
        status, headers, problem = await answer(port, post(coding, body))

    assert (status, headers["content-type"]) == (400, "application/problem+json")
    assert json.loads(problem)["status"] == 400
    assert [record for record in caplog.records if record.levelno > logging.INFO] == []


async def test_a_compressed_body_is_read() -> None:
    async with api_port() as port:
        status, _, body = await answer(port, post("gzip", gzip.compress(PAGE)))

    assert (status, json.loads(body)) == (200, {"size": len(PAGE)})


@pytest.mark.parametrize("serving", [api_port, health_port])
@pytest.mark.parametrize(
    "sent",
    [
        pytest.param(b"rubbish\r\n\r\n", id="rubbish"),
        pytest.param(b"GET /livez HTTP/1.1\r\nHost: localhost\r\nExpect: rubbish\r\n\r\n", id="expect"),
        pytest.param(b"GET /nowhere HTTP/1.1\r\nHost: localhost\r\nExpect: rubbish\r\n\r\n", id="nowhere"),
    ],
)
async def test_what_is_no_request_is_answered_with_a_problem_document(serving: type, sent: bytes) -> None:
    async with serving() as port:
        status, headers, problem = await answer(port, sent)

    assert (status, headers["content-type"]) == (400, "application/problem+json")
    assert json.loads(problem)["title"] == "Bad Request"
    assert (headers["x-content-type-options"], headers["cache-control"]) == ("nosniff", "no-store")


@pytest.mark.parametrize("serving", [api_port, health_port])
@pytest.mark.parametrize(
    "request_line", ["GET /metrics HTTP/1.1", "GET /nowhere HTTP/1.1", "PUT /livez HTTP/1.1", "rubbish"]
)
async def test_no_answer_names_the_version_of_a_library(serving: type, request_line: str) -> None:
    async with serving() as port:
        _, headers, _ = await answer(port, f"{request_line}\r\nHost: localhost\r\n\r\n".encode())

    assert headers["server"] == "neardup-stream"


async def test_a_request_that_ends_by_a_bug_of_ours_is_counted() -> None:
    async def fail(_call: Call) -> Reply:
        raise ZeroDivisionError

    registry = MetricRegistry()
    endpoint = Endpoint("GET", "/fail", "page", "Fails.", NoParams, None, {}, (), fail)
    server = ApiServer(Api(port=0), ApiMetrics(registry), registry.prometheus)
    async with asyncio.timeout(60), server.serving([endpoint]) as port:
        status, _, _ = await answer(port, b"GET /fail HTTP/1.1\r\nHost: localhost\r\n\r\n")

    counted = registry.prometheus.get_sample_value(
        "neardup_api_requests_total", {"endpoint": "page", "status": "500"}
    )
    assert (status, counted) == (500, 1)


@pytest.mark.parametrize("error", [StoreUnavailable("redis: gone"), ConfigError("redis: it refuses us")])
async def test_what_a_request_has_begun_is_said_where_a_server_fails_after_that(error: Exception) -> None:
    async def fail(call: Call) -> Reply:
        if "X-Begun" in call.headers:
            call.begun("the page may be published or not")
        raise error

    endpoint = Endpoint("GET", "/fail", "page", "Fails.", NoParams, None, {}, (), fail)
    async with serving_endpoint(Api(port=0), endpoint) as (port, _):
        details = []
        for begun in (b"", b"X-Begun: 1\r\n"):
            status, headers, problem = await answer(
                port, b"GET /fail HTTP/1.1\r\nHost: localhost\r\n" + begun + b"\r\n"
            )
            assert (status, headers["retry-after"]) == (503, "1")
            details.append(json.loads(problem)["detail"])

    assert details == [str(error), f"{error}; the page may be published or not"]


async def test_a_client_that_leaves_while_it_sends_a_body_gets_no_answer_and_counts_for_none() -> None:
    registry = MetricRegistry()
    endpoint = Endpoint("POST", "/read", "page", "Reads.", NoParams, Problem, {}, (), answer_nothing)
    server = ApiServer(Api(port=0), ApiMetrics(registry), registry.prometheus)
    head = b"POST /read HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    async with asyncio.timeout(60), server.serving([endpoint]) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(head + b"Content-Length: 100\r\nExpect: 100-continue\r\n\r\n")
        assert b"100 Continue" in await reader.readuntil(b"\r\n\r\n")
        writer.transport.abort()

    (requests,) = [each for each in registry.prometheus.collect() if each.name == "neardup_api_requests"]
    assert not any(sample.value for sample in requests.samples)


async def answer_nothing(_call: Call) -> Reply:
    raise AssertionError("the body did not come")


async def test_without_an_index_the_probes_say_that_the_process_starts() -> None:
    registry = MetricRegistry()
    server = ApiServer(Api(port=0), ApiMetrics(registry), registry.prometheus)
    async with asyncio.timeout(60), server.serving(None) as port:
        answers = [
            await answer(port, b"GET %b HTTP/1.1\r\nHost: localhost\r\n\r\n" % path)
            for path in (b"/livez", b"/readyz")
        ]

    assert [(status, body) for status, _, body in answers] == [
        (200, b"starting\n"),
        (503, b"starting: there is no index\n"),
    ]
