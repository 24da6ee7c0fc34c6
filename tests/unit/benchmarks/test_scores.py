import pytest

from benchmarks.quality.labelled_set import LabelledSet
from benchmarks.quality.manuals import HtmlPage
from benchmarks.quality.scores import bcubed, pair_scores, pairs_within

TRUTH = LabelledSet(
    pages=[HtmlPage(name, "") for name in "abcdeg"],
    labels={("a", "b"): "exact", ("b", "c"): "near", ("d", "e"): "probable", ("a", "g"): "grey"},
    clusters=[frozenset("abc"), frozenset("de")],
)


def test_the_labels_themselves_score_full_marks() -> None:
    scores = pair_scores(list(TRUTH.labels), TRUTH)
    assert (scores.recall, scores.precision, scores.false_count) == (1, 1, 0)
    assert set(scores.recall_by_label.values()) == {1}


def test_a_grey_pair_is_neither_right_nor_wrong() -> None:
    with_grey, without = (pair_scores(found, TRUTH) for found in ([("a", "b"), ("a", "g")], [("a", "b")]))
    assert (with_grey.recall, with_grey.precision) == (without.recall, without.precision) == (1 / 3, 1)
    assert with_grey.grey_count == 1


def test_false_pairs_within_a_true_cluster_are_counted_apart() -> None:
    scores = pair_scores([("a", "b"), ("a", "c"), ("a", "d"), ("a", "e")], TRUTH)
    assert (scores.false_count, scores.chained_count) == (3, 1)
    assert scores.precision == 1 / 4


def test_nothing_asserted_is_precise_and_finds_nothing() -> None:
    assert (pair_scores([], TRUTH).recall, pair_scores([], TRUTH).precision) == (0, 1)


def test_clusters_assert_all_pairs_inside() -> None:
    assert pairs_within([["b", "a", "c"]]) == {("a", "b"), ("a", "c"), ("b", "c")}


@pytest.mark.parametrize(
    ("clusters", "precision", "recall"),
    [
        pytest.param(["abc", "de"], 1, 1, id="the true clusters"),
        pytest.param([], 1, (1 / 3 * 3 + 1 / 2 * 2 + 1) / 6, id="every page alone"),
        pytest.param(["abc", "de", "g"], 1, 1, id="a cluster of one is a page alone"),
        pytest.param(["abcde"], (3 / 5 * 3 + 2 / 5 * 2 + 1) / 6, 1, id="two clusters in one"),
        pytest.param(["abcg", "de"], (1 + 3 / 4 * 2 + 2 + 1 / 3) / 6, 1, id="a grey companion is forgiven"),
    ],
)
def test_bcubed_is_the_mean_over_pages(clusters: list[str], precision: float, recall: float) -> None:
    scores = bcubed([list(members) for members in clusters], TRUTH)
    assert [scores.precision, scores.recall] == pytest.approx([precision, recall])
    assert min(scores.precision, scores.recall) <= scores.f1 <= max(scores.precision, scores.recall)
