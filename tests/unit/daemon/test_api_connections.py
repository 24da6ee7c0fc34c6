"""Connections of the query API's server: which stay, which end, and which make room."""

import asyncio
from collections.abc import Mapping

import pytest
from msgspec.structs import replace

from tests.servers.certificates import Authority
from tests.unit.daemon.api_clients import API, MET_SECONDS, SHORT, serving


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("api-certificates"))


@pytest.fixture(scope="module")
def tls(authority: Authority) -> Mapping[str, str]:
    """Settings of a server with TLS."""
    server = authority.sign("server")
    return {"tls_certificate_file": server.certificate_file, "tls_key_file": server.key_file}


async def test_as_many_connections_as_the_setting_says_are_kept_and_answered_again() -> None:
    async with serving() as server:
        first, second = await server.connect(), await server.connect()

        statuses = [await client.get() for client in (first, second, first, second)]

        assert statuses == [200] * 4
        assert (server.open(), server.ended("evicted")) == (2, 0)


async def test_at_the_limit_the_idle_connection_that_was_answered_longest_ago_makes_room() -> None:
    async with serving() as server:
        first, second = await server.connect(), await server.connect()
        for client in (first, second, first):
            await client.get()

        third = await server.connect()

        assert await third.get() == 200
        assert await second.is_ended()
        assert await first.get() == 200
        assert (server.open(), server.ended("evicted")) == (2, 1)


async def test_a_connection_that_asked_nothing_makes_room_before_an_idle_one() -> None:
    async with serving() as server:
        idle = await server.connect()
        await idle.get()
        silent = await server.connect()

        assert await (await server.connect()).get() == 200

        assert await silent.is_ended()
        assert await idle.get() == 200


async def test_where_most_connections_are_idle_one_of_them_makes_room_before_one_that_asked_nothing() -> None:
    """Clients that take no answers would leave few places for those that are about to ask."""
    async with serving(replace(API, max_connections=5)) as server:
        idle = [await server.connect() for _ in range(3)]
        for client in idle:
            await client.get()
        silent = [await server.connect() for _ in range(2)]

        assert await (await server.connect()).get() == 200

        assert await idle[0].is_ended()
        assert [await client.get() for client in (*silent, *idle[1:])] == [200] * 4


async def test_where_all_have_a_request_that_is_worked_on_the_newest_is_refused() -> None:
    async with serving() as server:
        working = [await server.connect() for _ in range(2)]
        for client in working:
            server.begun.clear()
            client.send("/hold", {})
            await server.begun.wait()

        refused = await server.connect()

        assert await refused.is_ended()
        assert server.ended("refused") == 1
        server.go.set()
        assert [await client.receive() for client in working] == [200, 200]


async def test_an_idle_connection_is_closed_after_its_time() -> None:
    async with serving(replace(API, idle_timeout_seconds=SHORT)) as server:
        client = await server.connect()

        assert await client.get() == 200
        assert await client.is_ended()
        assert (server.ended("idle_timeout"), server.open()) == (1, 0)


async def test_half_a_head_after_an_answer_does_not_keep_a_connection() -> None:
    async with serving(replace(API, idle_timeout_seconds=SHORT)) as server:
        client = await server.connect()
        await client.get()
        client.writer.write(b"GET / HTTP/1.1\r\n")

        assert await client.is_ended()


async def test_a_request_may_take_longer_than_heads_and_idle_connections_may() -> None:
    api = replace(API, head_timeout_seconds=MET_SECONDS, idle_timeout_seconds=MET_SECONDS)
    async with serving(api) as server:
        client = await server.connect()
        client.send("/hold", {})
        await server.begun.wait()
        asyncio.get_running_loop().call_later(3 * MET_SECONDS, server.go.set)

        assert await client.receive() == 200


@pytest.mark.parametrize("is_tls", [False, True])
async def test_a_connection_without_a_head_is_closed_after_its_time(
    tls: Mapping[str, str], *, is_tls: bool
) -> None:
    """With TLS: one that does not begin the handshake."""
    async with serving(replace(API, head_timeout_seconds=SHORT, **(tls if is_tls else {}))) as server:
        client = await server.connect()

        assert await client.is_ended()
        assert server.open() == 0
        assert server.ended("head_timeout") + server.ended("handshake") == 1


NO_REQUESTS = {"empty_lines": b"\r\n\r\n", "line_feeds": b"\n\n\r\n\r\n", "http2": b"PRI * HTTP/2.0\r\n\r\n"}
"""What ends like a head, and is none to the parser of the server."""


@pytest.mark.parametrize("sent", NO_REQUESTS.values(), ids=NO_REQUESTS)
async def test_what_only_ends_like_a_head_does_not_keep_a_connection(sent: bytes) -> None:
    async with serving(replace(API, head_timeout_seconds=SHORT)) as server:
        client = await server.connect()
        client.writer.write(sent)

        assert await client.is_ended()
        assert (server.ended("head_timeout"), server.open()) == (1, 0)


@pytest.mark.parametrize("sent", NO_REQUESTS.values(), ids=NO_REQUESTS)
async def test_connections_with_what_only_ends_like_a_head_make_room(sent: bytes) -> None:
    async with serving() as server:
        for _ in range(API.max_connections):
            (await server.connect()).writer.write(sent)

        clients = [await server.connect() for _ in range(API.max_connections)]

        assert [await client.get() for client in clients] == [200] * API.max_connections
        assert (server.ended("evicted"), server.ended("refused")) == (2, 0)


async def test_unfinished_handshakes_count_and_make_room(
    authority: Authority, tls: Mapping[str, str]
) -> None:
    async with serving(replace(API, **tls)) as server:
        silent, begun = await server.connect(), await server.connect()
        begun.writer.write(b"\x16\x03\x01\x02\x00")  # a record that does not go on

        client = await server.connect(authority.client_context(None))

        assert await client.get() == 200
        assert await silent.is_ended()
        assert (server.open(), server.ended("evicted")) == (2, 1)


async def test_a_handshake_that_fails_ends_its_connection_and_no_other(
    authority: Authority, tls: Mapping[str, str]
) -> None:
    async with serving(replace(API, **tls)) as server:
        plain = await server.connect()
        plain.send("/openapi.json", {})

        assert await plain.is_ended()
        client = await server.connect(authority.client_context(None))
        assert [await client.get(), await client.get()] == [200, 200]
        assert (server.open(), server.ended("handshake")) == (1, 1)


@pytest.mark.parametrize(("path", "status"), [("/openapi.json", 401), ("/hold", 401), ("/livez", 200)])
async def test_who_shows_no_token_keeps_no_connection(path: str, status: int) -> None:
    async with serving(replace(API, token="right")) as server:  # noqa: S106 - of this test
        stranger, friend = await server.connect(), await server.connect()

        assert await stranger.get(path) == status
        assert await stranger.is_ended()
        for _ in range(2):
            assert await friend.get(Authorization="Bearer right") == 200


async def test_a_body_that_was_refused_is_not_waited_for_for_long() -> None:
    async with serving(replace(API, token="right")) as server:  # noqa: S106 - of this test
        client = await server.connect()
        client.writer.write(b"POST /hold HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n")

        assert await client.receive() in (401, 405)
        assert await client.is_ended()


async def test_a_line_with_two_names_of_the_greatest_length_is_read() -> None:
    async with serving() as server:
        client = await server.connect()

        assert await client.get(f"/openapi.json?{'%F0%9D%84%9E' * 2 * 4096}") == 200
