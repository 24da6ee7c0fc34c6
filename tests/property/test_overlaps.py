"""Overlaps of texts with archived pages, against a comparison of every token."""

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from neardup_stream.archive.passage_lists import COMMON_PAGES
from neardup_stream.errors import ConfigError
from neardup_stream.fingerprints.located import locate_tokens
from neardup_stream.fingerprints.selective import (
    QUERY_SHINGLES,
    SHINGLE_TOKENS,
    STORED_SHINGLES,
    all_shingles,
    choose_shingles,
    window_of,
)
from neardup_stream.hashing.ranks import mixed
from neardup_stream.indexes.common_runs import CommonRun, covered, covering_runs, runs_through
from neardup_stream.indexes.passages import Passage, PassageIndex
from neardup_stream.text.canonical import canonicalize
from tests.archives import build_archive, frozen_page, text_writers

Words = NDArray[np.uint64]
words = st.sampled_from(
    ["alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota", "kappa"]
)
passages = st.lists(words, min_size=5, max_size=60)
MOST_PLACES = 16
pasted = st.lists(st.lists(st.integers(0, 3), max_size=4), max_size=5)
repeating = st.lists(  # pieces of phrases that are repeated, or of a text that repeats nothing: start, tokens
    st.tuples(st.sampled_from([7, 9, 1000]), st.integers(0, 20), st.integers(8, 70)), min_size=1, max_size=4
)


def brute_runs(text: list[int], page: list[int], least: int) -> set[tuple[int, int]]:
    """Return where in the text the maximal common runs are."""
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
    """Return how often the most frequent shingle occurs there."""
    return max(np.unique(all_shingles(some).hashes, return_counts=True)[1].tolist(), default=0)


def sequence(pieces: list[tuple[int, int, int]], own: int) -> list[int]:
    """Return numbers: what repeats after so many tokens, from a place on; and others between pieces."""
    tokens = []
    for number, (period, start, size) in enumerate(pieces):
        tokens += [1000 * period + (start + at) % period for at in range(size)]
        tokens += [own + number] * (size % 2)
    return tokens


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


@settings(max_examples=60)
@given(st.integers(0, 3000), st.integers(0, 900), st.integers(0, 20), st.integers(0, 10**6))
def test_without_texts_a_common_run_of_the_least_size_is_found_wherever_its_hits_are(
    before: int, own: int, more: int, seed: int
) -> None:
    def said(name: str, count: int) -> str:
        return " ".join(f"{name}{seed}x{number}" for number in range(count))

    window = max(window_of(before + 400, STORED_SHINGLES), window_of(own + 400, QUERY_SHINGLES))
    least = 2 * window + SHINGLE_TOKENS - 1 + more
    run = said("run", least)
    page, text = (
        f"{said(name, some)} {run} {said(f'{name}behind', 400 - least)}"
        for name, some in (("page", before), ("own", own))
    )
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "estimated.nda"
        build_archive(path, [frozen_page(1, content=page)], parts=text_writers(path.parent)[:1])

        (overlap,) = PassageIndex.open(path).overlaps(text, min_tokens=least).found

        (passage,) = overlap.passages
        assert text[passage.start : passage.end] in run
        assert passage.token_count >= least - 2 * (window - 1)


def test_without_texts_a_phrase_that_the_text_repeats_is_the_evidence_of_one_hit(tmp_path: Path) -> None:
    phrase = " ".join(f"phrase{number}" for number in range(SHINGLE_TOKENS))
    text, other = (
        ". ".join(f"{phrase}, {name}{number}" for number in range(60)) for name in ("chapter", "verse")
    )
    path = tmp_path / "estimated.nda"
    pages = [frozen_page(1, content=other), frozen_page(2, content=text)]
    build_archive(path, pages, parts=text_writers(tmp_path)[:1])

    found = PassageIndex.open(path).overlaps(text).found
    by_one_hit = PassageIndex.open(path).overlaps(text, min_hits=1).found

    assert [overlap.page.url for overlap in found] == [pages[1].logged.url]
    assert {overlap.page.url for overlap in by_one_hit} == {page.logged.url for page in pages}


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


@pytest.mark.parametrize("name", ["min_tokens", "common_pages", "min_hits"])
def test_a_number_below_one_or_that_is_not_whole_is_refused_by_its_name(tmp_path: Path, name: str) -> None:
    path = tmp_path / "small.nda"
    build_archive(path, [], parts=text_writers(tmp_path))
    index: Any = PassageIndex.open(path)

    for number in (0, -1):
        with pytest.raises(ConfigError, match=f"{name} is {number}, must be at least 1"):
            index.overlaps("a text", **{name: number})
    with pytest.raises(TypeError, match=rf"{name} is 2\.5, must be a whole number"):
        index.overlaps("a text", **{name: 2.5})


def test_an_archive_is_named_by_a_path_or_a_string_and_asked_for_a_text(tmp_path: Path) -> None:
    path = tmp_path / "small.nda"
    build_archive(path, [], parts=text_writers(tmp_path))
    index: Any = PassageIndex.open(str(path))

    assert index.overlaps("a text").token_count == 2
    with pytest.raises(TypeError, match=r"expected a text \(str\), got bytes"):
        index.overlaps(b"a text")


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


