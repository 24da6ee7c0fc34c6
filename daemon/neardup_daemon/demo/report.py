"""Print the report of the demo: matches against the truth, a frame, outcomes, clusters, a timeline."""

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.markup import escape
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from neardup_daemon.demo.clusters import (
    ClusterReport,
    Folded,
    build_clusters,
    fold_events,
    print_clusters,
    print_fold,
)
from neardup_daemon.demo.facts import DemoRun, closeness
from neardup_daemon.demo.frames import FrameReport, build_frame_report, print_frame_report
from neardup_daemon.demo.sample_crawl.score import Score, score
from neardup_daemon.demo.sample_crawl.truth import SampleCrawl
from neardup_daemon.demo.story import StoryReport, build_story, print_story
from neardup_daemon.inspect.word_changes import Piece, word_changes
from neardup_daemon.terminal import printable, running_program
from neardup_stream.event_parts import EventMatch
from neardup_stream.events import DuplicateFound

__all__ = ["DemoReport", "Example", "build_report", "print_report"]

EXAMPLE_KINDS = ("mirror", "edited re-post (20 words)")
"""Relations whose difference is small enough to read; the first page found of each is shown."""

PLACES_SHOWN = 3
FALSE_PAIRS_SHOWN = 3
NEXT_COMMANDS = (
    ("dedup your-pages.jsonl", "the same over your own pages"),
    (
        "check --config neardup.toml",
        "are Kafka and Redis ready? README.md, quick start, step 2 has neardup.toml",
    ),
    ("run --config neardup.toml", "the daemon: pages in, events out"),
)
WHY_SOME_ARE_MISSED = (
    "[dim]A page is missed when no table brings it together with its kin, or too little is alike.[/dim]"
)
ABOUT_DEAD_LETTERS = (
    "[dim]One record of the crawl is no JSON, on purpose: it becomes a dead letter with its reason, and the"
    " stream continues behind it.[/dim]"
)
STYLES = {"same": "dim", "removed": "red", "added": "bold green"}
MARKS = {"same": ("", ""), "removed": ("[-", "-]"), "added": ("{+", "+}")}
"""So that a change is seen without color too."""


@dataclass(frozen=True, slots=True)
class Example:
    """One page that was found, to be looked at.

    Attributes:
        kind: the true relation of the page to its original.
        url: of the page.
        match: with the original.
        changes: where the two texts differ.
    """

    kind: str
    url: str
    match: EventMatch
    changes: tuple[Piece, ...]


@dataclass(frozen=True, slots=True)
class DemoReport:
    """Everything the demo prints.

    Attributes:
        score: relations found, and false pairs.
        expected_outcomes: outcome → records that should end so.
        outcomes: outcome → records that did; they sum to the records.
        seconds: from the first record to the last event.
        examples: at most one for each of a few relations.
        frames: the site whose pages are mostly frame; None for a crawl without one.
        clusters: against the truth.
        story: the outcomes of a few pages.
        folded: what all events add up to.
    """

    score: Score
    expected_outcomes: Mapping[str, int]
    outcomes: Mapping[str, int]
    seconds: float
    examples: tuple[Example, ...]
    frames: FrameReport | None
    clusters: ClusterReport
    story: StoryReport
    folded: Folded


def build_report(crawl: SampleCrawl, run: DemoRun) -> DemoReport:
    """Judge a run over a sample crawl."""
    duplicates = [
        published.data for published in run.published() if isinstance(published.data, DuplicateFound)
    ]
    pairs = [(event.page.id, match.id) for event in duplicates for match in event.matches]
    folded = fold_events(run)
    return DemoReport(
        score=score(crawl, pairs),
        expected_outcomes=crawl.expected_outcomes,
        outcomes=run.outcomes,
        seconds=run.seconds,
        examples=tuple(_examples(crawl, duplicates)),
        frames=build_frame_report(crawl, run),
        clusters=build_clusters(crawl, run),
        story=build_story(crawl, run, folded.deletable),
        folded=folded,
    )


