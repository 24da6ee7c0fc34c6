"""Define the history of a run, as read from topics and stores, and the eight invariants it must fulfil.

1. Every position below the committed offset has exactly one outcome: its events, a dead letter, or no event
for a reason that its page's record shows.

2. No page is its own duplicate; a re-crawl without change publishes no event.

3. Equal event ids have equal payloads, byte for byte.

4. When no batch is in flight, the fold of the events, in any order and with repeats, equals the stored
clusters; in every cluster exactly one living member is not declared duplicate.

5. If clusters are connected components, two living pages that match are in one cluster.

6. The committed offset never passes an unfinished position.

7. Ranks never change; merges go to the cluster whose representative was decided first; an absorbed id is
never used again.

8. Members of a cluster are connected by matches that their stored sketches confirm, as far as the pages that
connected them are still stored.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from neardup_stream.clusters.requests import PageVersion
from neardup_stream.indexes.layout import IndexLayout
from neardup_stream.invariants.inputs import Input
from neardup_stream.match import Match
from neardup_stream.message import Message, Partition
from neardup_stream.page import Handle
from neardup_stream.pipeline.classification import VerdictConfig
from neardup_stream.stores.page_record import PageRecord

__all__ = ["Expectations", "History", "Matching", "StoredCluster", "Violation"]


class StoredCluster(NamedTuple):
    """A cluster of two or more, as it is stored.

    Attributes:
        representative: the page to keep.
        members: living ones, in order of rank.
    """

    representative: PageVersion
    members: tuple[Handle, ...]


class History(NamedTuple):
    """The contents of topics and stores.

    The committed offsets are read first and the stores last, so everything below the offsets is in the rest.

    Attributes:
        inputs: the records of the pages topics that are still there, or of files, read by `read_inputs`.
        committed: the group's next offset of each partition; of a file the offset after its last record.
        events: of the topic, in order within each partition, or of files; with repeats, in either mode.
        dead_letters: of the topic, or of files.
        records: every stored page record, including stubs.
        clusters: every cluster of two or more, by id.
        ends: offset after the last record of each partition, where known.
        index_token: token of the stored index; events of other indexes of the namespace are ignored.
        version_floor: page versions up to this one were published before the index was recovered; 0 if it
            was not recovered.
    """

    inputs: Sequence[Input]
    committed: Mapping[Partition, int]
    events: Sequence[Message]
    dead_letters: Sequence[Message]
    records: Mapping[Handle, PageRecord]
    clusters: Mapping[str, StoredCluster]
    ends: Mapping[Partition, int] = {}
    index_token: str = ""
    version_floor: int = 0


class Matching(NamedTuple):
    """When two living pages must be in one cluster.

    Attributes:
        verdict: when two pages match.
        layout: how the index finds them.
        links: which matches connect their pages.
    """

    verdict: VerdictConfig
    layout: IndexLayout
    links: Callable[[Match], bool]


@dataclass(frozen=True, slots=True)
class Expectations:
    """How the history was produced, and how much of it was read.

    Attributes:
        is_quiet: nothing is in flight: everything read is committed, and events and stores are consistent.
            If False, checks that need one moment of events and stores together are skipped.
        events_since_ms: the events of records stamped at this time or later are complete, 0 for all events;
            None if unknown.
        dead_letters_since_ms: the same for dead letters.
        keeps_clusters: whether there are clusters and ranks at all.
        publishes_unique: whether every unique page has an event.
        publishes_undecided: whether every undecided page has an event.
        may_expire: whether pages that were not seen for long expire.
        may_leave_pages: whether pages that match an archive are left to it.
        has_former_merges: whether merges may have ids of earlier releases, which depend on no position.
        matching: None if matches need not link their pages.
        verdict: when two pages match; None if some pages were compared by other rules.
        seed: of the order in which the events are folded.
    """

    is_quiet: bool = True
    events_since_ms: int | None = 0
    dead_letters_since_ms: int | None = 0
    keeps_clusters: bool = True
    publishes_unique: bool = False
    publishes_undecided: bool = False
    may_expire: bool = False
    may_leave_pages: bool = False
    has_former_merges: bool = False
    matching: Matching | None = None
    verdict: VerdictConfig | None = None
    seed: int = 0


class Violation(NamedTuple):
    """A violation of an invariant.

    Attributes:
        invariant: 1 to 8.
        detail: one line with the values that disagree.
    """

    invariant: int
    detail: str
