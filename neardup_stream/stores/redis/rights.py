"""Check that our Redis user has the rights that it needs.

A script that lacks one fails half-way, on Redis 7.0 without saying for want of what. So all of them are
looked at before any work starts.
"""

from typing import Final

from neardup_stream.errors import ConfigError
from neardup_stream.stores.redis.client import RedisClient, Script
from neardup_stream.stores.redis.keys import all_keys, meta_key

__all__ = ["REPLICA_RIGHTS", "RIGHTS", "require_rights"]

RIGHTS: Final = (
    *("ping", "info", "time", "eval", "evalsha"),
    *("hget", "hmget", "hgetall", "hscan", "hlen", "hstrlen", "hset", "hsetnx", "hincrby", "hdel"),
    *("zrange", "zlexcount", "zadd", "zrem"),
    *("llen", "lrange", "ltrim", "rpush"),
    *("get", "set", "del", "unlink", "incrby"),
)
"""Commands, which may touch keys that begin with `<namespace>:`."""

REPLICA_RIGHTS: Final = ("wait",)
"""Those besides with `durability = replica`, where what is written counts only once a replica has it."""

_MISSING = Script.load("missing_rights")


async def require_rights(client: RedisClient, namespace: str) -> None:
    """Return if our user may do all that we do.

    Raises:
        ConfigError: it may not; the message names every right that is missing, and the master of a cluster,
            each of which has users of its own.
        StoreUnavailable: the server does not answer now.

    Cost: one script call a master; replicas may be loading.
    """
    rights = RIGHTS if client.config.durability == "master" else (*RIGHTS, *REPLICA_RIGHTS)
    answers = await client.by_master("EVAL", _MISSING.text, "0", meta_key(namespace), *rights)
    for node, missing in answers.items():
        if missing:
            commands = " ".join(f"+{command.decode()}" for command in missing)
            raise ConfigError(
                f"Redis{node and ' at '}{node}: this user lacks rights: grant {commands} on keys"
                f" ~{all_keys(namespace)}"
            )
