"""The figures of frames, and how they are shown: tables in Markdown, and the points of the curve."""

from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.quality.frames.generated_crawls import EDITED_WORDS
from benchmarks.quality.frames.generated_figures import COPIES, ArticleFigures
from benchmarks.quality.frames.real_figures import BUCKETS, RealFigures, sum_buckets
from benchmarks.quality.labelled_set import POSITIVE, Label
from benchmarks.quality.plot import Point
from benchmarks.quality.report import pair_cells, print_table

__all__ = ["FramesReport", "SetFacts", "curves", "print_frames_report"]


@dataclass(frozen=True)
class SetFacts:
    """What a real set is made of.

    Attributes:
        pages: how many.
        labels: how many pairs have each.
        true_clusters: of two pages or more.
        frame_share_deciles: of its pages, the lowest, the middle and the highest.
    """

    pages: int
    labels: dict[Label, int]
    true_clusters: int
    frame_share_deciles: tuple[float, float, float]


@dataclass(frozen=True)
class FramesReport:
    """Everything that was measured; scopes are values of `frames.scope`.

    Attributes:
        sets: by name.
        real: by scope, then by name of the set.
        articles: by scope, then by frame share.
        unrelated_pages: how many.
        unrelated_pairs: false pairs among them, by scope.
    """

    sets: dict[str, SetFacts]
    real: dict[str, dict[str, RealFigures]]
    articles: dict[str, dict[float, ArticleFigures]]
    unrelated_pages: int
    unrelated_pairs: dict[str, int]


def print_frames_report(report: FramesReport) -> None:
    """Print all tables; what was not measured has none."""
    for name, facts in report.sets.items():
        labels = ", ".join(f"{count:,} {label}" for label, count in facts.labels.items())
        low, middle, high = facts.frame_share_deciles
        print(f"{name}: {facts.pages:,} pages, {facts.true_clusters:,} true clusters; pairs: {labels};")
        print(f"frame share of a page: {low:.2f} / {middle:.2f} / {high:.2f} (p10 / median / p90)\n")
    if report.real:
        _print_real(report)
    if report.articles:
        _print_articles(report)
    for scope, count in report.unrelated_pairs.items():
        print(f"{scope}: {count:,} false pairs among {report.unrelated_pages:,} unrelated pages")


def curves(report: FramesReport) -> dict[str, list[Point]]:
    """Return recall and precision against the frame share, by scope, on real and on generated pages."""
    drawn: dict[str, list[Point]] = {}
    for scope, by_set in report.real.items():
        buckets = sum_buckets([figures.buckets for figures in by_set.values()])
        middles = [(low + high) / 2 for low, high in BUCKETS]
        drawn[f"{scope}, real pages, recall"] = [
            Point(middle, bucket.found_count / bucket.positive_count)
            for middle, bucket in zip(middles, buckets, strict=True)
            if bucket.positive_count
        ]
        drawn[f"{scope}, real pages, precision"] = [
            Point(middle, bucket.found_count / (bucket.found_count + bucket.false_count))
            for middle, bucket in zip(middles, buckets, strict=True)
            if bucket.found_count + bucket.false_count
        ]
    for scope, by_share in report.articles.items():
        drawn[f"{scope}, generated pages, recall"] = [
            Point(share, figures.recall) for share, figures in by_share.items()
        ]
        drawn[f"{scope}, generated pages, precision"] = [
            Point(share, figures.precision) for share, figures in by_share.items()
        ]
    return drawn


def _print_real(report: FramesReport) -> None:
    rows = [(scope, name, figures) for scope, sets in report.real.items() for name, figures in sets.items()]
    print_table(
        [
            "scope, set",
            "recall",
            "precision",
            *POSITIVE,
            "grey pairs",
            "false pairs",
            "chained",
            "B-cubed F1",
        ],
        (
            cells
            for scope, name, figures in rows
            for cells in (
                [f"{scope}, {name}, direct matches", *pair_cells(figures.direct), ""],
                [f"{scope}, {name}, clusters", *pair_cells(figures.within), f"{figures.bcubed.f1:.4f}"],
            )
        ),
    )
    strata = list(rows[0][2].false_by_similarity)
    print_table(
        ["direct false pairs by similarity of articles", *(f"from {end:.2f}" for end in strata)],
        (
            [f"{scope}, {name}", *(f"{count:,}" for count in figures.false_by_similarity.values())]
            for scope, name, figures in rows
        ),
    )
    print_table(
        ["scope, set: found of positive pairs, false pairs", *map(_range, BUCKETS)],
        (
            [
                f"{scope}, {name}",
                *(
                    f"{each.found_count:,} of {each.positive_count:,}, {each.false_count:,}"
                    for each in figures.buckets
                ),
            ]
            for scope, name, figures in rows
        ),
    )


def _print_articles(report: FramesReport) -> None:
    print_table(
        [
            "scope, copy on",
            "frame",
            *(f"{count} edited" for count in EDITED_WORDS),
            "false pairs",
            "precision",
        ],
        (
            [
                f"{scope}, {copy} host",
                f"{share:.0%}",
                *(f"{recall:.4f}" for recall in figures.recalls[copy]),
                f"{figures.false_count:,}",
                f"{figures.precision:.4f}",
            ]
            for scope, by_share in report.articles.items()
            for copy in COPIES
            for share, figures in by_share.items()
        ),
    )


def _range(bucket: Sequence[float]) -> str:
    return f"{bucket[0]:.1f} to {bucket[1]:.1f}"
