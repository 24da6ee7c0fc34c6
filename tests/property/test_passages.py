"""Laws of passages: where tokens stand, what winnowing chooses, lists of entries, and what overlaps."""

import tempfile
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from neardup_stream.archive.building import LEAST_MEMORY_BYTES
from neardup_stream.archive.log_blocks import LoggedPage
from neardup_stream.archive.logged import LoggedArchive
from neardup_stream.archive.pages import FrozenPage
from neardup_stream.archive.passage_lists import COMMON_PAGES
from neardup_stream.archive.passage_reading import PassageLists
from neardup_stream.errors import ConfigError
from neardup_stream.fingerprints.located import locate_tokens
from neardup_stream.fingerprints.selective import (
    QUERY_SHINGLES,
    SHINGLE_TOKENS,
    STORED_SHINGLES,
    all_shingles,
    choose_shingles,
    window_of,
    winnow,
)
from neardup_stream.fingerprints.token_sequence import cyclic_hash
from neardup_stream.hashing.stable import mix, token_hash
from neardup_stream.indexes.common_runs import CommonRun, common_runs, covered
from neardup_stream.indexes.passages import Passage, PassageIndex
from neardup_stream.text.canonical import canonicalize
from neardup_stream.text.tokens import split_tokens
from tests.archives import build_archive, frozen_page, text_writers

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
    st.lists(st.lists(st.one_of(shared_hashes, near_hashes), max_size=30), max_size=60), st.integers(1, 70)
)
def test_lists_find_what_a_dictionary_finds(pages: list[list[int]], common: int) -> None:
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

        found = lists.find(asked, min(common, 30))

    expected = [sorted(by_hash.get(each >> 36, ())) for each in asked.tolist()]
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


words = st.sampled_from(
    ["alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota", "kappa"]
)
passages = st.lists(words, min_size=5, max_size=60)
MOST_PLACES = 16
pasted = st.lists(st.lists(st.integers(0, 3), max_size=4), max_size=5)


def brute_runs(text: list[int], page: list[int], least: int) -> set[tuple[int, int]]:
    """Where in the text the maximal common runs are."""
    runs = set()
    for start in range(len(text)):
        for on_page in range(len(page)):
            if text[start] != page[on_page] or (start and on_page and text[start - 1] == page[on_page - 1]):
                continue
            size = 0
            while text[start + size : start + size + 1] == page[on_page + size : on_page + size + 1] != []:
                size += 1
            if size >= least:
                runs.add((start, size))
    return runs


def repeats(some: Words) -> int:
    """How often the most frequent shingle stands there."""
    return max(np.unique(all_shingles(some).hashes, return_counts=True)[1].tolist(), default=0)


def token_places(starts: NDArray[np.int64], ends: NDArray[np.int64], passage: Passage) -> list[int]:
    return np.flatnonzero((starts >= passage.start) & (ends <= passage.end)).tolist()


@settings(max_examples=60)
@given(st.lists(passages, min_size=4, max_size=4), pasted, st.lists(st.integers(0, 3), max_size=4))
def test_overlaps_are_those_that_comparing_every_token_finds(
    parts: list[list[str]], pages: list[list[int]], asked: list[int]
) -> None:
    def said(numbers: list[int]) -> str:
        return " ".join(word for number in numbers for word in [f"own{number}", *parts[number]])

    contents = [f"page{number}, {said(numbers)}" for number, numbers in enumerate(pages)]
    text = f"asked: {said(asked)}!"
    own = locate_tokens(text)
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "texts.nda"
        frozen = [frozen_page(number, content=content) for number, content in enumerate(contents)]
        build_archive(path, frozen, parts=text_writers(path.parent))
        index = PassageIndex.open(path)

        found = index.overlaps(text, min_tokens=9, min_hits=1).found

        by_url = {overlap.page.url: overlap for overlap in found}
        for page, content in zip(frozen, contents, strict=True):
            located = locate_tokens(content)
            expected = brute_runs(own.hashes.tolist(), located.hashes.tolist(), 9)
            overlap = by_url.get(page.logged.url)
            got = overlap.passages if overlap else ()
            spans = {(int(own.starts[at]), int(own.ends[at + size - 1])): size for at, size in expected}
            for passage in got:
                assert spans[passage.start, passage.end] == passage.token_count
                on_page = content[passage.page_start : passage.page_end]
                assert canonicalize(on_page) == canonicalize(text[passage.start : passage.end])
            window = max(
                window_of(own.hashes.size, QUERY_SHINGLES), window_of(located.hashes.size, STORED_SHINGLES)
            )
            if max(repeats(own.hashes), repeats(located.hashes)) > MOST_PLACES:
                continue
            places = {at for each in got for at in token_places(own.starts, own.ends, each)}
            for start, size in expected:
                if size >= window + SHINGLE_TOKENS - 1:
                    assert places.issuperset(range(start, start + size))


