"""Run scripts on one Redis or a cluster, while servers fail, move and return.

A script call names its keys, so that a cluster can route it; on one server a batch is one call (or a few,
so that none holds the server for long), in a cluster one for each shard it touches.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from hashlib import sha1
from importlib.resources import files
from typing import Any, NamedTuple, Self

from redis import exceptions

from neardup_stream.chunks import in_chunks
from neardup_stream.gather_all import gather_all
from neardup_stream.stores.redis.config import RedisConfig
from neardup_stream.stores.redis.sending import send, send_acknowledged, send_acknowledged_in_cluster
from neardup_stream.stores.redis.supervisor import Supervisor

__all__ = ["RedisClient", "Script", "ScriptCall"]


class Script(NamedTuple):
    """A Lua script by its text and the name Redis gives it."""

    text: str
    sha: str

    @classmethod
    def load(cls, name: str, **constants: str) -> Self:
        """Read `<name>.lua` beside this file, each `@NAME@` replaced by a constant."""
        text = (files("neardup_stream.stores.redis") / f"{name}.lua").read_text(encoding="utf-8")
        for constant, value in constants.items():
            text = text.replace(f"@{constant}@", value)
        return cls.of(text)

    @classmethod
    def of(cls, text: str) -> Self:
        """Return a script by its text."""
        return cls(text, sha1(text.encode()).hexdigest())  # noqa: S324 - the name Redis gives a script


class ScriptCall(NamedTuple):
    """One call of a script: its keys, all of one shard in a cluster, and its arguments."""

    keys: Sequence[str]
    args: Sequence[bytes | str | int]


_SCANNED_AT_ONCE = 500
_REMOVED_AT_ONCE = 16


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
            StoreUnavailable: no server answers there now.
            ConfigError: the server refuses us.
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
        """Close every connection."""
        await self._supervisor.aclose()

    async def execute(self, *command: bytes | str | float) -> Any:
        """Run one command, for set-up and checks."""
        async with self._supervisor.client() as client:
            return await client.execute_command(*command)

    async def by_node(self, *command: str) -> Mapping[str, Any]:
        """Run one command on every node, masters and replicas; return the answers as `by_master` does."""
        if not self.is_cluster:
            return {"": await self.execute(*command)}
        async with self._supervisor.client() as client:
            return await _answers(client, (await client.initialize()).get_nodes(), command)

    async def by_master(self, *command: str) -> Mapping[str, Any]:
        """Run one command on every master; return the answers by `host:port`.

        The name of a server alone is empty.
        """
        if not self.is_cluster:
            return {"": await self.execute(*command)}
        async with self._supervisor.client() as client:
            return await _answers(client, await _primaries(client), command)

    async def key_count(self) -> int:
        """Return how many keys the server holds, or all masters of a cluster together.

        Raises:
            ConfigError: the user may not ask (`dbsize`).
        """
        return sum(map(int, (await self.by_master("DBSIZE")).values()))

    async def delete_matching(self, pattern: str, kept_prefixes: Sequence[str] = ()) -> int:
        """Remove the keys that match a pattern, but for those that begin with one of some prefixes.

        Returns:
            How many were removed.

        Raises:
            ConfigError: the user may not (`scan`, `unlink`).
        Cost: the whole keyspace is scanned, some hundred keys at a time.
        """
        kept = tuple(prefix.encode() for prefix in kept_prefixes)
        async with self._supervisor.client() as client:
            nodes = await _primaries(client) if self.is_cluster else [None]
            return sum([await self._delete_on_node(client, node, pattern, kept) for node in nodes])

    async def _delete_on_node(self, client: Any, node: Any, pattern: str, kept: tuple[bytes, ...]) -> int:
        target = {"target_nodes": node} if node is not None else {}
        count, cursor = 0, b"0"
        while True:
            found, keys = await client.execute_command(
                "SCAN", cursor, "MATCH", pattern, "COUNT", _SCANNED_AT_ONCE, **target
            )
            # A cluster's client returns a cursor for each node that it asked.
            cursor = found if node is None else found[node.name]
            doomed = [key for key in keys if not key.startswith(kept)]
            # In a cluster a command takes keys of one slot, and needs a connection of its own.
            for some in in_chunks(doomed, _REMOVED_AT_ONCE):
                portions = [[key] for key in some] if self.is_cluster else [some]
                counts = await gather_all(client.execute_command("UNLINK", *each) for each in portions)
                count += sum(map(int, counts))
            if int(cursor) == 0:
                return count

    async def run(self, script: Script, calls: Sequence[ScriptCall]) -> list[Any]:
        """Run the script once for each call.

        On one server in order, sent together; in a cluster those of one shard in order, one after the other,
        and those of several at once.
        """
        async with self._supervisor.client() as client:
            if self.is_cluster:
                return await self._run_apart(client, script, calls)
            return await self._run_together(client, script, calls)

    async def _run_apart(self, client: Any, script: Script, calls: Sequence[ScriptCall]) -> list[Any]:
        by_shard: defaultdict[str, list[int]] = defaultdict(list)
        for number, call in enumerate(calls):
            by_shard["".join(call.keys[:1]).partition("}")[0]].append(number)
        answers: list[Any] = [None] * len(calls)

        async def run_in_order(numbers: Sequence[int]) -> None:
            for number in numbers:
                (answers[number],) = await self._run_together(client, script, [calls[number]])

        await gather_all(map(run_in_order, by_shard.values()))
        return answers

    async def _run_together(self, client: Any, script: Script, calls: Sequence[ScriptCall]) -> list[Any]:
        """On one connection, in order."""
        if not calls:
            return []
        answers = await self._send(client, calls, ["EVALSHA", script.sha])
        unknown_at = next(
            (at for at, answer in enumerate(answers) if isinstance(answer, exceptions.NoScriptError)), None
        )
        if unknown_at is not None:
            answers[unknown_at:] = await self._send(client, calls[unknown_at:], ["EVAL", script.text])
        for answer in answers:
            if isinstance(answer, Exception):
                raise answer
        return answers

    async def _send(self, client: Any, calls: Sequence[ScriptCall], begin: Sequence[str]) -> list[Any]:
        commands = [(*begin, len(call.keys), *call.keys, *call.args) for call in calls]
        counter = _counter_beside(calls)
        if self.config.durability == "master" or counter is None:
            return await send(client, commands)
        seconds = self.config.replica_seconds
        if self.is_cluster:
            return await send_acknowledged_in_cluster(client, commands[0], counter, seconds)
        return await send_acknowledged(client, commands, counter, seconds)


async def _answers(client: Any, nodes: Sequence[Any], command: Sequence[str]) -> Mapping[str, Any]:
    """Run a command on some nodes of a cluster, one after the other; return the answers by `host:port`."""
    return {node.name: await client.execute_command(*command, target_nodes=node) for node in nodes}


async def _primaries(client: Any) -> Sequence[Any]:
    """Return the masters of a cluster; a client that lost its connections asks for them anew."""
    await client.initialize()
    nodes: Sequence[Any] = client.get_primaries()
    return nodes


def _counter_beside(calls: Sequence[ScriptCall]) -> str | None:
    """Return the name of a counter in the slot of the calls' keys; None where they have no hash tag.

    Those are the two small hashes beside the index, whose writes the next acknowledged one covers.
    """
    keys = calls[0].keys
    stem, brace, _ = keys[0].partition("}") if keys else ("", "", "")
    return f"{stem}{brace}:acknowledged" if brace else None
