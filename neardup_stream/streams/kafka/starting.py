"""Start clients of aiokafka so that one that does not start leaves no connection open."""

from contextvars import ContextVar
from typing import Any

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, client
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.conn import AIOKafkaConnection, create_conn

__all__ = ["start_client"]

_opened: ContextVar[list[AIOKafkaConnection] | None] = ContextVar("opened", default=None)
"""The connections of the client that this task is starting."""


async def start_client(starting: AIOKafkaAdminClient | AIOKafkaConsumer | AIOKafkaProducer) -> None:
    """Start a client; close the connections that it has opened if it does not start.

    By itself, one that is cancelled while it waits for the first answer of a broker forgets its connection.
    """
    opened: list[AIOKafkaConnection] = []
    token = _opened.set(opened)
    try:
        await starting.start()
    except BaseException:
        for connection in opened:
            connection.close()
        raise
    finally:
        _opened.reset(token)


async def _create_noted(*where: Any, **options: Any) -> AIOKafkaConnection:
    connection = await create_conn(*where, **options)
    if (opened := _opened.get()) is not None:
        opened.append(connection)
    return connection


client.create_conn = _create_noted
