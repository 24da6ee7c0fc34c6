"""Run a script for each of many handles, in calls of a bounded number, each to one shard."""

from collections.abc import Callable, Sequence
from typing import Any

from neardup_stream.chunks import in_chunks
from neardup_stream.stores.redis.client import RedisClient, Script, ScriptCall
from neardup_stream.stores.redis.keys import Keys

__all__ = ["run_by_handle"]


async def run_by_handle(
    client: RedisClient,
    keys: Keys,
    script: Script,
    handles: Sequence[int],
    handles_per_call: int,
    call_for: Callable[[list[int]], ScriptCall],
) -> list[Any]:
    """Return the script's answer to each handle, in order.

    Args:
        client: reaches the server or cluster.
        keys: knows the shards.
        script: answers with a list, a value for each handle of its call.
        handles: asked for.
        handles_per_call: most in one call.
        call_for: makes the call for those handles whose places it is given.
    """
    parts = _parts(client, keys, handles, handles_per_call)
    answers: list[Any] = [None] * len(handles)
    for part, values in zip(parts, await client.run(script, list(map(call_for, parts))), strict=True):
        for i, value in zip(part, values, strict=True):
            answers[i] = value
    return answers


def _parts(client: RedisClient, keys: Keys, handles: Sequence[int], per_call: int) -> list[list[int]]:
    """Return which places are sent together; in a cluster, those of one shard."""
    if not client.is_cluster:
        return list(in_chunks(list(range(len(handles))), per_call))
    by_shard: dict[int, list[int]] = {}
    for i, handle in enumerate(handles):
        by_shard.setdefault(keys.shard_of_handle(handle), []).append(i)
    return [part for places in by_shard.values() for part in in_chunks(places, per_call)]
