"""The index against brute force on real servers, for every layout of 4 to 8 blocks and 1 to 5 bits."""

import asyncio
import random

import msgspec
import pytest

from neardup_stream.bits.permutations import PermutedConfig
from neardup_stream.bits.words import hamming_distance
from neardup_stream.indexes.layout import IndexConfig, IndexLayout
from neardup_stream.indexes.permuted import PermutedIndex
from neardup_stream.indexes.protocol import IndexedPage, Probed
from neardup_stream.page import Fingerprint64, Handle
from neardup_stream.stores.redis.client import RedisClient
from neardup_stream.stores.redis.config import RedisConfig
from neardup_stream.stores.redis.keys import Keys
from neardup_stream.stores.redis.tables import RedisTables

LAYOUTS = [
    *(PermutedConfig(blocks, bits) for blocks in range(4, 9) for bits in range(1, 6) if blocks > bits),
    PermutedConfig(blocks=3, distance_bits=3, substrings=2),
    PermutedConfig(blocks=4, distance_bits=3, substrings=2),
]
BATCH_PAGES = 50


def planted_words(seed: int, distance_bits: int) -> list[int]:
    """Random words, half of them a few flipped bits from an earlier one, up to one bit too far."""
    dice = random.Random(seed)
    words = [dice.getrandbits(64) for _ in range(75)]
    for _ in range(75):
        word = dice.choice(words)
        for bit in dice.sample(range(64), dice.randint(0, distance_bits + 1)):
            word ^= 1 << bit
        words.append(word)
    return words


def index_on(client: RedisClient, namespace: str, layout: IndexLayout) -> PermutedIndex:
    keys = Keys(
        namespace=namespace,
        schema_id="00",
        shard_bits=layout.shard_bits,
        table_count=layout.table_count,
        bucket_bits=layout.key_bucket_bits,
        slot_bits=layout.slot_bits,
    )
    return PermutedIndex(RedisTables(client, keys), layout)


def seen_by(probed: Probed, stale_candidates: set[tuple[Handle, int]]) -> set[tuple[int, ...]]:
    """Return the stored members of these page versions that the probe read."""
    members = zip(*(column.tolist() for column in probed.seen), strict=True)
    return {each for each in members if each[-2:] in stale_candidates}


@pytest.mark.parametrize("server", ["redis_server", "valkey_server", "redis_cluster"])
@pytest.mark.parametrize("permuted", LAYOUTS, ids=str)
async def test_every_stored_fingerprint_within_distance_is_found_and_no_other(
    request: pytest.FixtureRequest, server: str, namespace: str, permuted: PermutedConfig
) -> None:
    distance_bits = permuted.distance_bits
    words = planted_words(64 * permuted.blocks + distance_bits, distance_bits)
    layout = IndexLayout(IndexConfig(permuted, expected_pages=10**7))
    pages = [IndexedPage(Handle(row), 1, Fingerprint64(word)) for row, word in enumerate(words)]
    found: list[set[int]] = []

    async with RedisClient(RedisConfig(request.getfixturevalue(server).url)) as client:
        index = index_on(client, namespace, layout)
        for at in range(0, len(pages), BATCH_PAGES):
            probed = await index.probe_and_insert(pages[at : at + BATCH_PAGES])
            found.extend({candidate.handle for candidate in each} for each in probed.candidates)

    assert found == [
        {row for row in range(later) if hamming_distance(words[row], words[later]) <= distance_bits}
        for later in range(len(words))
    ]


async def test_equal_fingerprints_of_different_pages_report_each_other_up_to_the_limit(
    request: pytest.FixtureRequest, namespace: str
) -> None:
    limit = 3
    layout = IndexLayout(IndexConfig(bucket_cap=1, oversized_same_fingerprint=limit))
    pages = [IndexedPage(Handle(row), 1, Fingerprint64(7)) for row in range(limit + 2)]

    async with RedisClient(RedisConfig(request.getfixturevalue("redis_server").url)) as client:
        index = index_on(client, namespace, layout)
        probed = [await index.probe_and_insert([page]) for page in pages]

    assert [len(each.candidates[0]) for each in probed] == [0, 1, 2, 3, 3]
    assert [each.truncated_rows for each in probed] == [frozenset()] * (limit + 1) + [{0}]
    assert [each.bucket_cap_hits for each in probed] == [0] * (limit + 2)


