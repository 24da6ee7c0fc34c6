"""Walks through many small hashes, most of which may be empty, in few calls of bounded size."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from neardup_stream.stores.redis.client import RedisClient, Script, ScriptCall

__all__ = ["WALKED_BYTES", "WALKED_FIELDS", "WALKED_SLOTS", "WalkWidth", "WalkedHashes", "walk_hashes"]

_WALK = Script.load("walk_hashes")

WALKED_SLOTS: Final = 1024
"""Hashes that one call looks at: empty ones take some 0.3 ms of the server."""

_LEAST_SLOTS: Final = 64
"""A call names no fewer hashes, however full they are."""

WALKED_FIELDS: Final = 500
"""Fields that one call returns, but for those of a single hash: page records of 340 bytes take 0.7 ms."""

WALKED_BYTES: Final = 1 << 18
"""A call reads no hash behind so many bytes: addresses may be long."""


class WalkedHashes(NamedTuple):
    """What the first of some hashes hold.

    Attributes:
        read_count: how many were read.
        fields: of all of them, with their values.
    """

    read_count: int
    fields: list[tuple[bytes, bytes]]


class WalkWidth:
    """How many hashes the next call names: twice as many as the last one read."""

    def __init__(self) -> None:
        self.slots = WALKED_SLOTS

    def learn(self, named_count: int, read_count: int) -> None:
        """Take in how many hashes a call has named, and how many of them it has read."""
        wanted = 2 * (self.slots if read_count == named_count else read_count)
        self.slots = min(max(wanted, _LEAST_SLOTS), WALKED_SLOTS)


async def walk_hashes(client: RedisClient, keys: Sequence[str]) -> WalkedHashes:
    """Read the first of these hashes, all of one slot of a cluster; one call."""
    ((count, *contents),) = await client.run(_WALK, [ScriptCall(keys, [WALKED_FIELDS, WALKED_BYTES])])
    return WalkedHashes(count, list(zip(contents[::2], contents[1::2], strict=True)))
