"""Sends commands to one server, over one connection, and reads what it answers.

Where a replica must have what is written, no answer is returned before one has. Replication is one ordered
stream for each server, so a write behind the commands, and `WAIT` for it, covers all that any client wrote
there before. It has to be a write of this very connection: `WAIT` asks about nothing else.
"""

from collections.abc import Sequence
from typing import Any, Final, TypeAlias

from redis import exceptions
from redis.asyncio import Redis
from redis.asyncio.cluster import PipelineCommand
from redis.asyncio.connection import AbstractConnection

from neardup_stream.stores.redis.errors import not_replicated

__all__ = ["Command", "send", "send_acknowledged", "send_acknowledged_in_cluster"]

Command: TypeAlias = Sequence[bytes | str | int]

_MOVED_OR_FAILED: Final = (
    exceptions.ConnectionError,
    exceptions.TimeoutError,
    exceptions.AskError,
    exceptions.TryAgainError,
    exceptions.ClusterDownError,
)
"""Answers after which the cluster's client looks for the slot's owner anew; MOVED is an AskError too."""


async def send(client: Any, commands: Sequence[Command]) -> list[Any]:
    """Send all commands before the first answer is read: else each waits until this process reads the last.

    To one server they go over a connection of the client's pool, and again where that fails, as the client
    would do; its own pipelines take more CPU time for each command.

    Args:
        client: of one server; of a cluster only for a single command, which it routes.
        commands: one or more.

    Returns:
        An answer for each, perhaps a ResponseError.

    Raises:
        ValueError: a cluster is to do several.
    """
    if not isinstance(client, Redis):
        (command,) = commands
        try:
            return [await client.execute_command(*command)]
        except exceptions.ResponseError as error:
            return [error]
    pool: Any = client.connection_pool
    connection = await pool.get_connection()
    try:
        answers: list[Any] = await connection.retry.call_with_retry(
            lambda: _exchange(connection, commands), lambda _error: connection.disconnect()
        )
        return answers
    finally:
        await pool.release(connection)


async def _exchange(connection: AbstractConnection, commands: Sequence[Command]) -> list[Any]:
    await connection.send_packed_command(connection.pack_commands(commands))
    answers: list[Any] = []
    for _ in commands:
        try:
            answers.append(await connection.read_response())
        except exceptions.ResponseError as error:
            answers.append(error)
    return answers


async def send_acknowledged(client: Any, commands: Sequence[Command], key: str, seconds: float) -> list[Any]:
    """Send the same, and return once a replica has all that the server had written until then.

    Args:
        client: of one server.
        commands: one or more.
        key: of a counter of ours.
        seconds: longest time to wait for the replica.

    Raises:
        StoreUnavailable: no replica has it in time.
    """
    answers = await send(client, [*commands, *_acknowledgement(key, seconds)])
    return _acknowledged(answers, seconds)


async def send_acknowledged_in_cluster(client: Any, command: Command, key: str, seconds: float) -> list[Any]:
    """Do the same for one command on the node that has the key's slot.

    The client's own ways would send the parts over different connections. Where the slot has moved, or its
    node is gone, they find the new one, by doing the command there; then it is done once more, with `WAIT`.
    """
    commands = [command, *_acknowledgement(key, seconds)]
    for _ in range(client.retry.get_retries() + 1):
        answers = await _send_to_owner(client, commands, key)
        if not any(isinstance(answer, _MOVED_OR_FAILED) for answer in answers):
            break
        await send(client, [command])
    return _acknowledged(answers, seconds)


async def _send_to_owner(client: Any, commands: Sequence[Command], key: str) -> list[Any]:
    await client.initialize()
    node = client.get_node_from_key(key)
    sent = [PipelineCommand(number, *command) for number, command in enumerate(commands)]
    try:
        await node.execute_pipeline(sent)
    except _MOVED_OR_FAILED as error:
        return [error]
    return [command.result for command in sent]


def _acknowledgement(key: str, seconds: float) -> list[Command]:
    return [("INCRBY", key, 1), ("WAIT", 1, round(seconds * 1000))]


def _acknowledged(answers: list[Any], seconds: float) -> list[Any]:
    for answer in answers[-2:]:
        if isinstance(answer, Exception):
            raise answer
    if answers[-1] < 1:
        raise not_replicated(seconds)
    return answers[:-2]
