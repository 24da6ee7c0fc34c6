"""How well an answer agrees with the labels, pair by pair and page by page. Grey pairs are forgiven."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from itertools import combinations

from benchmarks.quality.labelled_set import POSITIVE, Label, LabelledSet, Pair, pair

__all__ = ["BCubed", "PairScores", "bcubed", "pair_scores", "pairs_within"]


@dataclass(frozen=True)
class PairScores:
    """Of a set of pairs that were said to be near-duplicates.

    Attributes:
        recall: share of the positive pairs that it has.
        precision: share of positive pairs in it, grey ones left out.
        recall_by_label: the same for each positive label.
        grey_count: grey pairs in it.
        false_count: negative pairs in it.
        chained_count: those of them whose pages lie in one true cluster, though far apart.
    """

    recall: float
    precision: float
    recall_by_label: dict[Label, float]
    grey_count: int
    false_count: int
    chained_count: int


@dataclass(frozen=True)
class BCubed:
    """Means over all pages: the share of its own cluster that is right, and of its true one that is there."""

    precision: float
    recall: float

    @property
    def f1(self) -> float:
        """Harmonic mean of both."""
        return 2 * self.precision * self.recall / (self.precision + self.recall)


def pair_scores(asserted: Collection[Pair], truth: LabelledSet) -> PairScores:
    """Score pairs, each given once."""
    labels = Counter(truth.labels.get(both) for both in asserted)
    true_cluster = _cluster_of(truth.clusters)
    false = [both for both in asserted if both not in truth.labels]
    chained = sum(one in true_cluster and other in true_cluster[one] for one, other in false)
    positives = truth.positives()
    found_count = sum(labels[label] for label in POSITIVE)
    return PairScores(
        recall=_share(found_count, positives.total()),
        precision=_share(found_count, found_count + len(false)),
        recall_by_label={label: _share(labels[label], positives[label]) for label in POSITIVE},
        grey_count=labels["grey"],
        false_count=len(false),
        chained_count=chained,
    )


def pairs_within(clusters: Iterable[Collection[str]]) -> set[Pair]:
    """Return all pairs that share a cluster."""
    return {pair(one, other) for members in clusters for one, other in combinations(members, 2)}


def bcubed(clusters: Iterable[Collection[str]], truth: LabelledSet) -> BCubed:
    """Score clusters that have no page in common; a page in none of them stands alone.

    A companion does not count against a page if the two are a grey pair.
    """
    true_cluster, own_cluster = _cluster_of(truth.clusters), _cluster_of(clusters)
    grey = defaultdict(set)
    for (one, other), label in truth.labels.items():
        if label == "grey":
            grey[one].add(other)
            grey[other].add(one)
    precisions, recalls = [], []
    for page in truth.pages:
        true, own = true_cluster.get(page.id, {page.id}), own_cluster.get(page.id, {page.id})
        right = len(true & own)
        precisions.append(right / len(own - (grey[page.id] - true)))
        recalls.append(right / len(true))
    return BCubed(sum(precisions) / len(precisions), sum(recalls) / len(recalls))


def _cluster_of(clusters: Iterable[Collection[str]]) -> Mapping[str, frozenset[str]]:
    groups = map(frozenset, clusters)
    return {page: group for group in groups for page in group}


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 1.0
