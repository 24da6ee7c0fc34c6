"""What a run leaves behind, as far as it is seen from outside, and what may be concluded from it.

The eight invariants:

1. Every position below the committed offset has exactly one outcome: its events, a dead letter, or silence
   that its page's record accounts for.
2. No page is its own duplicate; a re-crawl without change makes no event.
3. One event id, one payload, byte for byte.
4. Once everything is quiet, the fold of the events, in any order and with repeats, equals the clusters that
   are stored; in every cluster exactly one living member is not declared duplicate.
5. Where clusters are connected components, two living pages that match are in one cluster.
6. The committed offset never passes an unfinished position.
7. Ranks never change; merges go to the cluster whose representative was decided first; an absorbed id never
   comes back.
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
from neardup_stream.pipeline.likeness import VerdictConfig
from neardup_stream.stores.page_record import PageRecord

__all__ = ["Expectations", "History", "Matching", "StoredCluster", "Violation"]


class StoredCluster(NamedTuple):
    """A cluster of two or more, as it is stored.

    Attributes:
        representative: who speaks for it.
        members: living ones, in order of rank.
    """

    representative: PageVersion
    members: tuple[Handle, ...]


class History(NamedTuple):
    """What topics and stores hold. Read the committed offsets first and the stores last: see `Expectations`.

    Attributes:
        inputs: the records of the pages topics that are still kept, read by `read_inputs`.
        committed: the group's next offset of each partition.
        events: the events topic, in order within each partition, repeats included; as messages in either
            mode.
        dead_letters: the dead-letter topic.
        records: every stored page record, stubs included.
        clusters: every cluster of two or more, by id.
        ends: offset behind the last record of each partition, where it is known.
        index_token: which index of the namespace is stored: the events of others say nothing of it.
        version_floor: page versions up to here were published before the index was recovered; 0 where it was
            not.
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
    """Which living pages must stand in one cluster.

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
    """How the history came about, and how much of it is there.

    Attributes:
        is_quiet: nothing is under way: all that was read is committed, and all is as the last commit left
            it. Without, what depends on one moment of events and stores together is not judged.
        events_since_ms: the events of records stamped at this time or later are all there, 0 for all events;
            None if that cannot be told.
        dead_letters_since_ms: the same for dead letters.
        keeps_clusters: whether there are clusters and ranks at all.
        tells_unique: whether every page that stands alone is told.
        tells_undecided: whether every page that is too short is told.
        may_expire: whether pages that were not seen for long are let go.
        may_leave_pages: whether pages that match an archive are left to it.
        has_former_merges: whether merges may have ids as former releases made them, of no position.
        matching: None where matches need not connect their pages.
        verdict: when two pages match; None where some were judged otherwise.
        seed: of the order in which the events are folded.
    """

    is_quiet: bool = True
    events_since_ms: int | None = 0
    dead_letters_since_ms: int | None = 0
    keeps_clusters: bool = True
    tells_unique: bool = False
    tells_undecided: bool = False
    may_expire: bool = False
    may_leave_pages: bool = False
    has_former_merges: bool = False
    matching: Matching | None = None
    verdict: VerdictConfig | None = None
    seed: int = 0


class Violation(NamedTuple):
    """Where a history breaks an invariant.

    Attributes:
        invariant: 1 to 8.
        detail: one line with the values that disagree.
    """

    invariant: int
    detail: str