@pytest.mark.parametrize("server", ["redis_server", "valkey_server", "redis_cluster"])
async def test_bands_find_pages_whose_fingerprints_are_far_apart(
    request: pytest.FixtureRequest, server: str, namespace: str
) -> None:
    dice = random.Random(5)
    layout = IndexLayout(IndexConfig(bands=10))
    pages = [
        IndexedPage(
            Handle(row),
            1,
            Fingerprint64(dice.getrandbits(64)),
            [row % 7 << 8 if band == row % 10 else dice.getrandbits(32) for band in range(10)],
        )
        for row in range(100)
    ]

    async with RedisClient(RedisConfig(request.getfixturevalue(server).url)) as client:
        probed = await index_on(client, namespace, layout).probe_and_insert(pages)

    assert [[(found.handle, found.scheme) for found in each] for each in probed.candidates] == [
        [(row - 70, "sketch")] if row >= 70 else [] for row in range(100)
    ]


@pytest.mark.parametrize("server", ["redis_server", "valkey_server", "redis_cluster"])
async def test_what_is_removed_leaves_nothing_behind(
    request: pytest.FixtureRequest, server: str, namespace: str
) -> None:
    layout = IndexLayout(IndexConfig(bands=3))
    pages = [
        IndexedPage(Handle(row), 300 + row, Fingerprint64(word), (row, word & 7, 5))
        for row, word in enumerate(planted_words(1, 3))
    ]

    async with RedisClient(RedisConfig(request.getfixturevalue(server).url)) as client:
        index = index_on(client, namespace, layout)
        await index.probe_and_insert(pages)
        queries = [msgspec.structs.replace(page, handle=Handle(1000 + page.handle)) for page in pages]
        probed = await index.probe(queries)
        stale_candidates = {(page.handle, page.version & 0xFF) for page in pages[::2]}
        for _ in range(2):
            await index.remove_stale(probed, stale_candidates)
        left = await index.probe(queries)
        await index.remove(pages)
        await index.remove(pages)

        stale = seen_by(probed, stale_candidates)
        assert {each[-2:] for each in stale} == stale_candidates
        assert seen_by(left, stale_candidates).isdisjoint(stale)
        assert await stored_keys(client, namespace) == 0


async def test_of_eight_inserts_of_one_page_at_once_no_phantom_remains(
    request: pytest.FixtureRequest, namespace: str
) -> None:
    page = IndexedPage(Handle(1), 1, Fingerprint64(7), (1, 2))

    async with RedisClient(RedisConfig(request.getfixturevalue("redis_server").url)) as client:
        index = index_on(client, namespace, IndexLayout(IndexConfig(bands=2)))
        await asyncio.gather(*(index.probe_and_insert([page]) for _ in range(8)))
        await index.remove([page])

        assert await stored_keys(client, namespace) == 0


async def test_probes_for_what_is_absent_store_no_key(request: pytest.FixtureRequest, namespace: str) -> None:
    pages = [IndexedPage(Handle(row), 1, Fingerprint64(row << 50), (row,)) for row in range(1000)]

    async with RedisClient(RedisConfig(request.getfixturevalue("redis_server").url)) as client:
        await index_on(client, namespace, IndexLayout(IndexConfig(bands=1))).probe(pages)

        assert await stored_keys(client, namespace) == 0


@pytest.mark.parametrize(("count", "free_bits"), [(20_000, 0), (5_000, 24)], ids=["equal", "alike"])
async def test_a_page_among_thousands_in_one_range_costs_what_one_among_a_hundred_does(
    request: pytest.FixtureRequest, namespace: str, count: int, free_bits: int
) -> None:
    """Counted in commands, each of which reads at most 16 members.

    A script call that has read much ends early, and the next one looks at what is left of a page anew.
    """
    dice = random.Random(free_bits)
    config = IndexConfig()
    most_reads = 2.5

    async with RedisClient(RedisConfig(request.getfixturevalue("redis_server").url)) as client:
        index = index_on(client, namespace, IndexLayout(config))
        before = await range_reads(client)
        for start in range(0, count, 500):
            pages = [
                IndexedPage(Handle(row), 1, Fingerprint64(dice.getrandbits(free_bits)))
                for row in range(start, start + 500)
            ]
            probed = await index.probe_and_insert(pages)
        reads = await range_reads(client) - before

    assert reads <= count * 4 * most_reads
    assert max(map(len, probed.candidates)) <= config.oversized_candidates
    assert len(probed.truncated_rows) == 500


async def stored_keys(client: RedisClient, namespace: str) -> int:
    """Return how many keys a namespace has, on all nodes that are masters."""
    found = await client.by_node("KEYS", f"{namespace}:*")
    return len({key for keys in found.values() for key in keys})


async def range_reads(client: RedisClient) -> int:
    """Return how many ranges the server has read since it started."""
    info = await client.execute("INFO", "commandstats")
    return int(info.get("cmdstat_zrange", {"calls": 0})["calls"])
