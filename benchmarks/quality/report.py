"""The figures, and how they are shown: tables in Markdown, so that the documentation can take them over."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from benchmarks.quality.labelled_set import POSITIVE, Label
from benchmarks.quality.scores import BCubed, PairScores

__all__ = ["Report", "RuleFigures", "pair_cells", "print_report", "print_table"]


@dataclass(frozen=True)
class RuleFigures:
    """What `dedup` made of the labelled set under one rule.

    Attributes:
        direct: pairs that events name; a page that joined no cluster has no event.
        within: pairs that share a cluster.
        bcubed: of the clusters.
    """

    direct: PairScores
    within: PairScores
    bcubed: BCubed


@dataclass(frozen=True)
class Report:
    """Everything that was measured; keys of dicts are names of rules or of table settings.

    Attributes:
        pages: of the labelled set.
        labels: how many of its pairs have each.
        true_clusters: of two pages or more.
        rules: what `dedup` found.
        on_manuals: direct pairs of each table setting.
        edited_words: of the points of each curve.
        recalls_by_edited_words: the curves.
        unrelated_matches: false pairs among unrelated pages.
        bytes_per_page: of Redis; empty if not measured.
    """

    pages: int
    labels: dict[Label, int]
    true_clusters: int
    rules: dict[str, RuleFigures]
    on_manuals: dict[str, PairScores]
    edited_words: Sequence[int]
    recalls_by_edited_words: dict[str, list[float]]
    unrelated_matches: dict[str, int]
    bytes_per_page: dict[str, float]


def print_report(report: Report) -> None:
    """All tables."""
    labels = ", ".join(f"{count:,} {label}" for label, count in report.labels.items())
    print(f"{report.pages:,} pages, {report.true_clusters:,} true clusters; pairs: {labels}\n")
    print_table(
        ["dedup", "recall", "precision", *POSITIVE, "grey pairs", "false pairs", "chained", "B-cubed F1"],
        (
            cells
            for rule, figures in report.rules.items()
            for cells in (
                [f"{rule}, direct matches", *pair_cells(figures.direct), ""],
                [f"{rule}, clusters", *pair_cells(figures.within), f"{figures.bcubed.f1:.4f}"],
            )
        ),
    )
    print_table(
        ["setting", "recall", "precision", "bytes a page", "false pairs of unrelated pages"],
        (
            [
                name,
                f"{scores.recall:.4f}",
                f"{scores.precision:.4f}",
                f"{report.bytes_per_page[name]:,.0f}" if report.bytes_per_page else "",
                f"{report.unrelated_matches[name]:,}",
            ]
            for name, scores in report.on_manuals.items()
        ),
    )
    print_table(
        ["recall at so many edited words of 500", *map(str, report.edited_words)],
        (
            [name, *(f"{recall:.4f}" for recall in recalls)]
            for name, recalls in report.recalls_by_edited_words.items()
        ),
    )


def pair_cells(scores: PairScores) -> list[str]:
    """Return recall, precision, recall by label, and the counts of grey, false and chained pairs."""
    shares = [scores.recall, scores.precision, *(scores.recall_by_label[label] for label in POSITIVE)]
    counts = [scores.grey_count, scores.false_count, scores.chained_count]
    return [*(f"{share:.4f}" for share in shares), *(f"{count:,}" for count in counts)]


def print_table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print a table in Markdown."""
    for cells in (headings, ["---"] * len(headings), *rows):
        print(f"| {' | '.join(cells)} |")
    print()