def test_without_texts_a_passage_is_estimated_within_the_common_run(tmp_path: Path) -> None:
    common = " ".join(f"word{number}" for number in range(400))
    path = tmp_path / "estimated.nda"
    page = frozen_page(1, content=f"before it. {common}. and behind")
    build_archive(path, [page], parts=text_writers(tmp_path)[:1])
    text = f"Something else: {common}, and so on"

    (overlap,) = PassageIndex.open(path).overlaps(text).found

    (passage,) = overlap.passages
    assert not overlap.is_exact
    assert passage.page_start is None
    assert passage.token_count > 370
    assert text[passage.start : passage.end] in common
    assert overlap.hit_count > 90


def test_without_texts_what_stands_between_two_common_runs_is_in_neither_passage(tmp_path: Path) -> None:
    runs = [" ".join(f"{name}{number}" for number in range(1000)) for name in ("first", "second")]
    between = " ".join(f"between{number}" for number in range(34))
    path = tmp_path / "estimated.nda"
    build_archive(path, [frozen_page(1, content=" ".join(runs))], parts=text_writers(tmp_path)[:1])
    text = f"{runs[0]} {between} {runs[1]}"

    (overlap,) = PassageIndex.open(path).overlaps(text).found

    assert all(text[each.start : each.end] in run for each, run in zip(overlap.passages, runs, strict=True))
    assert not any("between" in text[each.start : each.end] for each in overlap.passages)


def test_hashes_on_more_pages_than_were_frozen_cannot_be_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "small.nda"
    build_archive(path, [], parts=text_writers(tmp_path))

    with pytest.raises(ConfigError, match=f"--common {COMMON_PAGES}"):
        PassageIndex.open(path).overlaps("anything", common_pages=COMMON_PAGES + 1)
    assert PassageIndex.open(path).overlaps("anything at all that is said by no page").found == ()


def test_a_long_run_of_one_token_is_chosen_as_seldom_as_other_text() -> None:
    same = np.full(200_000, 7, np.uint64)

    assert choose_shingles(same, QUERY_SHINGLES).places.size <= QUERY_SHINGLES
    assert choose_shingles(same, STORED_SHINGLES).places.size <= STORED_SHINGLES


def test_a_run_of_one_token_on_many_pages_is_reported_in_few_passages(tmp_path: Path) -> None:
    path = tmp_path / "same.nda"
    sizes = [50, 3000, *[400] * 20]
    pages = [frozen_page(number, content="same " * size) for number, size in enumerate(sizes)]
    build_archive(path, pages, parts=text_writers(tmp_path))
    text = f"before {'same ' * 600} behind"

    found = PassageIndex.open(path).overlaps(text).found

    by_url = {overlap.page.url: overlap for overlap in found}
    short, long, *others = [by_url[page.logged.url] for page in pages]
    assert [passage.token_count for passage in long.passages] == [600]
    assert all(len(overlap.passages) == 2 for overlap in others)
    assert all(overlap.share == pytest.approx(600 / 602) for overlap in (short, long, *others))
    assert len(short.passages) <= MOST_PLACES


@pytest.mark.parametrize("repeats", [MOST_PLACES, MOST_PLACES + 1])
def test_a_sentence_repeated_beyond_the_bound_is_found_with_some_of_its_places(
    tmp_path: Path, repeats: int
) -> None:
    path = tmp_path / "header.nda"
    sentence = "one two three four five six seven eight"
    build_archive(path, [frozen_page(0, content=sentence)], parts=text_writers(tmp_path))
    text = " ".join(f"{sentence} {number}" for number in range(repeats))

    (overlap,) = PassageIndex.open(path).overlaps(text, min_tokens=8).found

    assert overlap.hit_count == repeats
    assert len(overlap.passages) == MOST_PLACES


@given(st.integers(0, 300), st.integers(8, 300), st.integers(0, 300))
def test_a_common_run_is_read_to_its_last_token_on_both_sides(before: int, size: int, place: int) -> None:
    run = np.arange(1000, 1000 + size, dtype=np.uint64)
    text = np.concatenate([np.zeros(before, np.uint64), run, np.zeros(5, np.uint64)])
    page = np.concatenate([np.ones(3, np.uint64), run, np.ones(200, np.uint64)])
    at = np.array([before + min(place, size - SHINGLE_TOKENS)])

    assert common_runs(text, page, at, SHINGLE_TOKENS) == [CommonRun(before, 3, size)]


def test_common_runs_of_one_repeated_token_are_not_reported_once_a_shift() -> None:
    text, page = np.full(3000, 7, np.uint64), np.full(100, 7, np.uint64)

    runs = common_runs(text, page, np.arange(2993), SHINGLE_TOKENS)

    assert len(runs) <= 2 * 3000 // 100
    assert covered([(run.start, run.size) for run in runs]) == 3000
