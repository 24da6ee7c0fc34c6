"""Laws of lines and views: the kernel and the reference divide pages alike, and sketch alike what is left."""

from collections.abc import Sequence

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from neardup_stream.fingerprints.simhash import (
    Fingerprints,
    PageLines,
    SimhashConfig,
    Views,
    fingerprint_lines,
    fingerprint_texts,
    view_lines,
)
from neardup_stream.fingerprints.sketch import SketchConfig
from tests.reference import hash_line, split_lines, view_page

SIMHASH = SimhashConfig()

configs = st.builds(
    SketchConfig,
    shingle_tokens=st.sampled_from([1, 2, 3, 32]),
    bins=st.sampled_from([16, 18, 128]),
    code_bits=st.sampled_from([4, 8]),
    bands=st.sampled_from([0, 1, 12]),
    band_bins=st.integers(1, 4),
)
few_words = st.lists(st.sampled_from("abcd\n"), max_size=80).map(" ".join)
settled = st.text(st.sampled_from("aB \n\n\r\x0b\x85\u2028\u00e9\u6771\u0416."), max_size=120)
needing_neighbors = st.text(
    st.sampled_from("aB \n\n\u00ad\u0301\u00df\u0130\u03a3\u1112\u1161\u11ab\uff76\uff9e\u0654\u0640\u6771"),
    max_size=120,
)
long_runs = st.builds(
    lambda letter, count, rest: letter * count + "\n" + rest,
    st.sampled_from("x\u00e9\u6771"),
    st.integers(120, 140),
    few_words,
)
texts = st.text(max_size=120) | few_words | settled | needing_neighbors | long_runs


def cut(text: str, random_bits: int) -> list[bool]:
    """Return which lines of a text stay, by the bits of a number."""
    return [bool(random_bits >> row % 64 & 1) for row in range(len(split_lines(text)))]


def lines_of(texts: Sequence[str]) -> list[PageLines]:
    return fingerprint_lines(texts, SIMHASH)[1]


def viewed(texts: Sequence[str], cuts: Sequence[Sequence[bool]], config: SketchConfig) -> Views:
    return view_lines(lines_of(texts), [np.array(each, np.bool_) for each in cuts], config)


@settings(max_examples=500)
@given(st.lists(texts, max_size=6))
def test_kernel_and_reference_divide_pages_into_the_same_lines(pages: list[str]) -> None:
    for page, lines in zip(pages, lines_of(pages), strict=True):
        expected = split_lines(page)
        assert lines.tokens.tolist() == [token for line in expected for token in line]
        assert lines.token_counts.tolist() == [len(line) for line in expected]
        assert lines.hashes.tolist() == [hash_line(line) for line in expected]


@given(st.lists(texts, max_size=6), configs)
def test_asking_for_lines_does_not_change_fingerprints(pages: list[str], config: SketchConfig) -> None:
    computed, _ = fingerprint_lines(pages, SIMHASH, config)

    expected = fingerprint_texts(pages, SIMHASH, config)
    for field in Fingerprints._fields:
        assert getattr(computed, field).tolist() == getattr(expected, field).tolist()


@settings(max_examples=500)
@given(st.lists(st.tuples(texts, st.integers(0, 2**64 - 1)), max_size=5), configs)
def test_kernel_and_reference_keep_the_same_of_a_page(
    pages: list[tuple[str, int]], config: SketchConfig
) -> None:
    page_texts, cuts = [text for text, _ in pages], [cut(text, bits) for text, bits in pages]

    views = viewed(page_texts, cuts, config)

    for row, (text, kept) in enumerate(zip(page_texts, cuts, strict=True)):
        expected = view_page(text, kept, config)
        assert views.token_counts[row] == expected.token_count
        assert views.sketches[row].tobytes() == expected.sketch.codes
        assert views.shingle_counts[row] == expected.sketch.shingle_count
        assert views.bands[row].tolist() == expected.sketch.bands
        assert views.is_kept_sample[row].astype(bool).tolist() == expected.is_kept_sample


@given(texts, configs)
def test_with_all_lines_a_view_is_the_whole_page(text: str, config: SketchConfig) -> None:
    whole, (lines,) = fingerprint_lines([text], SIMHASH, config)

    views = view_lines([lines], [np.ones(lines.ends.size, np.bool_)], config)

    assert views.token_counts.tolist() == whole.token_counts.tolist()
    assert views.sketches.tobytes() == whole.sketches.tobytes()
    assert views.shingle_counts.tolist() == whole.shingle_counts.tolist()
    assert views.bands.tolist() == whole.bands.tolist()
    if config.code_bits == 8:
        assert views.is_kept_sample.astype(bool).tolist() == (whole.sketches != 0).tolist()


@given(texts, configs)
def test_without_lines_a_view_is_that_of_an_empty_page(text: str, config: SketchConfig) -> None:
    empty = fingerprint_texts([""], SIMHASH, config)

    views = viewed([text], [[False] * len(split_lines(text))], config)

    assert (views.token_counts.tolist(), views.shingle_counts.tolist()) == ([0], [0])
    assert views.sketches.tobytes() == bytes(config.sketch_bytes)
    assert views.bands.tolist() == empty.bands.tolist()
    assert not views.is_kept_sample.any()


@given(st.lists(st.sampled_from("abcdefgh"), min_size=3, max_size=40), st.lists(few_words, max_size=4))
def test_what_is_left_of_one_line_among_others_is_the_page_that_has_only_it(
    words: list[str], others: list[str]
) -> None:
    config, line = SketchConfig(), " ".join(words)
    page = "\n".join([*others, line])
    count = len(split_lines(page))

    views = viewed([page], [[False] * (count - 1) + [True]], config)

    alone = fingerprint_texts([line], SIMHASH, config)
    assert views.sketches.tobytes() == alone.sketches.tobytes()
    assert views.bands.tolist() == alone.bands.tolist()
    assert views.shingle_counts.tolist() == alone.shingle_counts.tolist()


@given(texts, st.integers(0, 2**64 - 1), configs)
def test_a_view_does_not_depend_on_the_pages_beside_it(text: str, bits: int, config: SketchConfig) -> None:
    page_texts = ["a b c\nd e f\n" * 40, text, ""]
    cuts = [cut(page_texts[0], bits >> 1), cut(text, bits), []]

    together, alone = viewed(page_texts, cuts, config), viewed([text], [cuts[1]], config)

    for field in Views._fields:
        assert getattr(together, field)[1].tolist() == getattr(alone, field)[0].tolist()


def test_no_pages_have_no_views() -> None:
    views = viewed([], [], SketchConfig())

    assert [len(values) for values in views] == [0] * 5
