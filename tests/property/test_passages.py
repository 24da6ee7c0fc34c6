"""Laws of passages: where tokens stand, what winnowing chooses, lists of entries, and what overlaps."""

import tempfile
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from neardup_stream.archive.building import LEAST_MEMORY_BYTES
from neardup_stream.archive.log_blocks import LoggedPage
from neardup_stream.archive.logged import LoggedArchive
from neardup_stream.archive.pages import FrozenPage
from neardup_stream.archive.passage_reading import PassageLists
from neardup_stream.fingerprints.located import locate_tokens
from neardup_stream.fingerprints.selective import (
    QUERY_SHINGLES,
    SHINGLE_TOKENS,
    STORED_SHINGLES,
    all_shingles,
    window_of,
    winnow,
)
from neardup_stream.fingerprints.token_sequence import cyclic_hash
from neardup_stream.hashing.stable import mix, token_hash
from neardup_stream.text.canonical import canonicalize
from neardup_stream.text.tokens import split_tokens
from tests.archives import build_archive, text_writers

Words = NDArray[np.uint64]

RANK = 0x9E3779B97F4A7C15

PIECES = [
    "a",
    "B",
    " ",
    "\n",
    ".",
    "ß",
    "ﬁ",
    "ﷺ",
    "İ",
    "é",
    "e\u0301",
    "\u0308",
    "\u00ad",
    "\u200d",
    "東",
    "กำ",
]
PIECES += ["\ud800", "\U0001d400", "ᄀ", "ᅡ", "ᆨ", "ｶ", "ﾞ", "\u0654", "\u0640", "\0", "Σ", "x" * 130, "ิ"]
texts = st.lists(st.one_of(st.sampled_from(PIECES), st.characters()), max_size=30).map("".join)
tokens = st.lists(st.integers(0, 5), max_size=120).map(lambda some: np.array(some, np.uint64))
windows = st.integers(1, 20)


@given(texts)
def test_located_tokens_are_those_of_the_canonical_text(text: str) -> None:
    located = locate_tokens(text)

    assert located.hashes.tolist() == [token_hash(token) for token in split_tokens(canonicalize(text))]


@given(texts)
def test_what_stands_at_the_place_of_a_token_has_that_token(text: str) -> None:
    located = locate_tokens(text)

    former = 0
    for token, start, end in zip(*(column.tolist() for column in located), strict=True):
        assert 0 <= start < end <= len(text)
        assert end >= former
        assert token in [token_hash(each) for each in split_tokens(canonicalize(text[start:end]))]
        former = end


@given(tokens)
def test_a_shingle_is_a_mixed_cyclic_hash(some: Words) -> None:
    chosen = all_shingles(some)

    starts = range(max(0, some.size - SHINGLE_TOKENS + 1))
    assert chosen.places.tolist() == list(starts)
    assert chosen.hashes.tolist() == [
        mix(cyclic_hash(some.tolist()[start : start + SHINGLE_TOKENS])) for start in starts
    ]


@given(tokens, windows)
def test_one_of_every_window_of_shingles_is_chosen(some: Words, window: int) -> None:
    places = set(winnow(some, window).places.tolist())

    shingle_count = max(0, some.size - SHINGLE_TOKENS + 1)
    assert all(
        places & set(range(start, start + window)) for start in range(max(0, shingle_count - window + 1))
    )
    assert bool(places) == bool(shingle_count)


@given(tokens, windows, windows)
def test_what_a_long_window_chooses_a_short_one_chooses_too(some: Words, one: int, other: int) -> None:
    longer, shorter = (set(winnow(some, size).hashes.tolist()) for size in sorted((one, other), reverse=True))

    assert longer <= shorter


@given(st.permutations(range(80)), windows, windows)
def test_what_a_long_window_chooses_stands_at_the_same_places_where_no_shingle_is_repeated(
    some: list[int], one: int, other: int
) -> None:
    words = np.array(some, np.uint64)
    longer, shorter = (
        set(winnow(words, size).places.tolist()) for size in sorted((one, other), reverse=True)
    )

    assert longer <= shorter


@given(tokens, windows)
def test_what_is_chosen_is_the_least_of_some_window(some: Words, window: int) -> None:
    every, chosen = all_shingles(some).hashes, winnow(some, window).hashes.tolist()
    ranks = [mix(each ^ RANK) for each in every.tolist()]
    starts = range(max(bool(ranks), len(ranks) - window + 1))

    assert {mix(each ^ RANK) for each in chosen} == {min(ranks[start : start + window]) for start in starts}


@given(tokens, windows)
def test_a_choice_stays_while_it_is_in_the_window_and_the_last_of_equals_follows_it(
    some: Words, window: int
) -> None:
    ranks = [mix(each ^ RANK) for each in all_shingles(some).hashes.tolist()]
    window = min(window, len(ranks))
    choices = []
    choice = -1
    for start in range(len(ranks) - window + 1):
        here = range(start, start + window)
        least = min(here, key=lambda place: (ranks[place], -place), default=-1)
        if choice not in here or ranks[least] < ranks[choice]:
            choice = least
            choices.extend([choice] if ranks else [])

    assert winnow(some, window or 1).places.tolist() == choices


