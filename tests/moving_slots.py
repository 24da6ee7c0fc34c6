"""Slots that move from one node of a Redis cluster to another."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import redis
from redis.crc import key_slot

from tests.servers.redis import RedisCluster

__all__ = ["moving_slot", "other_key"]


@contextmanager
def moving_slot(cluster: RedisCluster, tag: bytes) -> Iterator[None]:
    """Some of its keys are here, and others nowhere yet: no script can run on both."""
    slot = key_slot(tag)
    with ExitStack() as stack:
        source, target = (
            stack.enter_context(redis.Redis.from_url(cluster.master_of(key).url))
            for key in (f"{{{tag.decode()}}}", other_key(cluster, tag))
        )
        ids = [node.execute_command("CLUSTER MYID").decode() for node in (source, target)]
        try:
            target.execute_command("CLUSTER SETSLOT", slot, "IMPORTING", ids[0])
            source.execute_command("CLUSTER SETSLOT", slot, "MIGRATING", ids[1])
            yield
        finally:
            for node in (source, target):
                node.execute_command("CLUSTER SETSLOT", slot, "STABLE")


def other_key(cluster: RedisCluster, tag: bytes) -> str:
    """Return a key on another master than the tag's."""
    home = cluster.master_of(f"{{{tag.decode()}}}")
    return next(key for key in map(str, range(100)) if cluster.master_of(key) is not home)
