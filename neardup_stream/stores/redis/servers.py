"""Check that a server can be trusted to keep what is written."""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from neardup_stream.errors import ConfigError
from neardup_stream.stores.redis.client import RedisClient

__all__ = ["MIN_VERSION", "PACKING_LIMITS", "ServerFacts", "inspect_servers", "prepare_servers"]

_logger = logging.getLogger(__name__)

MIN_VERSION = (6, 2)
"""The first Redis with ZRANGE … BYLEX."""

PACKING_LIMITS: Final[Mapping[str, int]] = {
    "zset-max-ziplist-entries": 512,
    "zset-max-ziplist-value": 64,
    "hash-max-ziplist-entries": 512,
    "hash-max-ziplist-value": 1200,
}
"""Below these a bucket, or a hash of page records, takes several times its bytes.

Names of Redis 6.2, which every later Redis and Valkey understands.
"""


@dataclass(frozen=True, slots=True)
class ServerFacts:
    """What was found at the servers.

    Attributes:
        name: product and version.
        warnings: what works but costs memory, each with its remedy.
        full_nodes: those that have as much as their `maxmemory`, and so refuse writes, by `host:port`; the
            name of a server alone is empty.
        is_replica: whether it is one server, and a replica, which refuses writes.
        clock_seconds: epoch seconds by each node that says so.
        forgetful_nodes: those that say that they keep no append-only file.
        disk_error_nodes: those that could not write their append-only file, or their last snapshot.
        unlimited_nodes: those that are no replicas and have no `maxmemory`.
    """

    name: str
    warnings: tuple[str, ...]
    full_nodes: tuple[str, ...] = ()
    is_replica: bool = False
    clock_seconds: tuple[float, ...] = ()
    forgetful_nodes: tuple[str, ...] = ()
    disk_error_nodes: tuple[str, ...] = ()
    unlimited_nodes: tuple[str, ...] = ()


async def inspect_servers(client: RedisClient) -> ServerFacts:
    """Check version, eviction policy and packing limits of every node; set the limits where allowed.

    Raises:
        ConfigError: a server is too old, or may evict what it stored.
    """
    by_node = await client.by_node("INFO")
    infos = list(by_node.values())
    for info in infos:
        _check_version(info)
        _check_policy(info)
    warnings = await _raise_limits(client)
    microseconds = [int(info["server_time_usec"]) for info in infos if "server_time_usec" in info]
    clocks = tuple(each / 1e6 for each in microseconds)
    return ServerFacts(
        _name(infos[0]),
        tuple(warnings),
        full_nodes=_nodes(by_node, _is_full),
        is_replica=not client.is_cluster and infos[0].get("role") == "slave",
        clock_seconds=clocks,
        forgetful_nodes=_nodes(by_node, _is_forgetful),
        disk_error_nodes=_nodes(by_node, _has_disk_error),
        unlimited_nodes=_nodes(by_node, _is_unlimited),
    )


async def prepare_servers(client: RedisClient) -> ServerFacts:
    """Do the same, and log the warnings."""
    facts = await inspect_servers(client)
    for warning in facts.warnings:
        _logger.warning("redis_packing_limit", extra={"fields": {"remedy": warning}})
    return facts


def _name(info: Mapping[str, Any]) -> str:
    if "valkey_version" in info:
        return f"Valkey {info['valkey_version']}"
    return f"Redis {info['redis_version']}"


def _nodes(infos: Mapping[str, Any], is_such: Callable[[Mapping[str, Any]], bool]) -> tuple[str, ...]:
    return tuple(name for name, info in infos.items() if is_such(info))


def _is_full(info: Mapping[str, Any]) -> bool:
    counted = int(info["used_memory"]) - int(info.get("mem_not_counted_for_evict", 0))
    return 0 < int(info["maxmemory"]) <= counted


def _is_unlimited(info: Mapping[str, Any]) -> bool:
    return not int(info["maxmemory"]) and info.get("role") != "slave"


def _is_forgetful(info: Mapping[str, Any]) -> bool:
    return not int(info.get("aof_enabled", 1))


def _has_disk_error(info: Mapping[str, Any]) -> bool:
    return any(info.get(name, "ok") != "ok" for name in ("aof_last_write_status", "rdb_last_bgsave_status"))


def _check_version(info: Mapping[str, Any]) -> None:
    version = tuple(int(part) for part in str(info["redis_version"]).split(".")[:2])
    if version < MIN_VERSION:
        wanted = ".".join(map(str, MIN_VERSION))
        raise ConfigError(f"{_name(info)} is too old: the tables need {wanted} or newer")


def _check_policy(info: Mapping[str, Any]) -> None:
    policy = info["maxmemory_policy"]
    if policy != "noeviction":
        raise ConfigError(
            f"Redis has maxmemory-policy {policy}, which silently loses stored pages; "
            "set it to noeviction (CONFIG SET maxmemory-policy noeviction, and in redis.conf)"
        )


async def _raise_limits(client: RedisClient) -> list[str]:
    """Set each packing limit that is too low, and return what to do about those that could not be set."""
    refused = []
    for name, wanted in PACKING_LIMITS.items():
        try:
            await _raise_limit(client, name, wanted)
        except ConfigError:
            refused.append(
                f"see that {name} is {wanted} or more, as in deploy/redis.conf: CONFIG is not allowed to this"
                " user"
            )
    return refused


async def _raise_limit(client: RedisClient, name: str, wanted: int) -> None:
    answers = await client.by_node("CONFIG GET", name)
    if any(int(value) < wanted for answer in answers.values() for value in answer.values()):
        await client.by_node("CONFIG SET", name, str(wanted))
