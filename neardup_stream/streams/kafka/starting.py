"""Start clients of aiokafka so that one that does not start leaves no connection open."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, client
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.conn import AIOKafkaConnection, create_conn

from neardup_stream.errors import ConfigError

__all__ = ["host_names", "start_client"]


class _Starting:
    """A client that starts: tasks that it creates note their connections here, too, until it has started."""

    def __init__(self) -> None:
        self.is_over = False
        self.connections: list[AIOKafkaConnection] = []


_starting: ContextVar[_Starting | None] = ContextVar("starting", default=None)


async def start_client(starting: AIOKafkaAdminClient | AIOKafkaConsumer | AIOKafkaProducer) -> None:
    """Start a client; close the connections that it has opened if it does not start.

    By itself, one that is cancelled while it waits for the first answer of a broker forgets its connection.

    Raises:
        ConfigError: the name of a broker cannot be one of a host.
    """
    noted = _Starting()
    token = _starting.set(noted)
    try:
        with host_names():
            await starting.start()
    except BaseException:
        for connection in noted.connections:
            connection.close()
        raise
    finally:
        _starting.reset(token)
        noted.is_over = True
        noted.connections.clear()


@contextmanager
def host_names() -> Iterator[None]:
    """Raise what to correct where a name cannot be encoded for DNS, which is no error of a connection."""
    try:
        yield
    except UnicodeError as error:
        raise ConfigError(
            f"a broker's name cannot be one of a host ({error}): correct kafka.bootstrap_servers, or"
            " advertised.listeners of the brokers"
        ) from error


async def _create_noted(*where: Any, **options: Any) -> AIOKafkaConnection:
    connection = await create_conn(*where, **options)
    noted = _starting.get()
    if noted is not None and not noted.is_over:
        noted.connections.append(connection)
    return connection


client.create_conn = _create_noted
