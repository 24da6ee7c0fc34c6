"""Page records in Redis, Valkey and a cluster do what the reference store does."""

import random
from collections.abc import Iterator

import pytest

from neardup_stream.chunks import in_chunks
from neardup_stream.page import Handle
from neardup_stream.stores.memory.records import MemoryRecords
from neardup_stream.stores.protocol import (
    RankWrite,
    RecordAnswer,
    RecordChange,
    RecordDrop,
    RecordStore,
)
from neardup_stream.stores.redis.client import RedisClient
from neardup_stream.stores.redis.keys import Keys
from neardup_stream.stores.redis.records import DROPPED_HANDLES, RedisRecords
from neardup_stream.stores.redis.servers import inspect_servers

HANDLES = [Handle(slot << 60 | number) for slot in (0, 7, 15) for number in range(3)]
VALUES = [bytes(6) + bytes([version]) + b"body" * version for version in range(3)]


@pytest.fixture
def records(client: RedisClient, namespace: str) -> RedisRecords:
    """Over as many slots as the reference store has."""
    keys = Keys(namespace=namespace, schema_id="5c", shard_bits=2, table_count=1, bucket_bits=0, slot_bits=2)
    return RedisRecords(client, keys)


async def answers(store: RecordStore, random_source: random.Random) -> object:
    """Make one call of each kind with random wishes; return the answers, and what the store then holds."""
    choose = random_source.choice
    replaced = await store.replace(
        [
            RecordChange(
                choose(HANDLES),
                choose([None, *VALUES]),
                choose(VALUES),
                random_source.randrange(3),
                random_source.random() < 0.5,
            )
            for _ in range(4)
        ]
    )
    await store.write_ranks(
        [RankWrite(choose(HANDLES), random_source.randrange(3), random_source.randrange(2)) for _ in range(4)]
    )
    dropped = await store.drop(
        [RecordDrop(choose(HANDLES), choose([None, *VALUES]), random_source.randrange(3)) for _ in range(4)]
    )
    walked = [sorted((await store.walk(slot, 1)).records) for slot in range(store.slot_count)]
    return replaced, dropped, walked, await store.fetch(HANDLES)


def both(seed: int) -> Iterator[random.Random]:
    """Return the same dice twice."""
    return (random.Random(seed) for _ in range(2))


async def test_any_sequence_of_calls_is_answered_as_by_the_reference_store(records: RedisRecords) -> None:
    reference = MemoryRecords()
    assert records.slot_count == reference.slot_count

    for seed in range(100):
        one, other = both(seed)
        assert await answers(records, one) == await answers(reference, other)


async def test_a_hash_with_a_floor_and_records_within_the_limits_stays_packed(
    client: RedisClient, records: RedisRecords
) -> None:
    await inspect_servers(client)
    handles = [Handle(number) for number in range(64)]
    await records.replace([RecordChange(handle, None, bytes(500)) for handle in handles])
    await records.drop([RecordDrop(handles[0], bytes(500), floor=2**40)])

    encoding = await client.execute("OBJECT", "ENCODING", records._keys.record_slot(0))

    assert encoding == b"listpack"


@pytest.mark.parametrize(
    ("count", "is_any_dropped"),
    [
        pytest.param(DROPPED_HANDLES, False, id="as many as are remembered"),
        pytest.param(DROPPED_HANDLES + 1, True, id="more: any page may have been there"),
    ],
)
async def test_a_slot_remembers_a_bounded_number_of_dropped_handles(
    client: RedisClient, records: RedisRecords, count: int, *, is_any_dropped: bool
) -> None:
    await inspect_servers(client)
    handles = [Handle(number) for number in range(count)]
    for some in in_chunks(handles, 64):
        await records.replace([RecordChange(handle, None, b"old") for handle in some])
        await records.drop([RecordDrop(handle, b"old", floor=0) for handle in some])

    changes = [
        RecordChange(handle, None, b"new") for handle in (Handle(1), Handle(count - 1), Handle(2**16 - 1))
    ]
    answers = await records.replace(changes)

    assert answers == [
        RecordAnswer(None, 0, was_dropped=True),
        RecordAnswer(None, 0, was_dropped=True),
        RecordAnswer(None, 0, was_dropped=True) if is_any_dropped else RecordAnswer(b"new"),
    ]
    assert await client.execute("OBJECT", "ENCODING", records._keys.record_slot(0)) == b"listpack"


async def test_a_handle_that_is_dropped_again_and_again_is_remembered_once(records: RedisRecords) -> None:
    # The bytes of the third one and of the fifth lie across others.
    dropped = [Handle(end) for end in (0x0101, 0x0001, 0x0100, 0x0102, 0x0202)]
    for _ in range(DROPPED_HANDLES):
        await records.drop([RecordDrop(handle, None, floor=0) for handle in dropped])

    answers = await records.replace(
        [RecordChange(handle, None, b"new") for handle in (*dropped, Handle(0x0110))]
    )

    assert answers == [RecordAnswer(None, 0, was_dropped=True)] * 5 + [RecordAnswer(b"new")]


async def test_dropped_handles_are_distinguished_whatever_bytes_they_end_with(records: RedisRecords) -> None:
    """Some of these bytes mean something in a pattern, and some others lie across what a slot remembers."""
    dropped = [Handle(int.from_bytes(end, "big")) for end in (b".A", b"AA", b"..", b"%%", b"[[")]
    others = [Handle(int.from_bytes(end, "big")) for end in (b"A.", b"1:", b":.", b"B.")]
    await records.drop([RecordDrop(handle, None, floor=41) for handle in dropped])

    changes = [RecordChange(handle, None, b"new", floor=41) for handle in (*dropped, *others)]
    answers = await records.replace(changes)

    forgotten, written = RecordAnswer(None, 41, was_dropped=True), RecordAnswer(b"new")
    assert answers == [forgotten] * len(dropped) + [written] * len(others)