@given(st.integers(1, 4), st.integers(0, 400), windows)
def test_a_repeated_phrase_is_chosen_once_a_window(period: int, size: int, window: int) -> None:
    some = np.array([place % period for place in range(size)], np.uint64)
    places = winnow(some, window).places

    # the last choice in a window and the first one after it are up to a period apart
    assert places.size <= size // max(1, window - period + 1) + 1


@given(tokens, tokens, tokens, windows, windows)
def test_a_common_run_shares_a_chosen_shingle_whatever_stands_around_it(
    run: Words, before: Words, behind: Words, one: int, other: int
) -> None:
    chosen = winnow(np.concatenate([before, run]), one), winnow(np.concatenate([run, behind]), other)

    if run.size >= max(one, other) + SHINGLE_TOKENS - 1:
        assert set(chosen[0].hashes.tolist()) & set(chosen[1].hashes.tolist())


@given(st.integers(0, 10**7), st.sampled_from([STORED_SHINGLES, QUERY_SHINGLES]))
def test_a_short_text_keeps_all_its_shingles_and_a_long_one_some_wanted(size: int, wanted: int) -> None:
    window = window_of(size, wanted)
    shingle_count = size - SHINGLE_TOKENS + 1

    assert window >= 1
    if shingle_count <= wanted:
        assert window == 1
    else:
        assert 0.66 * wanted < 2 * shingle_count / (window + 1) <= wanted


def listed(number: int, hashes: Sequence[int]) -> FrozenPage:
    page = f"https://example.com/{number:06}"
    packed = np.unique(np.array(hashes, "<u8")).tobytes()
    return FrozenPage(LoggedPage(page, page, 0), token_count=number, passages=packed)


shared_hashes = st.integers(0, 40).map(lambda number: mix(number) | 1)
near_hashes = st.builds(lambda high, low: high << 36 | low, st.integers(0, 3), st.integers(0, 2**36 - 1))


@settings(max_examples=40)
@given(
    st.lists(st.lists(st.one_of(shared_hashes, near_hashes), max_size=30), max_size=60),
    st.integers(1, 70),
    st.sets(st.integers(0, 59)),
)
def test_lists_find_what_a_dictionary_finds(pages: list[list[int]], common: int, forgotten: set[int]) -> None:
    by_hash = defaultdict(set)
    for number, hashes in enumerate(pages):
        for each in hashes:
            by_hash[each >> 36].add(number)
    asked = np.array(
        [mix(number) | 1 for number in range(45)] + [number << 36 for number in range(6)], np.uint64
    )
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "lists.nda"
        parts = text_writers(path.parent, common_pages=30)
        build_archive(path, [listed(number, hashes) for number, hashes in enumerate(pages)], parts=parts)
        lists = PassageLists(LoggedArchive(path))

        gone = np.isin(np.arange(len(pages)), sorted(forgotten))

        found = lists.find(asked, min(common, 30), gone)

    frozen = [by_hash.get(each >> 36, set()) for each in asked.tolist()]
    expected = [sorted(rows if len(rows) > 30 else rows - forgotten) for rows in frozen]
    assert found.page_counts.tolist() == list(map(len, expected))
    assert found.is_common.tolist() == [len(rows) > min(common, 30) for rows in expected]
    pairs = list(zip(found.queries.tolist(), found.rows.tolist(), strict=True))
    assert pairs == [
        (query, row) for query, rows in enumerate(expected) if len(rows) <= min(common, 30) for row in rows
    ]


def test_lists_of_many_blocks_find_every_entry_and_are_the_same_whatever_memory_there_is(
    tmp_path: Path,
) -> None:
    hashes = np.random.default_rng(5).integers(0, 2**64, (3000, 100), np.uint64)
    hashes[:, :3] = hashes[0, :3]  # on all pages, so lists of them reach across blocks
    pages = [listed(number, own.tolist()) for number, own in enumerate(hashes)]
    files = []
    for memory_bytes in (1 << 18, LEAST_MEMORY_BYTES):
        path = tmp_path / f"{memory_bytes}.nda"
        parts = text_writers(tmp_path, common_pages=3000, memory_bytes=memory_bytes)
        build_archive(path, pages, parts=parts)
        files.append(path.read_bytes())
    lists = PassageLists(LoggedArchive(path))

    assert files[0] == files[1]
    for row in range(0, 3000, 100):
        found = lists.find(hashes[row], 3000)
        assert set(found.queries[found.rows == row].tolist()) == set(range(100))
    assert found.page_counts[:3].tolist() == [3000] * 3
    assert lists.token_counts(np.arange(3000)).tolist() == list(range(3000))
