"""Measure how full Redis is: its memory, and how many page records one index has there."""

import random
from collections.abc import Sequence
from math import sqrt
from typing import Final, NamedTuple

from neardup_stream.stores.redis.client import RedisClient, Script, ScriptCall
from neardup_stream.stores.redis.keys import Keys

__all__ = ["RedisUsage", "Usage"]

_COUNT = Script.load("count_records")

_SLOTS_PER_CALL: Final = 1024
"""Counting them takes Redis a millisecond."""

_MOST_CALLS: Final = 16
_ENOUGH_RECORDS: Final = 1000
"""A sample of so many estimates the number of all within 3 %. One call finds them unless few are stored."""


class Usage(NamedTuple):
    """What is used of the servers.

    Attributes:
        records: page records of this index, stubs of removed pages included; an estimate.
        used_bytes: memory of all primaries together.
        max_bytes: their `maxmemory` together; 0 if one of them has no limit.
        records_error: standard error of `records`; 0 where all slots were counted.
    """

    records: int
    used_bytes: int
    max_bytes: int
    records_error: int = 0


class RedisUsage:
    """Measures the use of one index and of the servers it is on.

    Args:
        client: reaches them.
        keys: names the hashes of records.
    """

    def __init__(self, client: RedisClient, keys: Keys) -> None:
        self._client = client
        self._keys = keys

    async def measure(self) -> Usage:
        """Ask the servers, and count the records of a random sample of slots.

        Raises:
            StoreUnavailable: a server does not answer.

        Cost: INFO on every primary, and a script call of about 1 ms, up to 16 of them while the index is
        nearly empty; in a cluster as many for each shard.
        """
        primaries = (await self._client.by_master("INFO")).values()
        limits = [int(info["maxmemory"]) for info in primaries]
        records, error = await self._records()
        return Usage(
            records=records,
            records_error=error,
            used_bytes=sum(int(info["used_memory"]) for info in primaries),
            max_bytes=sum(limits) if all(limits) else 0,
        )

    async def _records(self) -> tuple[int, int]:
        """Return the estimate and its standard error: the variance of a count is about the count itself."""
        slot_count = self._keys.slot_count
        step = max(1, slot_count // _SLOTS_PER_CALL)  # slots of one call lie evenly over all
        found = seen = 0
        for first in random.sample(range(step), min(step, _MOST_CALLS)):
            slots = range(first, slot_count, step)
            counts: list[int] = await self._client.run(_COUNT, self._calls(slots))
            found, seen = found + sum(counts), seen + len(slots)
            if found >= _ENOUGH_RECORDS:
                break
        share = seen / slot_count
        return round(found / share), round(sqrt(max(found, 1) * (1 - share)) / share)

    def _calls(self, slots: Sequence[int]) -> list[ScriptCall]:
        """Return one call, or one for each shard in a cluster."""
        if not self._client.is_cluster:
            return [ScriptCall([self._keys.record_slot(slot) for slot in slots], ())]
        slots_per_shard = self._keys.slot_count // self._keys.shard_count
        by_shard: dict[int, list[str]] = {}
        for slot in slots:
            by_shard.setdefault(slot // slots_per_shard, []).append(self._keys.record_slot(slot))
        return [ScriptCall(keys, ()) for keys in by_shard.values()]
