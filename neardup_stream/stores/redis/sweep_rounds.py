"""Schedule the sweep's rounds in Redis: one counter and the server's clock."""

from neardup_stream.stores.redis.client import RedisClient, Script, ScriptCall
from neardup_stream.stores.redis.keys import swept_key
from neardup_stream.stores.sweep_rounds import Claim

__all__ = ["RedisSweepRounds"]

_CLAIM = Script.load("claim_slots")


class RedisSweepRounds:
    """A SweepRounds over Redis.

    Args:
        client: reaches the server or cluster; opened and closed by its owner.
        namespace: what the operator calls this index.
        schema_id: short name of everything that changes stored bytes.
    """

    def __init__(self, client: RedisClient, namespace: str, schema_id: str) -> None:
        self._client = client
        self._key = swept_key(namespace, schema_id)

    async def now_seconds(self) -> float:
        """See the contract."""
        return (await self.claim(0, 1, 1.0)).now_seconds

    async def claim(self, slot_limit: int, slot_count: int, round_seconds: float) -> Claim:
        """See the contract."""
        call = ScriptCall([self._key], [slot_limit, slot_count, str(round_seconds)])
        ((claimed, count, seconds, microseconds, behind),) = await self._client.run(_CLAIM, [call])
        return Claim(
            first_slot=int(claimed) % slot_count,
            slot_count=count,
            now_seconds=int(seconds) + int(microseconds) / 1e6,
            behind_seconds=behind / slot_count * round_seconds,
        )
