"""One Redis, or a cluster of them: how to run a script on it, whatever happens to its servers.

A script call names its keys, so that a cluster can route it; on one server a batch is one call (or a few,
so that none holds the server for long), in a cluster one for each shard it touches.
"""

import asyncio
from collections.abc import Sequence
from hashlib import sha1
from importlib.resources import files
from typing import Any, NamedTuple, Self

from redis import exceptions

from neardup_stream.stores.redis_config import RedisConfig
from neardup_stream.stores.redis_supervisor import Supervisor

__all__ = ["RedisClient", "Script", "ScriptCall"]


class Script(NamedTuple):
    """A Lua script by its text and the name Redis gives it."""

    text: str
    sha: str

    @classmethod
    def load(cls, name: str, **constants: str) -> Self:
        """Read `<name>.lua` beside this file, each `@NAME@` replaced by a constant."""
        text = (files("neardup_stream.stores") / f"{name}.lua").read_text(encoding="utf-8")
        for constant, value in constants.items():
            text = text.replace(f"@{constant}@", value)
        return cls(text, sha1(text.encode()).hexdigest())  # noqa: S324 - the name Redis gives a script


class ScriptCall(NamedTuple):
    """One call of a script: its keys, all of one shard in a cluster, and its arguments."""

    keys: Sequence[str]
    args: Sequence[bytes | str | int]


class RedisClient:
    """Runs scripts on one server or on a cluster; an async context manager.

    Args:
        config: where it is.
    """

    def __init__(self, config: RedisConfig) -> None:
        self.config = config
        self.is_cluster = config.is_cluster
        self._supervisor = Supervisor(config)

    async def __aenter__(self) -> Self:
        """Reach the server.

        Raises:
            StoreUnavailable: nobody answers there now.
            ConfigError: somebody does, and refuses us.
        """
        try:
            async with self._supervisor.client() as client:
                await client.initialize()
                await client.ping()
        except BaseException:
            await self._supervisor.aclose()
            raise
        return self

    async def __aexit__(self, *exc: object) -> None:
        """Let go of every connection."""
        await self._supervisor.aclose()

    async def execute(self, *command: bytes | str | float) -> Any:
        """One command, for set-up and checks."""
        async with self._supervisor.client() as client:
            return await client.execute_command(*command)

    async def on_every_node(self, *command: str) -> list[Any]:
        """One command on every node, primaries and replicas; one answer each."""
        if not self.is_cluster:
            return [await self.execute(*command)]
        async with self._supervisor.client() as client:
            return [await client.execute_command(*command, target_nodes=node) for node in client.get_nodes()]

    async def run(self, script: Script, calls: Sequence[ScriptCall]) -> list[Any]:
        """Run the script once for each call.

        On one server in order, sent together; in a cluster all at once, so calls of one shard must be one
        call.
        """
        async with self._supervisor.client() as client:
            if self.is_cluster:
                ended = await asyncio.gather(
                    *(_run_one(client, script, call) for call in calls), return_exceptions=True
                )
                for answer in ended:  # only now, so that no write of ours trails behind a repeat
                    if isinstance(answer, BaseException):
                        raise answer
                return ended
            if len(calls) > 1:
                return await _run_in_order(client, script, calls)
            return [await _run_one(client, script, call) for call in calls]


async def _run_in_order(client: Any, script: Script, calls: Sequence[ScriptCall]) -> list[Any]:
    """Send all calls before the first answer: else each answer waits until this process looks for it."""
    pipeline = client.pipeline(transaction=False)
    for call in calls:
        pipeline.execute_command("EVALSHA", script.sha, len(call.keys), *call.keys, *call.args)
    answers: list[Any] = await pipeline.execute(raise_on_error=False)
    for number, answer in enumerate(answers):
        if isinstance(answer, exceptions.NoScriptError):
            return answers[:number] + [await _run_one(client, script, call) for call in calls[number:]]
        if isinstance(answer, Exception):
            raise answer
    return answers


async def _run_one(client: Any, script: Script, call: ScriptCall) -> Any:
    try:
        return await client.execute_command("EVALSHA", script.sha, len(call.keys), *call.keys, *call.args)
    except exceptions.NoScriptError:
        return await client.execute_command("EVAL", script.text, len(call.keys), *call.keys, *call.args)
