"""The index against brute force: exactly the stored pages within the distance, for every layout."""

import asyncio

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neardup_stream.bits.permutations import PermutedConfig
from neardup_stream.bits.words import distance
from neardup_stream.indexes.layout import IndexConfig, IndexLayout
from neardup_stream.indexes.permuted import PermutedIndex
from neardup_stream.indexes.protocol import IndexedPage
from neardup_stream.page import Fingerprint64, Handle
from neardup_stream.stores.memory_tables import MemoryTables

WORD = st.integers(0, 2**64 - 1)
LAYOUTS = [
    (blocks, distance_bits)
    for blocks in range(4, 9)
    for distance_bits in range(1, 6)
    if blocks > distance_bits
]


def near_words(distance_bits: int) -> st.SearchStrategy[list[int]]:
    """Words of which many lie within or just beyond the distance of each other."""

    @st.composite
    def words(draw: st.DrawFn) -> list[int]:
        centers = draw(st.lists(WORD, min_size=1, max_size=4))
        flips = st.lists(st.integers(0, 63), max_size=distance_bits + 1)
        edits = draw(st.lists(st.tuples(st.sampled_from(centers), flips), max_size=16))
        return centers + [center ^ _mask(bits) for center, bits in edits]

    return words()


def _mask(bits: list[int]) -> int:
    mask = 0
    for bit in bits:
        mask ^= 1 << bit
    return mask


def pages_of(words: list[int]) -> list[IndexedPage]:
    return [IndexedPage(Handle(row + 1), 1, Fingerprint64(word)) for row, word in enumerate(words)]


def brute_force(words: list[int], distance_bits: int) -> list[set[int]]:
    """For each word, the handles of the earlier words within the distance."""
    return [
        {row + 1 for row in range(later) if distance(words[row], words[later]) <= distance_bits}
        for later in range(len(words))
    ]


async def candidates(index: PermutedIndex, batches: list[list[IndexedPage]]) -> list[set[int]]:
    found: list[set[int]] = []
    for batch in batches:
        probed = await index.probe_and_insert(batch)
        found.extend({candidate.handle for candidate in each} for each in probed.candidates)
    return found


@pytest.mark.parametrize(("blocks", "distance_bits"), LAYOUTS)
@settings(max_examples=25)
@given(data=st.data())
def test_every_stored_fingerprint_within_distance_is_found_and_no_other(
    data: st.DataObject, blocks: int, distance_bits: int
) -> None:
    words = data.draw(near_words(distance_bits))
    expected_pages = data.draw(st.sampled_from([1, 10**6, 10**9]))
    shards = data.draw(st.sampled_from([1, 16, 256]))
    cut = data.draw(st.integers(0, len(words)))
    layout = IndexLayout(
        IndexConfig(
            PermutedConfig(blocks, distance_bits),
            expected_pages=expected_pages,
            shards=shards,
            same_fingerprint_limit=len(words),
        )
    )
    pages = pages_of(words)

    found = asyncio.run(
        candidates(
            PermutedIndex(MemoryTables(), layout), [part for part in (pages[:cut], pages[cut:]) if part]
        )
    )

    assert found == brute_force(words, distance_bits)


@settings(max_examples=50)
@given(words=near_words(3))
def test_a_call_that_is_repeated_answers_the_same(words: list[int]) -> None:
    """A client that lost an answer calls again: no page may find one that came after it."""
    index = PermutedIndex(MemoryTables(), IndexLayout(IndexConfig()))

    first, again = (asyncio.run(candidates(index, [pages_of(words)])) for _ in range(2))

    assert first == again


@settings(max_examples=50)
@given(words=near_words(3), query=WORD)
def test_a_probe_finds_what_an_insert_would_and_stores_nothing(words: list[int], query: int) -> None:
    async def probe_twice(index: PermutedIndex) -> tuple[object, object]:
        await index.probe_and_insert(pages_of(words))
        page = IndexedPage(Handle(10**6), 1, Fingerprint64(query))
        other = IndexedPage(Handle(10**6 + 1), 1, Fingerprint64(query))
        return await index.probe([page, other]), await index.probe_and_insert([page])

    probed, inserted = asyncio.run(probe_twice(PermutedIndex(MemoryTables(), IndexLayout(IndexConfig()))))

    assert probed.candidates == inserted.candidates * 2  # type: ignore[attr-defined]
