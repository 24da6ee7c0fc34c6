from difflib import SequenceMatcher

import numpy as np
import pytest

from benchmarks.quality.labelled_set import Label, connected, label_of
from benchmarks.quality.similarity import page_tokens, similar_pairs


def test_only_what_a_reader_sees_is_compared() -> None:
    page = (
        "<head><title>no</title><style>no</style></head><body><h1>Ab\ufb01</h1>c<br>d"
        "<script>if (a < b) no()</script><noscript>no</noscript> E</body>"
    )
    assert page_tokens(page) == ["abfi", "c", "d", "e"]


@pytest.mark.parametrize(
    ("left", "right", "similarity"),
    [
        pytest.param("a b c d", "a b c d", 1.0, id="equal"),
        pytest.param("a b c d", "a x c d", 0.75, id="one word replaced"),
        pytest.param("a b c", "a b c d e", 0.75, id="words added"),
        pytest.param("a a b b", "b b a a", 0.5, id="order counts"),
    ],
)
def test_similarity_is_twice_the_common_subsequence_over_both_lengths(
    left: str, right: str, similarity: float
) -> None:
    pages = [left.split(), right.split()]
    assert [pair.similarity for pair in similar_pairs(pages, 0.1)] == pytest.approx([similarity])
    assert similar_pairs(pages[::-1], 0.1) == similar_pairs(pages, 0.1)


def test_no_similar_pair_is_passed_over() -> None:
    rng = np.random.default_rng(1)
    base = rng.integers(3_000, size=60)
    pages = []
    for edits in rng.integers(30, size=40).tolist():
        page = base.copy()
        page[rng.integers(60, size=edits)] = rng.integers(3_000, size=edits)
        pages.append([str(word) for word in page[: rng.integers(30, 61)]])
    found = {(pair.left, pair.right) for pair in similar_pairs(pages, 0.7)}
    assert 20 < len(found) < 780
    for left, words in enumerate(pages):
        for right in range(left + 1, len(pages)):
            # A lower bound: matching blocks are a common subsequence, though not always the longest one.
            alike = SequenceMatcher(None, words, pages[right], autojunk=False).ratio() >= 0.7
            assert (left, right) in found or not alike


@pytest.mark.parametrize(
    ("similarity", "label"),
    [
        pytest.param(1.0, "exact", id="equal"),
        pytest.param(0.999, "near", id="almost equal"),
        pytest.param(0.95, "near", id="least near"),
        pytest.param(0.949, "probable", id="below near"),
        pytest.param(0.90, "probable", id="least positive"),
        pytest.param(0.899, "grey", id="below positive"),
    ],
)
def test_labels_follow_from_similarity(similarity: float, label: Label) -> None:
    assert label_of(similarity) == label


def test_chains_of_pairs_connect_their_ends() -> None:
    groups = connected([("a", "b"), ("c", "d"), ("b", "c"), ("x", "y")])
    assert sorted(map(sorted, groups)) == [["a", "b", "c", "d"], ["x", "y"]]
