"""Store page records in Redis: small hashes that stay packed, at most 32 records each as planned.

A slot is one hash: handle → record, and under the empty field, which can be no handle, the slot's version
floor, followed by a colon and the last two bytes of each handle whose record was dropped, or by an asterisk
where those are too many (`DROPPED_HANDLES`).
"""

from collections.abc import Sequence
from itertools import chain
from typing import Any, Final

import numpy as np

from neardup_stream.page import Handle
from neardup_stream.stores.page_record import record_header
from neardup_stream.stores.protocol import RankWrite, RecordAnswer, RecordChange, RecordDrop, WalkedRecords
from neardup_stream.stores.redis.by_handle import run_by_handle
from neardup_stream.stores.redis.client import RedisClient, Script, ScriptCall
from neardup_stream.stores.redis.keys import Keys
from neardup_stream.stores.redis.walking import WalkWidth, walk_hashes

__all__ = ["DROPPED_HANDLES", "KNOWN_FLOORS", "RedisRecords"]

_FETCH = Script.load("fetch_records")
_REPLACE = Script.load("replace_records")
_WRITE_RANKS = Script.load("write_ranks")
_DROP = Script.load("drop_records")

_FLOOR_FIELD = b""

DROPPED_HANDLES: Final = 256
"""Of which a slot remembers that they had a record; after more, any page there may have had one. A slot holds
some 32 pages, and a page that had none is taken for one that had in 1 of 256 cases at most."""

RECORDS_PER_CALL: Final = 500
"""One script call holds its server for some 2 ms: up to 4 µs a record were measured."""

KNOWN_FLOORS: Final = 1 << 18
"""Version floors that are remembered; each takes some 100 bytes."""


class RedisRecords:
    """A RecordStore over Redis.

    Args:
        client: reaches the server or cluster; opened and closed by its owner.
        keys: names the hashes.
    """

    def __init__(self, client: RedisClient, keys: Keys) -> None:
        self._client = client
        self._keys = keys
        self._floors: dict[int, int] = {}
        self._walk_width = WalkWidth()

    @property
    def slot_count(self) -> int:
        """See the contract."""
        return self._keys.slot_count

    def known_floor(self, handle: Handle) -> int:
        """See the contract."""
        return self._floors.get(self._keys.slot_of_handle(handle), 0)

    async def fetch(self, handles: Sequence[Handle]) -> list[bytes | None]:
        """See the contract."""
        return await self._run(_FETCH, handles, [()] * len(handles))

    async def replace(self, changes: Sequence[RecordChange]) -> list[RecordAnswer]:
        """See the contract."""
        answers = await self._run(
            _REPLACE,
            [change.handle for change in changes],
            [
                (change.expected or b"", change.new, b"%d" % (2 * change.floor + change.was_dropped))
                for change in changes
            ],
        )
        return [self._answer(change, answer) for change, answer in zip(changes, answers, strict=True)]

    async def write_ranks(self, writes: Sequence[RankWrite]) -> None:
        """See the contract."""
        headers = [(record_header(write.rank, write.version_byte),) for write in writes]
        await self._run(_WRITE_RANKS, [write.handle for write in writes], headers)

    async def drop(self, drops: Sequence[RecordDrop]) -> list[bool]:
        """See the contract."""
        gone = await self._run(
            _DROP,
            [drop.handle for drop in drops],
            [(drop.expected or b"", drop.floor) for drop in drops],
            DROPPED_HANDLES,
        )
        return [bool(each) for each in gone]

    async def walk(self, slot: int, slot_limit: int) -> WalkedRecords:
        """See the contract."""
        of_a_shard = self.slot_count // self._keys.shard_count
        end = min(slot + min(slot_limit, self._walk_width.slots), (slot // of_a_shard + 1) * of_a_shard)
        walked = await walk_hashes(self._client, self._keys.record_slots(range(slot, end)))
        self._walk_width.learn(end - slot, walked.read_count)
        records = [
            (Handle(int.from_bytes(field, "big")), value)
            for field, value in walked.fields
            if field != _FLOOR_FIELD
        ]
        return WalkedRecords(records, slot + walked.read_count)

    def _answer(self, change: RecordChange, answer: bytes | int | None) -> RecordAnswer:
        if answer is None:
            return RecordAnswer(change.new)
        if not isinstance(answer, int):
            return RecordAnswer(answer)
        floor, was_dropped = divmod(answer, 2)
        self._remember_floor(change.handle, floor)
        return RecordAnswer(None, floor, was_dropped=bool(was_dropped))

    def _remember_floor(self, handle: Handle, floor: int) -> None:
        slot = self._keys.slot_of_handle(handle)
        if slot not in self._floors and len(self._floors) >= KNOWN_FLOORS:
            del self._floors[next(iter(self._floors))]
        self._floors[slot] = floor

    async def _run(
        self,
        script: Script,
        handles: Sequence[Handle],
        arguments: Sequence[tuple[bytes | int, ...]],
        *common: int,
    ) -> list[Any]:
        """Run a script for each handle, with its own arguments before those of all; return the answers."""

        def call_for(part: list[int]) -> ScriptCall:
            own = [handles[i] for i in part]
            return ScriptCall(
                self._keys.records(own),
                (
                    np.array(own, dtype=">u8").tobytes(),
                    *chain.from_iterable([arguments[i] for i in part]),
                    *common,
                ),
            )

        return await run_by_handle(self._client, self._keys, script, handles, RECORDS_PER_CALL, call_for)
