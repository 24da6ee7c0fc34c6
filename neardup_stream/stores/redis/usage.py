"""Measure how full Redis is: the memory of its fullest primary, and the page records that one index has."""

import random
from collections.abc import Mapping, Sequence
from math import sqrt
from typing import Any, Final, NamedTuple

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
        used_bytes: memory of the fullest primary: the one that has most of its limit, or most where none has
            a limit.
        max_bytes: its `maxmemory`; 0 if none has a limit.
        records_error: standard error of `records`; 0 where all slots were counted.
        fullest_primary: its `host:port`; empty for a server alone.
    """

    records: int
    used_bytes: int
    max_bytes: int
    records_error: int = 0
    fullest_primary: str = ""

    @property
    def most_records(self) -> int:
        """As many records as there may be: the estimate and three of its standard errors."""
        return self.records + 3 * self.records_error


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
        primaries = await self._client.by_master("INFO")
        fullest = max(primaries, key=lambda name: _fullness(primaries[name]))
        records, error = await self._records()
        return Usage(
            records=records,
            records_error=error,
            used_bytes=int(primaries[fullest]["used_memory"]),
            max_bytes=int(primaries[fullest]["maxmemory"]),
            fullest_primary=fullest,
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


def _fullness(info: Mapping[str, Any]) -> tuple[float, int]:
    """Return what primaries are compared by: the used share of the limit, then the bytes."""
    used, limit = int(info["used_memory"]), int(info["maxmemory"])
    return used / limit if limit else 0.0, used
