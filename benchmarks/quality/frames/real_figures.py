"""Measure what `dedup` finds on a real set, and how that depends on the share of a page that is frame."""

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass

from benchmarks.quality.dedup import Duplicate, InputPage, find_duplicates
from benchmarks.quality.frames.real_sets import FramedSet
from benchmarks.quality.frames.scopes import settings_of
from benchmarks.quality.labelled_set import POSITIVE, LabelledSet, Pair, pair
from benchmarks.quality.scores import BCubed, PairScores, bcubed, pair_scores, pairs_within

__all__ = ["BUCKETS", "Bucket", "RealFigures", "bucketed", "measure_real", "sum_buckets"]

BUCKETS = ((0.0, 0.2), (0.2, 0.4), (0.4, 0.6), (0.6, 0.8), (0.8, 1.0))
"""Of the frame share of a pair, which is the mean of its two pages; the upper end belongs to the next one."""

STRATA = (0.0, 0.70, 0.80, 0.90, 0.95)
"""Lower ends of the ranges of article similarity by which false pairs are counted; .70 is the least known."""


@dataclass(frozen=True)
class Bucket:
    """Pairs whose pages have some share of frame.

    Attributes:
        positive_count: pairs that should be found.
        found_count: those of them that are.
        false_count: negative pairs that are found.
    """

    positive_count: int
    found_count: int
    false_count: int


@dataclass(frozen=True)
class RealFigures:
    """What `dedup` found on one set.

    Attributes:
        direct: pairs that events name.
        within: pairs that share a cluster.
        bcubed: of the clusters.
        false_by_similarity: direct false pairs by STRATA, the lower end of the similarity of their articles.
        buckets: direct pairs by BUCKETS.
    """

    direct: PairScores
    within: PairScores
    bcubed: BCubed
    false_by_similarity: dict[float, int]
    buckets: list[Bucket]


def measure_real(framed: FramedSet, scope: str) -> RealFigures:
    """Run `dedup` over the set, in its order, from an empty index."""
    truth = framed.truth
    matches: set[Pair] = set()

    def take(duplicate: Duplicate) -> None:
        assert len(duplicate.matches) == duplicate.total, "an event that does not name all matches"
        matches.update(pair(duplicate.page, match) for match in duplicate.matches)

    pages = (InputPage(page.id, f"https://{page.id}", page.html) for page in truth.pages)
    clusters = find_duplicates(pages, settings_of(scope), take)
    return RealFigures(
        direct=pair_scores(matches, truth),
        within=pair_scores(pairs_within(clusters), truth),
        bcubed=bcubed(clusters, truth),
        false_by_similarity=_false_by_similarity(matches, framed),
        buckets=bucketed(matches, truth, framed.frame_shares),
    )


def bucketed(matches: Collection[Pair], truth: LabelledSet, frame_shares: dict[str, float]) -> list[Bucket]:
    """Count positive, found and false pairs in each of BUCKETS."""
    positive = {both for both, label in truth.labels.items() if label in POSITIVE}
    groups = (positive, positive & {*matches}, [both for both in matches if both not in truth.labels])
    counts = [Counter(_bucket(both, frame_shares) for both in pairs) for pairs in groups]
    return [Bucket(*(count[number] for count in counts)) for number in range(len(BUCKETS))]


def sum_buckets(sets: Collection[list[Bucket]]) -> list[Bucket]:
    """Add the buckets of several sets, one by one."""
    return [
        Bucket(
            sum(each.positive_count for each in same),
            sum(each.found_count for each in same),
            sum(each.false_count for each in same),
        )
        for same in zip(*sets, strict=True)
    ]


def _bucket(both: Pair, frame_shares: dict[str, float]) -> int:
    share = sum(frame_shares[page] for page in both) / 2
    return next(number for number, (_, end) in enumerate(BUCKETS) if share < end)


def _false_by_similarity(matches: Collection[Pair], framed: FramedSet) -> dict[float, int]:
    false = (both for both in matches if both not in framed.truth.labels)
    similarities = [framed.article_similarities.get(both, 0.0) for both in false]
    counts = Counter(max(end for end in STRATA if end <= similarity) for similarity in similarities)
    return {end: counts[end] for end in STRATA}