def print_report(report: DemoReport, console: Console) -> None:
    """Print a report; on a terminal in color, else as plain text that says the same."""
    records = sum(report.outcomes.values())
    console.print(
        f"\n[bold]{records:,} records in {report.seconds:.1f} s[/bold], start-up not counted; for rates see"
        " docs/performance.md\n",
        highlight=False,
    )
    console.print(_relations_table(report.score))
    console.print(_false_pairs_line(report.score.false_pairs), soft_wrap=True)
    if report.score.found < report.score.pages:
        console.print(WHY_SOME_ARE_MISSED)
    for example in report.examples:
        _print_example(example, console)
    if report.frames is not None:
        print_frame_report(report.frames, console)
    print_clusters(report.clusters, console)
    print_story(report.story, console)
    print_fold(report.folded, console)
    console.print(_outcomes_table(report))
    if report.expected_outcomes.get("dead_letter"):
        console.print(ABOUT_DEAD_LETTERS)
    _print_next_commands(running_program(sys.argv[0]), console)


def _print_next_commands(program: str, console: Console) -> None:
    console.print("\n[bold]What to type next[/bold]")
    for command, purpose in NEXT_COMMANDS:
        console.print(f"  [dim]# {purpose}[/dim]", highlight=False)
        console.print(f"  [cyan]{escape(f'{program} {command}')}[/cyan]", highlight=False, soft_wrap=True)


def _examples(crawl: SampleCrawl, duplicates: Iterable[DuplicateFound]) -> Iterator[Example]:
    """Yield the first page of each kind to show that was matched with its own original."""
    wanted = dict.fromkeys(EXAMPLE_KINDS)
    for event in duplicates:
        relation = crawl.relations.get(event.page.id)
        if relation is None or relation.kind not in wanted:
            continue
        for match in event.matches:
            if match.id == relation.base_id:
                del wanted[relation.kind]
                changes = word_changes(crawl.text_of(match.id), crawl.text_of(event.page.id), PLACES_SHOWN)
                yield Example(relation.kind, event.page.url, match, changes)


def _relations_table(judged: Score) -> Table:
    table = Table(title="Near-duplicates found, against the truth", title_justify="left", show_footer=True)
    table.add_column("what was done to the page", footer="all")
    table.add_column("pages", f"{judged.pages:,}", justify="right")
    table.add_column("found", f"{judged.found:,}", justify="right")
    table.add_column("recall", _percent(judged.found, judged.pages), justify="right")
    for kind, pages, found in judged.kinds:
        table.add_row(kind, f"{pages:,}", f"{found:,}", _percent(found, pages))
    return table


def _percent(part: int, whole: int) -> str:
    """Return a share rounded down, so that 100 % means all."""
    return f"{100 * part // whole} %"


def _false_pairs_line(false_pairs: Sequence[tuple[str, str]]) -> Text:
    line = Text("False pairs: ").append(f"{len(false_pairs):,}", "bold red" if false_pairs else "bold green")
    for one, other in false_pairs[:FALSE_PAIRS_SHOWN]:
        line.append(f"\n  {printable(one)}\n  {printable(other)}\n", "red")
    return line


def _outcomes_table(report: DemoReport) -> Table:
    table = Table(title="\nOutcome of each record", title_justify="left", show_footer=True)
    table.add_column("outcome", footer="all")
    table.add_column("by the truth", f"{sum(report.expected_outcomes.values()):,}", justify="right")
    table.add_column("counted", f"{sum(report.outcomes.values()):,}", justify="right")
    for outcome in dict.fromkeys((*report.expected_outcomes, *report.outcomes)):
        expected, counted = report.expected_outcomes.get(outcome, 0), report.outcomes.get(outcome, 0)
        if expected or counted:
            table.add_row(outcome, f"{expected:,}", f"{counted:,}")
    return table


def _print_example(example: Example, console: Console) -> None:
    console.print(f"\n[bold]{example.kind}[/bold], alike: {closeness(example.match)}", highlight=False)
    console.print(Text(f"  {printable(example.url)}\n  is like {printable(example.match.url)}", "cyan"))
    changes = Text()
    for piece in example.changes:
        opening, closing = MARKS[piece.change]
        text = printable(piece.text.replace("\n", " "))
        words = text.rstrip()
        changes.append(f"{opening}{words}{closing}", STYLES[piece.change]).append(text[len(words) :])
    console.print(Padding(changes, (0, 4)))
