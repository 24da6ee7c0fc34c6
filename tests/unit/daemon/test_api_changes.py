"""The port of the query API while what it serves changes, and as it is closed."""

import asyncio

import pytest
from neardup_daemon.query_api import server as server_module
from neardup_daemon.query_api.metrics import ApiMetrics
from neardup_daemon.query_api.server import ApiServer
from neardup_daemon.telemetry.metric_registry import MetricRegistry

from tests.unit.daemon.api_clients import API, LONG, Server, serving


async def test_what_takes_over_answers_new_connections_on_the_port_that_stays_open() -> None:
    registry = MetricRegistry()
    api = ApiServer(API, ApiMetrics(registry), registry.prometheus)
    async with asyncio.timeout(60), api.serving(None) as port:
        server = Server(port, registry)
        early, silent = await server.connect(), await server.connect()
        assert await early.get() == 503
        assert await early.is_ended()

        async with api.serving([]) as same_port:
            late = await server.connect()

            assert same_port == port
            assert [await late.get(), await late.get("/readyz"), await silent.get()] == [200, 200, 503]

        with pytest.raises(ConnectionRefusedError):
            await server.connect()
        server.leave()


async def test_a_stop_that_is_cut_short_waits_for_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_module, "_LAST_REQUESTS_SECONDS", LONG)
    monkeypatch.setattr(server_module, "_SHUTDOWN_SECONDS", LONG)
    leave, asked = asyncio.Event(), asyncio.get_running_loop().create_future()

    async def serve() -> None:
        async with serving() as server:
            client = await server.connect()
            client.send("/hold", {})
            await server.begun.wait()
            asked.set_result(client)
            await leave.wait()

    async with asyncio.timeout(60):
        task = asyncio.create_task(serve())
        client = await asked
        leave.set()
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await client.is_ended()


async def test_the_last_requests_are_answered_and_connections_without_any_are_not_waited_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(server_module, "_SHUTDOWN_SECONDS", LONG)
    registry = MetricRegistry()
    api = ApiServer(API, ApiMetrics(registry), registry.prometheus)
    async with asyncio.timeout(60):
        async with api.serving([]) as port:
            server = Server(port, registry)
            silent, last = await server.connect(), await server.connect()
            last.send("/openapi.json", {})

        assert await last.receive() == 200
        assert await silent.is_ended()
        server.leave()
