"""The index against brute force: exactly the stored pages within the distance, for every layout."""

import asyncio

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neardup_stream.bits.permutations import PermutedConfig
from neardup_stream.bits.words import hamming_distance
from neardup_stream.indexes.layout import IndexConfig, IndexLayout
from neardup_stream.indexes.permuted import PermutedIndex
from neardup_stream.indexes.protocol import IndexedPage
from neardup_stream.page import Fingerprint64, Handle
from tests.doubles.tables import MemoryTables

WORD = st.integers(0, 2**64 - 1)
LOW_BITS = st.sampled_from([0, 1, 2, 4, 0x80, 0x100])
LAYOUTS = [
    *(
        PermutedConfig(blocks, distance_bits)
        for blocks in range(4, 9)
        for distance_bits in range(1, 6)
        if blocks > distance_bits
    ),
    PermutedConfig(blocks=3, distance_bits=3, substrings=2),
    PermutedConfig(blocks=4, distance_bits=3, substrings=2),
    PermutedConfig(blocks=2, distance_bits=4, substrings=3),
]


def near_words(distance_bits: int) -> st.SearchStrategy[list[int]]:
    """Return words of which many lie within or just beyond the distance of each other."""

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


def near_bands(count: int) -> st.SearchStrategy[list[tuple[int, ...]]]:
    """Bands of `count` pages, three each, of which many are equal, or are but for their lowest bits."""
    word = st.builds(lambda stem, flips: stem ^ flips, st.sampled_from([0, 2**32 - 1, 0x8000_0100]), LOW_BITS)
    return st.lists(st.tuples(word, word, word), min_size=count, max_size=count)


def brute_force(words: list[int], distance_bits: int) -> list[set[int]]:
    """For each word, the handles of the earlier words within the distance."""
    return [
        {row + 1 for row in range(later) if hamming_distance(words[row], words[later]) <= distance_bits}
        for later in range(len(words))
    ]


async def candidates(index: PermutedIndex, batches: list[list[IndexedPage]]) -> list[set[int]]:
    found: list[set[int]] = []
    for batch in batches:
        probed = await index.probe_and_insert(batch)
        found.extend({candidate.handle for candidate in each} for each in probed.candidates)
    return found


@pytest.mark.parametrize("permuted", LAYOUTS, ids=str)
@settings(max_examples=25)
@given(data=st.data())
def test_every_stored_fingerprint_within_distance_is_found_and_no_other(
    data: st.DataObject, permuted: PermutedConfig
) -> None:
    words = data.draw(near_words(permuted.distance_bits))
    expected_pages = data.draw(st.sampled_from([1, 10**6, 10**9]))
    shards = data.draw(st.sampled_from([1, 16, 256]))
    cut = data.draw(st.integers(0, len(words)))
    layout = IndexLayout(
        IndexConfig(
            permuted,
            expected_pages=expected_pages,
            shards=shards,
        )
    )
    pages = pages_of(words)

    found = asyncio.run(
        candidates(
            PermutedIndex(MemoryTables(), layout), [part for part in (pages[:cut], pages[cut:]) if part]
        )
    )

    assert found == brute_force(words, permuted.distance_bits)


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


@settings(max_examples=100)
@given(data=st.data(), words=near_words(3), expected_pages=st.sampled_from([1, 10**6, 10**9]))
def test_with_bands_a_page_is_a_candidate_if_near_or_equal_in_a_band(
    data: st.DataObject, words: list[int], expected_pages: int
) -> None:
    bands = data.draw(near_bands(len(words)))
    layout = IndexLayout(
        IndexConfig(
            expected_pages=expected_pages,
            bands=3,
        )
    )
    dropped_bits = 32 - 8 - layout.band_bucket_bits - layout.band_suffix_bits
    pages = [
        msgspec.structs.replace(page, bands=own) for page, own in zip(pages_of(words), bands, strict=True)
    ]

    probed = asyncio.run(PermutedIndex(MemoryTables(), layout).probe_and_insert(pages))

    near = brute_force(words, 3)
    for later, each in enumerate(probed.candidates):
        sharing = {
            row + 1
            for row in range(later)
            if any(
                mine >> dropped_bits == its >> dropped_bits
                for mine, its in zip(bands[later], bands[row], strict=True)
            )
        }
        assert {found.handle for found in each} == near[later] | sharing
        assert {found.handle for found in each if found.scheme == "simhash"} == near[later]
    assert probed.truncated_rows == frozenset()