def test_of_a_page_that_repeats_a_passage_each_copy_is_shared(tmp_path: Path) -> None:
    path = tmp_path / "copies.nda"
    beginning = " ".join(f"word{number}" for number in range(30))
    sentence = f"{beginning} and the end of it"
    content = f"{sentence} once more {sentence} with its beginning {beginning}"
    build_archive(path, [frozen_page(0, content=content)], parts=text_writers(tmp_path))

    (overlap,) = PassageIndex.open(path).overlaps(f"asked {sentence}").found

    assert len(overlap.passages) == 1
    assert overlap.page_share == pytest.approx((len(content.split()) - 5) / len(content.split()))


@pytest.mark.parametrize("parts", [1, 2])
def test_what_the_text_repeats_is_on_the_page_as_often_as_the_page_says_it(
    tmp_path: Path, parts: int
) -> None:
    path = tmp_path / "copies.nda"
    sentence = " ".join(f"word{number}" for number in range(100))
    content = f"{sentence} {' '.join(f'other{number}' for number in range(400))}"
    build_archive(path, [frozen_page(0, content=content)], parts=text_writers(tmp_path)[:parts])
    copies = " ".join(
        f"{sentence} {' '.join(f'between{copy}x{number}' for number in range(30))}" for copy in range(5)
    )

    (overlap,) = PassageIndex.open(path).overlaps(copies).found

    assert len(overlap.passages) == 5
    assert overlap.page_share == pytest.approx(0.2, abs=0.05 if parts == 1 else 0.001)
    assert overlap.page_share <= 0.2


@given(st.integers(0, 300), st.integers(8, 300), st.integers(0, 300))
def test_a_common_run_is_read_to_its_last_token_on_both_sides(before: int, size: int, place: int) -> None:
    run = np.arange(1000, 1000 + size, dtype=np.uint64)
    text = np.concatenate([np.zeros(before, np.uint64), run, np.zeros(5, np.uint64)])
    page = np.concatenate([np.ones(3, np.uint64), run, np.ones(200, np.uint64)])
    at = np.array([before + min(place, size - SHINGLE_TOKENS)])

    assert covering_runs(runs_through(text, page, at, SHINGLE_TOKENS), 1) == [CommonRun(before, 3, size)]


def test_common_runs_of_one_repeated_token_are_not_reported_once_a_shift() -> None:
    text, page = np.full(3000, 7, np.uint64), np.full(100, 7, np.uint64)

    runs = covering_runs(runs_through(text, page, np.arange(2993), SHINGLE_TOKENS), SHINGLE_TOKENS)

    assert len(runs) <= 2 * 3000 // 100
    assert covered([(run.start, run.size) for run in runs]) == 3000


@settings(max_examples=300)
@given(repeating, repeating, st.integers(8, 40))
def test_every_long_common_run_through_a_shingle_is_covered_by_the_passages(
    asked: list[tuple[int, int, int]], stored: list[tuple[int, int, int]], least: int
) -> None:
    text, page = sequence(asked, 100), sequence(stored, 200)
    tokens, page_tokens = mixed(np.array(text, np.uint64)), mixed(np.array(page, np.uint64))
    places = np.arange(max(0, tokens.size - SHINGLE_TOKENS + 1))

    runs = covering_runs(runs_through(tokens, page_tokens, places, SHINGLE_TOKENS), least)

    expected = brute_runs(text, page, least)
    assert {(run.start, run.size) for run in runs} <= expected
    assert all(text[a : a + n] == page[b : b + n] for a, b, n in runs)
    if repeats(page_tokens) <= MOST_PLACES:
        assert {at for start, _, size in runs for at in range(start, start + size)} == {
            at for start, size in expected for at in range(start, start + size)
        }


def test_a_run_that_shorter_ones_hold_is_found_where_they_are_too_short(tmp_path: Path) -> None:
    """The page has 30 tokens of a repeated phrase, and 22 of them at each end of what the text has of it."""
    path = tmp_path / "phrase.nda"
    phrase = [f"phrase{number}" for number in range(9)] * 6
    build_archive(path, [frozen_page(0, content=" ".join(phrase[:30]))], parts=text_writers(tmp_path))
    index, text = PassageIndex.open(path), " ".join(["asked", *phrase[1:47], "asked"])

    found = [index.overlaps(text, min_tokens=least).found for least in (29, 30)]

    assert [[each.token_count for each in overlap.passages] for (overlap,) in found] == [[29, 29], [30]]


def test_a_run_shorter_than_another_of_a_shingle_is_found_for_the_tokens_that_it_adds() -> None:
    """The text is A B C; the page has A B, and elsewhere B C, which is longer, and only B has a hit."""
    one, two, three = (np.arange(start, start + size) for start, size in ((100, 50), (200, 80), (300, 62)))
    text = np.concatenate([one, two, three]).astype(np.uint64)
    page = np.concatenate([one, two, [7], two, three]).astype(np.uint64)

    runs = covering_runs(runs_through(text, page, np.array([60, 110]), SHINGLE_TOKENS), 30)

    assert runs == [CommonRun(0, 0, 130), CommonRun(50, 131, 142)]
