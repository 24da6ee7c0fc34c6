"""Ways in which Redis loses what it has acknowledged."""

import shutil
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import redis

from tests.chaos.slow_calls import own_calls, put_first
from tests.servers.process import wait_until
from tests.servers.redis import RedisCluster, RedisServer

__all__ = [
    "copy_of_cluster_keys",
    "copy_to_disk",
    "fail_over",
    "flush",
    "put_back",
    "start_from",
    "stop_following",
]

TAKEOVER_SECONDS = 60

_COPY = """
local copy = {}
for _, key in ipairs(redis.call('KEYS', '*{c}*')) do
  copy[#copy + 1] = key
  copy[#copy + 1] = redis.call('DUMP', key)
end
return copy
"""
_PUT_BACK = """
for _, key in ipairs(redis.call('KEYS', '*{c}*')) do redis.call('DEL', key) end
for at = 1, #ARGV, 2 do redis.call('RESTORE', ARGV[at], 0, ARGV[at + 1]) end
"""


def flush(server: RedisServer) -> None:
    """Lose everything at once."""
    with redis.Redis.from_url(server.url) as client, own_calls(client):
        client.flushall()


def copy_to_disk(server: RedisServer) -> Path:
    """Copy the file in which a server keeps everything; return where the copy is."""
    with redis.Redis.from_url(server.url) as client, own_calls(client):
        client.save()
        kept = Path(client.config_get("dir")["dir"], "dump.rdb")
    return Path(shutil.copy(kept, kept.with_name("older.rdb")))


def start_from(server: RedisServer, copy: Path) -> None:
    """Kill a server and start it with an older copy."""
    server.kill()
    shutil.copy(copy, copy.with_name("dump.rdb"))
    server.start_again()
    put_first([server])


def copy_of_cluster_keys(server: RedisServer) -> Mapping[bytes, bytes]:
    """Copy all keys of the hash tag of the clusters, at one moment."""
    with redis.Redis.from_url(server.url) as client, own_calls(client):
        words = client.eval(_COPY, 0)
    return dict(zip(words[::2], words[1::2], strict=True))


def put_back(server: RedisServer, copy: Mapping[bytes, bytes]) -> None:
    """Make the keys of that hash tag what they were, at one moment."""
    with redis.Redis.from_url(server.url) as client, own_calls(client):
        client.eval(_PUT_BACK, 0, *(word for pair in copy.items() for word in pair))


def stop_following(cluster: RedisCluster, master: RedisServer) -> None:
    """Cut the replica of a master off from its writes; it stays a replica, and may take over."""
    with _client(master) as client:
        (port,) = (each["port"] for each in _replicas(client))
        replica = next(node for node in cluster.nodes if node.port == port)
        with _client(replica) as other:
            other.config_set("masteruser", "unknown")
            other.config_set("masterauth", "wrong")
            client.execute_command("CLIENT", "KILL", "TYPE", "replica")
            wait_until(lambda: other.info("replication")["master_link_status"] == "down", TAKEOVER_SECONDS)


def fail_over(cluster: RedisCluster, key: str, lost_seconds: float) -> RedisServer:
    """Lose the writes of some seconds to the master of a key: its replica takes over without them.

    Returns:
        The former master, which runs again, as a replica.
    """
    victim = cluster.master_of(key)
    stop_following(cluster, victim)
    time.sleep(lost_seconds)
    victim.kill()
    wait_until(lambda: cluster.master_of(key) is not victim, TAKEOVER_SECONDS)
    victim.start_again()
    put_first([victim])
    return victim


def _client(server: RedisServer) -> redis.Redis:
    return redis.Redis.from_url(server.url, decode_responses=True)


def _replicas(client: redis.Redis) -> list[dict[str, Any]]:
    replication = client.info("replication")
    return [
        value for name, value in replication.items() if name.startswith("slave") and isinstance(value, dict)
    ]
