"""The index against brute force on real servers, for every layout of 4 to 8 blocks and 1 to 5 bits."""

import random

import pytest

from neardup_stream.bits.permutations import PermutedConfig
from neardup_stream.bits.words import distance
from neardup_stream.indexes.layout import IndexConfig, IndexLayout
from neardup_stream.indexes.permuted import PermutedIndex
from neardup_stream.indexes.protocol import IndexedPage
from neardup_stream.page import Fingerprint64, Handle
from neardup_stream.stores.keys import Keys
from neardup_stream.stores.redis_client import RedisClient, RedisConfig
from neardup_stream.stores.redis_tables import RedisTables

LAYOUTS = [(blocks, bits) for blocks in range(4, 9) for bits in range(1, 6) if blocks > bits]
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
        bucket_bits=layout.bucket_bits,
        slot_bits=layout.slot_bits,
    )
    return PermutedIndex(RedisTables(client, keys), layout)


@pytest.mark.parametrize("server", ["redis_server", "valkey_server", "redis_cluster"])
@pytest.mark.parametrize(("blocks", "distance_bits"), LAYOUTS)
async def test_every_stored_fingerprint_within_distance_is_found_and_no_other(
    request: pytest.FixtureRequest, server: str, namespace: str, blocks: int, distance_bits: int
) -> None:
    words = planted_words(64 * blocks + distance_bits, distance_bits)
    layout = IndexLayout(IndexConfig(PermutedConfig(blocks, distance_bits), expected_pages=10**7))
    pages = [IndexedPage(Handle(row), 1, Fingerprint64(word)) for row, word in enumerate(words)]
    found: list[set[int]] = []

    async with RedisClient(RedisConfig(request.getfixturevalue(server).url)) as client:
        index = index_on(client, namespace, layout)
        for at in range(0, len(pages), BATCH_PAGES):
            probed = await index.probe_and_insert(pages[at : at + BATCH_PAGES])
            found.extend({candidate.handle for candidate in each} for each in probed.candidates)

    assert found == [
        {row for row in range(later) if distance(words[row], words[later]) <= distance_bits}
        for later in range(len(words))
    ]


async def test_equal_fingerprints_of_different_pages_report_each_other_up_to_the_limit(
    request: pytest.FixtureRequest, namespace: str
) -> None:
    limit = 3
    layout = IndexLayout(IndexConfig(same_fingerprint_limit=limit))
    pages = [IndexedPage(Handle(row), 1, Fingerprint64(7)) for row in range(limit + 2)]

    async with RedisClient(RedisConfig(request.getfixturevalue("redis_server").url)) as client:
        index = index_on(client, namespace, layout)
        probed = [await index.probe_and_insert([page]) for page in pages]

    assert [len(each.candidates[0]) for each in probed] == [0, 1, 2, 3, 3]
    assert [each.truncated_rows for each in probed] == [frozenset()] * (limit + 1) + [{0}]
    assert [each.bucket_cap_hits for each in probed] == [0] * (limit + 2)
