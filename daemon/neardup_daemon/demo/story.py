"""Print the timeline of a few pages: every record, and the events that it caused."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from msgspec import UNSET, UnsetType
from rich.console import Console
from rich.table import Table
from rich.text import Text

from neardup_daemon.demo.facts import DemoRun, PublishedEvent, closeness
from neardup_daemon.demo.sample_crawl.truth import SampleCrawl
from neardup_daemon.terminal import printable
from neardup_stream.event_parts import EventCluster, EventMatch
from neardup_stream.events import (
    Archived,
    ClusterMerge,
    Contained,
    DuplicateFound,
    EventData,
    Gone,
    RepresentativeChanged,
    Undecided,
    UniqueFound,
)
from neardup_stream.wire.times import rfc3339

__all__ = ["Scene", "StoryReport", "build_story", "print_story"]

NAMED_MATCHES = 2
NO_EVENT = ("(no event)", "it is unique: events.unique = true publishes an event")


class Scene(NamedTuple):
    """One record of the story.

    Attributes:
        url: of the page.
        what: happened to it.
        published: for each event its name and what it says, in plain words.
    """

    url: str
    what: str
    published: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class StoryReport:
    """The whole story.

    Attributes:
        scenes: one a record.
        deleted: URLs of the pages that are declared duplicate in the end.
        kept: URLs of the others that still exist.
    """

    scenes: tuple[Scene, ...]
    deleted: tuple[str, ...]
    kept: tuple[str, ...]


def build_story(crawl: SampleCrawl, run: DemoRun, deletable: frozenset[str]) -> StoryReport:
    """Return the story with the events of a run.

    Args:
        crawl: whose story it is.
        run: of it.
        deletable: ids of the pages that are declared duplicate in the end.
    """
    published = list(run.published())
    scenes = [
        Scene(step.page_id, step.what, tuple(_published_at(rfc3339(step.time_ms), published)))
        for step in crawl.story.steps
    ]
    gone = {each.data.page.id for each in published if isinstance(each.data, Gone)}
    living = [page_id for page_id in dict.fromkeys(scene.url for scene in scenes) if page_id not in gone]
    return StoryReport(
        scenes=tuple(scenes),
        deleted=tuple(page_id for page_id in living if page_id in deletable),
        kept=tuple(page_id for page_id in living if page_id not in deletable),
    )


def print_story(report: StoryReport, console: Console) -> None:
    """Print a timeline: what was crawled, and under it what was published."""
    console.print("\n[bold]The life of a page[/bold], by the events that were published")
    grid = Table.grid(padding=(0, 1))
    for number, scene in enumerate(report.scenes, start=1):
        grid.add_row(str(number), Text(_path(scene.url), "bold"), Text(scene.what, "bold"))
        for name, words in scene.published or (NO_EVENT,):
            grid.add_row("", Text(name, "cyan"), Text(words))
    console.print(grid)
    deleted, kept = (", ".join(map(_path, urls)) for urls in (report.deleted, report.kept))
    console.print(f"In the end duplicates: {deleted or 'none'}; to keep: {kept}", highlight=False)


def _published_at(time: str, published: Sequence[PublishedEvent]) -> Iterator[tuple[str, str]]:
    for each in published:
        if each.time == time:
            yield each.name, _words(each.data)


def _words(data: EventData) -> str:
    match data:
        case ClusterMerge() | RepresentativeChanged():
            return _cluster_words(data)
        case DuplicateFound():
            return f"like {_named(data.matches, data.matches_total)}; {_representative(data.cluster)}"
        case Contained() | Archived():
            return _evidence_words(data)
        case UniqueFound():
            return f"version {data.page.version} is out of its cluster and stands alone"
        case Gone():
            return "out of its cluster for good"
        case Undecided():
            return "too short to be judged"


def _evidence_words(data: Contained | Archived) -> str:
    if isinstance(data, Archived):
        return f"like {_path(data.matches[0].url)} of {data.matches[0].archive.name}"
    return f"{_inside(data.containers[0])}, which makes no duplicate"


def _cluster_words(data: ClusterMerge | RepresentativeChanged) -> str:
    if isinstance(data, RepresentativeChanged):
        successor = _path(data.representative.url)
        return f"{successor} represents the {data.cluster.size} left, and is no duplicate any more"
    ended, survivor = _path(data.absorbed.representative.url), _path(data.survivor.representative.url)
    return f"the cluster of {ended} becomes part of that of {survivor}; {ended} is a duplicate now"


def _named(matches: Sequence[EventMatch], total: int) -> str:
    named = ", ".join(f"{_path(match.url)} ({closeness(match)})" for match in matches[:NAMED_MATCHES])
    more = total - len(matches[:NAMED_MATCHES])
    return f"{named} and {more} more" if more else named


def _representative(cluster: EventCluster | UnsetType) -> str:
    if cluster is UNSET:
        return "clusters are off"
    return f"{_path(cluster.representative.url)} represents the cluster of {cluster.size}"


def _inside(container: EventMatch) -> str:
    """Return which of the two is inside the other, and how much of it."""
    inside, holds = container.containment or 0, container.contained_in or 0
    if inside >= holds:
        return f"{inside:.0%} of it is inside {_path(container.url)}"
    return f"it holds {holds:.0%} of {_path(container.url)}"


def _path(url: str) -> str:
    """Return the part of the URL that distinguishes the pages, which are all on one host."""
    return printable("/" + url.partition("://")[2].partition("/")[2])
