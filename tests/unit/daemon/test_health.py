import asyncio
import logging
import socket

import aiohttp
import pytest
from aiohttp.test_utils import make_mocked_request
from neardup_daemon.health import Condition, Health, State, is_live, is_ready, serve_health
from neardup_daemon.metrics import Metrics
from neardup_daemon.metrics_page import MANY_CONNECTIONS, MetricsPage
from neardup_daemon.telemetry.stalls import Progress, StallWatch

from neardup_stream.errors import ConfigError, InvariantBroken
from neardup_stream.message import Partition

PARTITION = Partition("pages", 0)


@pytest.fixture
def metrics() -> Metrics:
    return Metrics()


@pytest.mark.parametrize(
    ("state", "live", "ready"),
    [
        ("starting", True, False),
        ("ready", True, True),
        ("degraded", True, False),
        ("stalled", False, False),
        ("draining", True, False),
        ("stopped", False, False),
    ],
)
def test_what_a_supervisor_receives(state: State, *, live: bool, ready: bool) -> None:
    assert (is_live(Condition(state)), is_ready(Condition(state))) == (live, ready)


def test_readiness_is_a_metric(metrics: Metrics) -> None:
    health = Health(metrics.process)

    seen = []
    for state in ("ready", "degraded", "ready", "draining"):
        health.become(state)
        seen.append(b"neardup_ready 1.0" in metrics.registry.render())

    assert seen == [True, False, True, False]


def test_a_dependency_that_returns_does_not_end_the_draining(metrics: Metrics) -> None:
    health = Health(metrics.process)
    health.become("draining")

    health.become("degraded", "Redis is unavailable")
    health.recover()

    assert health.condition == Condition("draining")


@pytest.mark.parametrize("state", ["starting", "ready"])
def test_a_dependency_that_returns_leads_back_to_what_was_going_on(metrics: Metrics, state: State) -> None:
    health = Health(metrics.process)
    health.become(state)

    health.become("degraded", "Redis is unavailable")
    health.become("degraded", "Redis is still unavailable")
    degraded = health.condition
    health.recover()

    assert degraded == Condition("degraded", "Redis is still unavailable")
    assert health.condition == Condition(state)


def test_a_stalled_daemon_that_meets_a_lost_dependency_waits_for_it_and_is_live(metrics: Metrics) -> None:
    health = Health(metrics.process)
    for state in ("ready", "stalled"):
        health.become(state)

    health.become("degraded", "Redis is unavailable")
    waiting = is_live(health.condition)
    health.recover()

    assert (waiting, health.condition) == (True, Condition("ready"))


def test_a_daemon_that_has_work_and_does_none_of_it_is_not_live_until_it_moves(metrics: Metrics) -> None:
    health, stalls = Health(metrics.process), StallWatch(60)
    health.become("ready")

    seen = []
    for committed, now_seconds in ((7, 0), (7, 60), (8, 61)):
        health.watch(stalls, Progress({PARTITION: 5}, {PARTITION: committed}, 0), now_seconds)
        seen.append((health.condition.state, is_live(health.condition)))

    assert seen == [("ready", True), ("stalled", False), ("ready", True)]


def test_a_daemon_that_waits_for_a_dependency_is_not_stalled(metrics: Metrics) -> None:
    health, stalls = Health(metrics.process), StallWatch(60)
    for state in ("ready", "degraded"):
        health.become(state)

    for now_seconds in (0, 60, 1000):
        health.watch(stalls, Progress({PARTITION: 5}, {PARTITION: 7}, 3), now_seconds)

    assert health.condition.state == "degraded"


def test_a_stopped_daemon_stays_stopped(metrics: Metrics) -> None:
    health = Health(metrics.process)
    health.become("stopped")

    with pytest.raises(InvariantBroken, match="from stopped to ready"):
        health.become("ready")


def test_a_change_is_one_log_line_and_no_change_is_none(
    metrics: Metrics, caplog: pytest.LogCaptureFixture
) -> None:
    health = Health(metrics.process)

    with caplog.at_level("INFO"):
        health.become("ready")
        health.become("ready")

    assert [record.getMessage() for record in caplog.records] == ["state_changed"]


@pytest.mark.parametrize(
    ("condition", "path", "status", "body"),
    [
        pytest.param(Condition("ready"), "/livez", 200, "ready\n", id="live"),
        pytest.param(Condition("ready"), "/readyz", 200, "ready\n", id="ready"),
        pytest.param(Condition("starting"), "/readyz", 503, "starting\n", id="starting"),
        pytest.param(
            Condition("degraded", "no Redis"), "/readyz", 503, "degraded: no Redis\n", id="why-not-ready"
        ),
        pytest.param(
            Condition("degraded", "no Redis"), "/livez", 200, "degraded: no Redis\n", id="no-restart"
        ),
        pytest.param(Condition("ready"), "/", 404, "404: Not Found", id="no-such-page"),
    ],
)
async def test_the_pages_show_the_condition(
    metrics: Metrics, condition: Condition, path: str, status: int, body: str
) -> None:
    async with (
        serve_health("127.0.0.1", 0, lambda: condition, metrics.registry.prometheus) as port,
        aiohttp.ClientSession() as client,
        client.get(f"http://127.0.0.1:{port}{path}") as response,
    ):
        answer = (response.status, await response.text())

    assert answer == (status, body)