@settings(max_examples=100)
@given(
    words=near_words(3),
    considered=st.integers(1, 12),
    same=st.integers(1, 3),
    candidate_limit=st.integers(1, 6),
)
def test_no_candidate_is_missed_unless_the_row_is_truncated(
    words: list[int], considered: int, same: int, candidate_limit: int
) -> None:
    layout = IndexLayout(
        IndexConfig(
            bucket_cap=1,
            oversized_considered=considered,
            oversized_same_fingerprint=same,
            oversized_candidates=candidate_limit,
        )
    )

    probed = asyncio.run(PermutedIndex(MemoryTables(), layout).probe_and_insert(pages_of(words)))

    for row, (each, near) in enumerate(zip(probed.candidates, brute_force(words, 3), strict=True)):
        assert {found.handle for found in each} <= near
        assert row in probed.truncated_rows or {found.handle for found in each} == near


@settings(max_examples=50)
@given(words=near_words(3), removed=st.sets(st.integers(0, 19)))
def test_pages_that_were_removed_are_as_if_they_had_never_been(words: list[int], removed: set[int]) -> None:
    async def found_by(stored: list[IndexedPage], gone: list[IndexedPage]) -> object:
        index = PermutedIndex(MemoryTables(), layout)
        await index.probe_and_insert(stored)
        await index.remove(gone)
        await index.remove(gone)
        return (await index.probe(queries)).candidates

    layout = IndexLayout(IndexConfig(bands=2))
    pages = [msgspec.structs.replace(page, bands=(page.fingerprint >> 32, 7)) for page in pages_of(words)]
    queries = [msgspec.structs.replace(page, handle=Handle(10**6 + page.handle)) for page in pages]
    gone = [page for row, page in enumerate(pages) if row in removed]
    kept = [page for row, page in enumerate(pages) if row not in removed]

    assert asyncio.run(found_by(pages, gone)) == asyncio.run(found_by(kept, []))


@settings(max_examples=50)
@given(words=near_words(3))
def test_stale_candidates_are_removed_wherever_the_probe_saw_them_and_nothing_else_is(
    words: list[int],
) -> None:
    async def without_stale() -> None:
        index = PermutedIndex(MemoryTables(), IndexLayout(IndexConfig(bands=1)))
        old, new = (
            [msgspec.structs.replace(page, version=version, bands=(3,)) for page in pages]
            for version in (1, 2)
        )
        await index.probe_and_insert(old)
        await index.probe_and_insert(new)
        query = IndexedPage(Handle(10**6), 1, Fingerprint64(words[0]), (3,))
        probed = await index.probe([query])
        stale_candidates = {(page.handle, page.version) for page in old}

        for _ in range(2):
            await index.remove_stale(probed, stale_candidates)
        again = {(found.handle, found.version_byte) for found in (await index.probe([query])).candidates[0]}
        assert any(found.version_byte == 1 for found in probed.candidates[0])
        assert not any(version_byte == 1 for _, version_byte in again)
        assert again >= {(found.handle, 2) for found in probed.candidates[0] if found.version_byte == 2}

    pages = pages_of(words)
    asyncio.run(without_stale())


def test_the_highest_bit_counts_as_one_bit() -> None:
    """As signed numbers these two differ in 63 bits."""
    layout = IndexLayout(IndexConfig(PermutedConfig(4, 2)))
    pages = pages_of([2**64 - 1, 2**63 - 2])

    probed = asyncio.run(PermutedIndex(MemoryTables(), layout).probe_and_insert(pages))

    assert [[found.handle for found in each] for each in probed.candidates] == [[], [1]]
