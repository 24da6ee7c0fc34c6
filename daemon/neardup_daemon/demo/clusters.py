"""Print the clusters of a demo: how many are right, one of them as a tree, and the fold of the events."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from rich.console import Console
from rich.text import Text

from neardup_daemon.cluster_files import ClusterRow
from neardup_daemon.demo.facts import DemoRun, closeness
from neardup_daemon.demo.sample_crawl.truth import SampleCrawl
from neardup_daemon.terminal import printable
from neardup_stream.event_parts import EventMatch
from neardup_stream.events import DuplicateFound
from neardup_stream.fold import Fold

__all__ = [
    "ClusterReport",
    "Folded",
    "Member",
    "build_clusters",
    "fold_events",
    "print_clusters",
    "print_fold",
]


class Member(NamedTuple):
    """A page of the cluster that is shown.

    Attributes:
        url: of the page.
        match: its match with the representative, or its best one if that is not among its matches; None for
            a page that was the representative of a cluster before this one absorbed it.
    """

    url: str
    match: EventMatch | None


@dataclass(frozen=True, slots=True)
class ClusterReport:
    """The clusters found, against the truth.

    Attributes:
        sizes: pages of a cluster → clusters of so many, the small ones first.
        right: clusters that hold exactly the pages that belong together.
        expected: clusters by the truth.
        shown: the representative of the largest cluster, None if there is no cluster.
        members: the other pages of that one.
    """

    sizes: Mapping[int, int]
    right: int
    expected: int
    shown: str | None
    members: tuple[Member, ...]


class Folded(NamedTuple):
    """What a subscriber knows who took in every event.

    Attributes:
        events: how many there were.
        deletable: ids of the pages that are declared duplicate.
        kept: clusters, each of which keeps one page.
        is_as_stored: whether clusters, representatives and duplicates are those of the store.
    """

    events: int
    deletable: frozenset[str]
    kept: int
    is_as_stored: bool


def build_clusters(crawl: SampleCrawl, run: DemoRun) -> ClusterReport:
    """Judge the clusters of a run."""
    truth = crawl.clusters()
    sizes = Counter(len(cluster.members) for cluster in run.clusters)
    largest = max(run.clusters, key=lambda cluster: len(cluster.members), default=None)
    return ClusterReport(
        sizes=dict(sorted(sizes.items())),
        right=sum(frozenset(cluster.members) in truth for cluster in run.clusters),
        expected=len(truth),
        shown=largest.representative if largest else None,
        members=tuple(_members(largest, run)) if largest else (),
    )


def fold_events(run: DemoRun) -> Folded:
    """Take in the published events as any subscriber would, and compare with the store."""
    fold = Fold()
    for event in run.events:
        fold.feed(event)
    clusters, deletable = fold.clusters(), fold.deletable()
    is_as_stored = (
        clusters == {each.cluster_id: frozenset(each.members) for each in run.clusters}
        and all(fold.representative(each.cluster_id) == each.representative for each in run.clusters)
        and deletable == _declared_duplicate(run.clusters)
    )
    return Folded(len(run.events), deletable, len(clusters), is_as_stored)


def print_clusters(report: ClusterReport, console: Console) -> None:
    """Print a line for all clusters, and a tree for one."""
    found = sum(report.sizes.values())
    console.print(
        f"\n[bold]Clusters[/bold]: {found:,} found, {report.right:,} of them exactly as the truth has them; "
        f"there are {report.expected:,}",
        highlight=False,
    )
    sizes = ", ".join(f"{count:,} of {size}" for size, count in report.sizes.items())
    console.print(f"by pages: {sizes or 'none'}", highlight=False)
    if report.shown is not None:
        console.print("The largest one: its representative, and the others' resemblance to that page:")
        for line in _tree(report.shown, report.members):
            console.print(line, soft_wrap=True)


def print_fold(folded: Folded, console: Console) -> None:
    """Print one line: what a subscriber would do, and whether the store agrees."""
    agreement = ("the same", "bold green") if folded.is_as_stored else ("NOT THE SAME", "bold red")
    line = Text("\nA subscriber that folds the ").append(f"{folded.events:,} events would delete ")
    line.append(f"{len(folded.deletable):,} pages and keep one of each of {folded.kept:,} clusters; ")
    console.print(line.append("the store says: ").append(*agreement))


def _declared_duplicate(clusters: Sequence[ClusterRow]) -> set[str]:
    return {page_id for each in clusters for page_id in each.members if page_id != each.representative}


def _members(cluster: ClusterRow, run: DemoRun) -> Iterator[Member]:
    """Yield every page but the representative. In the demo a page's URL is its id."""
    events = {
        published.data.page.id: published.data
        for published in run.published()
        if isinstance(published.data, DuplicateFound)
    }
    for page_id in cluster.members:
        if page_id == cluster.representative:
            continue
        event = events.get(page_id)
        if event is None:
            yield Member(page_id, None)
            continue
        known = {match.id: match for match in event.matches}
        yield Member(page_id, known.get(cluster.representative, event.matches[0]))


def _tree(representative: str, members: Sequence[Member]) -> Iterator[Text]:
    """Line by line, so that no URL is cut or folded."""
    yield Text(printable(representative), "bold")
    for number, member in enumerate(members, start=1):
        match = member.match
        line = Text("└── " if number == len(members) else "├── ", "dim")
        line.append(closeness(match) if match else "absorbed", "cyan").append(
            f" {printable(member.url)}", "default"
        )
        if match and match.id != representative:
            line.append(f", like {printable(match.url)}", "dim")
        yield line