async def test_metrics_are_served_and_only_read(metrics: Metrics) -> None:
    metrics.pages(3, 10)

    async with (
        serve_health("127.0.0.1", 0, lambda: Condition("ready"), metrics.registry.prometheus) as port,
        aiohttp.ClientSession() as client,
    ):
        async with client.get(f"http://127.0.0.1:{port}/metrics") as response:
            page = await response.text()
            content_type = response.headers["Content-Type"]
        async with client.post(f"http://127.0.0.1:{port}/metrics") as response:
            refused = response.status

    assert "neardup_pages_total 3.0" in page
    assert content_type.startswith("text/plain")
    assert refused == 405


@pytest.mark.parametrize(
    ("accept", "content_type"),
    [
        ("text/plain", "text/plain"),
        ("application/openmetrics-text; version=1.0.0", "application/openmetrics-text"),
    ],
)
async def test_metrics_come_in_the_format_and_coding_that_the_scraper_takes(
    metrics: Metrics, accept: str, content_type: str
) -> None:
    async with (
        serve_health("127.0.0.1", 0, lambda: Condition("ready"), metrics.registry.prometheus) as port,
        aiohttp.ClientSession(headers={"Accept": accept, "Accept-Encoding": "gzip"}) as client,
        client.get(f"http://127.0.0.1:{port}/metrics") as response,
    ):
        answered = (response.content_type, response.headers["Content-Encoding"])

    assert answered == (content_type, "gzip")


async def test_a_version_that_is_no_number_is_answered_in_the_usual_format(
    metrics: Metrics, caplog: pytest.LogCaptureFixture
) -> None:
    async with (
        serve_health("127.0.0.1", 0, lambda: Condition("ready"), metrics.registry.prometheus) as port,
        aiohttp.ClientSession(headers={"Accept": "application/openmetrics-text; version=a"}) as client,
        client.get(f"http://127.0.0.1:{port}/metrics") as response,
    ):
        answered = (response.status, response.content_type)

    assert answered == (200, "text/plain")
    assert [record for record in caplog.records if record.levelno > logging.INFO] == []


async def test_only_the_metrics_that_are_named_are_served(metrics: Metrics) -> None:
    async with (
        serve_health("127.0.0.1", 0, lambda: Condition("ready"), metrics.registry.prometheus) as port,
        aiohttp.ClientSession() as client,
        client.get(f"http://127.0.0.1:{port}/metrics?name[]=neardup_pages_total") as response,
    ):
        names = {line.split()[0] for line in (await response.text()).splitlines() if line[0] != "#"}

    assert names == {"neardup_pages_total"}


async def test_of_requests_in_a_pipeline_the_first_is_answered(metrics: Metrics) -> None:
    async with serve_health("127.0.0.1", 0, lambda: Condition("ready"), metrics.registry.prometheus) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"GET /livez HTTP/1.1\r\nHost: a\r\n\r\n" * 3)
        answers = await reader.read()
        writer.close()

    assert answers.count(b"HTTP/1.1 200 OK") == 1


@pytest.mark.parametrize(("connections", "renderings"), [(MANY_CONNECTIONS, 4), (MANY_CONNECTIONS + 1, 2)])
async def test_requests_over_many_connections_share_a_rendering_for_a_second(
    metrics: Metrics, connections: int, renderings: int
) -> None:
    now = [100.0]
    page = MetricsPage(metrics.registry.prometheus, lambda: connections, lambda: now[0])
    seen = set()
    for number, moment in enumerate([100.0, 100.5, 100.999, 101.0]):
        now[0] = moment
        metrics.pages(1, number)
        answer = await page.answer(make_mocked_request("GET", "/metrics"))
        assert isinstance(answer.body, bytes)
        seen.add(answer.body)

    assert len(seen) == renderings


@pytest.mark.parametrize("host", ["a..b", "192.0.2.1"])
async def test_a_host_that_cannot_be_had_is_an_error_that_names_the_setting(
    metrics: Metrics, host: str
) -> None:
    with pytest.raises(ConfigError, match=rf"cannot listen on {host}:0: .*; correct http\.host"):
        async with serve_health(host, 0, lambda: Condition("ready"), metrics.registry.prometheus):
            pass


async def test_a_port_in_use_is_an_error_that_names_the_setting(metrics: Metrics) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]

        with pytest.raises(ConfigError, match=f"cannot listen on 127.0.0.1:{port}: .* http.port"):
            async with serve_health(
                "127.0.0.1", port, lambda: Condition("ready"), metrics.registry.prometheus
            ):
                pass
