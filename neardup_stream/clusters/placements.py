"""Define the answers of the clusters: the place of a page, and the changes that it caused."""

from typing import NamedTuple

import msgspec

from neardup_stream.clusters.requests import PageVersion
from neardup_stream.match import Match
from neardup_stream.message import Position
from neardup_stream.page import Handle

__all__ = ["AlreadyDecided", "ClusterState", "Decided", "Departure", "Merge", "Placement", "lone_cluster_id"]


def lone_cluster_id(handle: Handle, version: int) -> str:
    """Return the id of a page's cluster while it is alone; the cluster keeps it when another page joins.

    Ids are never used twice, because versions only grow.

    >>> lone_cluster_id(Handle(255), 3)
    '00000000000000ff.3'
    """
    return f"{handle:016x}.{version}"


class ClusterState(msgspec.Struct, frozen=True, gc=False):
    """A cluster at one moment.

    Attributes:
        id: stays while it lives; never given again after it was absorbed or became empty.
        epoch: from 1; rises whenever a cluster merges in or another page comes to represent it.
        size: living members; 1 for a page that stands alone.
        representative: the living member that was decided first.
    """

    id: str
    epoch: int
    size: int
    representative: PageVersion


class Merge(NamedTuple):
    """Two clusters became one: the survivor as it is right after, the absorbed as it was right before."""

    survivor: ClusterState
    absorbed: ClusterState


class Departure(NamedTuple):
    """An earlier version left its cluster, because the page changed or was forgotten.

    Attributes:
        cluster_id: what it left.
        epoch: of that cluster after it left.
        version: the version that left.
        former: the version that left; its address is exact where it was the representative, else the
            address of the request.
        remaining: the cluster without it; None when no member is left.
        is_representative_change: it was the representative and others remain; `remaining` names the new one.
    """

    cluster_id: str
    epoch: int
    version: int
    former: PageVersion
    remaining: ClusterState | None
    is_representative_change: bool


class Placement(msgspec.Struct, frozen=True, gc=False):
    """The result of one request.

    Attributes:
        matches: those that live and are decided: the request's, in order, then those that other pages
            left for this one while it was not decided yet.
        cluster: the present cluster of the page; None for a forget, and for what is superseded.
        is_duplicate: another page represents its cluster.
        merges: in order; each absorbed cluster once.
        departure: None when the clusters knew no earlier living version. They may not know a page that stood
            alone and was never linked: its earlier cluster was `lone_cluster_id(handle, earlier version)`.
        was_linked: an earlier version once belonged to a cluster of two or more.
        is_superseded: this version or a later one was decided or removed before, so nothing was done.
        dropped_edges: pages it matches that are not decided yet, and for which enough matches wait already.
        known_rank: where the very same version was decided before, when; else 0.
    """

    matches: tuple[Match, ...]
    cluster: ClusterState | None
    is_duplicate: bool
    merges: tuple[Merge, ...]
    departure: Departure | None
    was_linked: bool
    is_superseded: bool
    known_rank: int = 0
    dropped_edges: int = 0


class Decided(msgspec.Struct, frozen=True, gc=False):
    """The outcome that is stored for a position.

    Attributes:
        rank: when it was decided, from 1, one order over all daemons; 0 for what took no place.
        record: the bytes that were rendered when it was first decided.
        is_finished: the position was trimmed: its outcome is long delivered, and `record` is empty.
        dropped_edges: as in its placement, where it was decided now.
    """

    rank: int
    record: bytes
    is_finished: bool = False
    dropped_edges: int = 0


class AlreadyDecided(NamedTuple):
    """What is already known of some positions.

    Attributes:
        outcomes: of those that were decided.
        finished: the trimmed ones; nothing is left to do for them.
        aged_count: how many page cells had begun to age by then: how fresh everything is that is read from
            now on. See `Decider.portions`.
    """

    outcomes: dict[Position, Decided]
    finished: frozenset[Position]
    aged_count: int

    def knows(self, position: Position) -> bool:
        """Return whether nothing is left to decide for a position."""
        return position in self.outcomes or position in self.finished
