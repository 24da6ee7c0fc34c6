"""The fault proxy does each thing it is named for, and undoes it."""

import socket
import time
from collections.abc import Iterator

import pytest
import redis

from tests.servers.process import free_ports, wait_until
from tests.servers.proxy import Proxy, start_proxy
from tests.servers.redis import RedisServer

SHORT_SECONDS = 0.2
PATIENT_SECONDS = 20


@pytest.fixture
def proxy(redis_server: RedisServer) -> Iterator[Proxy]:
    with start_proxy(redis_server.port) as proxy:
        yield proxy


def ping(proxy: Proxy) -> bool:
    """Over a connection of its own."""
    with connect(proxy) as client:
        return answers(client)


def connect(proxy: Proxy) -> socket.socket:
    return socket.create_connection(("127.0.0.1", proxy.port), timeout=PATIENT_SECONDS)


def answers(client: socket.socket) -> bool:
    client.sendall(b"PING\r\n")
    return client.recv(100) == b"+PONG\r\n"


def test_without_faults_bytes_pass_both_ways(proxy: Proxy) -> None:
    value = bytes(range(256)) * 4096

    with redis.Redis(port=proxy.port) as client:
        client.set("proxied", value)

        assert client.get("proxied") == value


def test_a_cut_resets_what_is_open_and_takes_new_connections(proxy: Proxy) -> None:
    with connect(proxy) as client:
        assert answers(client)

        proxy.cut()

        with pytest.raises(ConnectionResetError):
            client.recv(100)
    assert ping(proxy)


def test_refusing_is_as_if_no_server_listened_until_healed(proxy: Proxy) -> None:
    with connect(proxy) as client:
        assert answers(client)

        proxy.refuse()

        with pytest.raises(ConnectionResetError):
            client.recv(100)
        with pytest.raises(ConnectionRefusedError):
            connect(proxy)
    proxy.heal()
    assert ping(proxy)


def test_a_half_open_connection_answers_nothing_and_is_reset_when_healed(proxy: Proxy) -> None:
    with connect(proxy) as client:
        assert answers(client)
        client.settimeout(SHORT_SECONDS)

        proxy.half_open()

        with pytest.raises(TimeoutError):
            answers(client)
        wait_until(lambda: proxy.harmed_count == 1, PATIENT_SECONDS)
        proxy.heal()
        with pytest.raises(ConnectionResetError):
            client.recv(100)
    assert ping(proxy)


def test_connections_that_lost_nothing_outlive_the_healing(proxy: Proxy) -> None:
    with connect(proxy) as client:
        assert answers(client)
        proxy.half_open()

        proxy.heal()

        assert answers(client)


def test_a_delay_holds_every_piece_back(proxy: Proxy) -> None:
    proxy.delay(SHORT_SECONDS)
    began = time.monotonic()

    assert ping(proxy)

    assert time.monotonic() - began >= 2 * SHORT_SECONDS
    proxy.heal()


def test_slices_carry_a_few_bytes_at_a_time_and_all_of_them(proxy: Proxy) -> None:
    value = bytes(range(256))
    proxy.slice(3)

    with redis.Redis(port=proxy.port) as client:
        client.set("sliced", value)

        assert client.get("sliced") == value


def test_a_server_that_is_not_there_resets_its_clients() -> None:
    # The reset may come before `connect` returns: then that raises.
    with (
        start_proxy(free_ports(1)[0]) as proxy,
        pytest.raises(ConnectionResetError),
        connect(proxy) as client,
    ):
        client.recv(100)


def test_a_closed_client_leaves_nothing_behind(proxy: Proxy) -> None:
    for _ in range(20):
        assert ping(proxy)

    wait_until(lambda: proxy.connection_count == 0, PATIENT_SECONDS)
