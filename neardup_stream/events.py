"""What subscribers are told: the data of each event, and the envelope around it.

The classes are the schema: `docs/schemas/` is generated from them, and changes within `v1` only add.
64-bit fingerprints are decimal strings, because JSON numbers lose bits past 2**53.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from neardup_stream.match import MatchKind, Scheme, View
from neardup_stream.message import Headers

__all__ = [
    "EVENT_DATA",
    "Archive",
    "Archived",
    "ChangedCluster",
    "ClusterMerge",
    "Contained",
    "DuplicateFound",
    "Event",
    "EventCluster",
    "EventData",
    "EventMatch",
    "EventName",
    "EventPage",
    "FrozenMatch",
    "Gone",
    "GonePage",
    "LeftCluster",
    "MergeCause",
    "OwnCluster",
    "PreviousPlace",
    "Representative",
    "RepresentativeChanged",
    "Undecided",
    "UniqueFound",
    "event_subject",
    "event_type",
    "rounded_ratio",
]

EventName = Literal[
    "duplicate",
    "unique",
    "gone",
    "contained",
    "undecided",
    "archived",
    "cluster-merge",
    "representative-changed",
]

Version = Annotated[
    int,
    Meta(ge=1, description="From 1; one more whenever the page changes, is forgotten or comes back."),
]
Epoch = Annotated[int, Meta(ge=0)]
"""Rises whenever clusters merge or another page comes to speak; of two accounts the higher one holds."""
Ratio = Annotated[float, Meta(ge=0, le=1)]
DistanceBits = Annotated[int, Meta(ge=0, le=64)]

_RATIO_DIGITS = 4
"""The estimates are good for two digits; more would only cost bytes."""


def rounded_ratio(ratio: Ratio | None) -> Ratio | UnsetType:
    """A ratio as events show it: with four digits, and absent where it is not known."""
    return UNSET if ratio is None else round(ratio, _RATIO_DIGITS)


class EventPage(msgspec.Struct, frozen=True, kw_only=True):
    """The page an event speaks about.

    Attributes:
        id: identity of the page.
        url: address as crawled.
        version: of the page that was judged.
        fetched_at: RFC 3339, UTC.
        fingerprint: the simhash, a decimal string in [0, 2**64).
        meta: whatever the crawler sent as `meta`, untouched.
        frame_share: share of its shingles that are in the frame of its site and were not compared; absent
            where no line of the page is frame.
    """

    id: str
    url: str
    version: Version
    fetched_at: Annotated[str, Meta(extra_json_schema={"format": "date-time"})]
    fingerprint: Annotated[str, Meta(pattern="^[0-9]{1,20}$", description="The simhash, in [0, 2**64).")]
    meta: msgspec.Raw | UnsetType = UNSET
    frame_share: Ratio | UnsetType = UNSET


class Representative(msgspec.Struct, frozen=True, kw_only=True):
    """The page that speaks for a cluster: its living member decided first.

    Attributes:
        id: identity of the page.
        url: address as crawled.
        version: with which it speaks.
    """

    id: str
    url: str
    version: Version


class EventCluster(msgspec.Struct, frozen=True, kw_only=True):
    """A cluster at one moment of its history.

    Attributes:
        id: of the cluster.
        epoch: rises whenever clusters merge or another page comes to speak; of two accounts of a cluster
            the higher one holds.
        size: living members.
        representative: the one that is not a duplicate.
    """

    id: str
    epoch: Epoch
    size: Annotated[int, Meta(ge=1)]
    representative: Representative


class OwnCluster(msgspec.Struct, frozen=True, kw_only=True):
    """The cluster of a page that stands alone, and so speaks for itself.

    Attributes:
        id: of the cluster.
        epoch: rises whenever clusters merge or another page comes to speak; of two accounts of a cluster
            the higher one holds.
    """

    id: str
    epoch: Epoch


class LeftCluster(msgspec.Struct, frozen=True, kw_only=True):
    """A cluster that a page has left.

    Attributes:
        id: of the cluster.
        epoch: right after; of two accounts of a cluster the higher one holds.
    """

    id: str
    epoch: Epoch


class ChangedCluster(msgspec.Struct, frozen=True, kw_only=True):
    """A cluster that another page speaks for from now on.

    Attributes:
        id: of the cluster.
        epoch: right after; of two accounts of a cluster the higher one holds.
        size: living members.
    """

    id: str
    epoch: Epoch
    size: Annotated[int, Meta(ge=1)]


class PreviousPlace(msgspec.Struct, frozen=True, kw_only=True):
    """Where the page was before its content changed.

    Attributes:
        version: of the page, before.
        cluster: id of the cluster it left.
    """

    version: Version
    cluster: str | UnsetType = UNSET


class EventMatch(msgspec.Struct, frozen=True, kw_only=True):
    """One page that the event's page matches, and how close it is.

    Attributes:
        id: of the matched page.
        url: of the matched page, as crawled.
        version: of the matched page that was compared.
        distance_bits: differing bits of the two fingerprints.
        resemblance: how alike the two are, symmetric.
        containment: how much of the event's page is inside the matched one.
        contained_in: how much of the matched page is inside the event's.
        scheme: the tables that found the match; `simhash` where both did.
        view: which texts were compared: `content`, without the frame of a page's site, or `whole`.
    """

    id: str
    url: str
    version: Version
    distance_bits: DistanceBits
    resemblance: Ratio | UnsetType = UNSET
    containment: Ratio | UnsetType = UNSET
    contained_in: Ratio | UnsetType = UNSET
    scheme: Scheme = "simhash"
    view: View | UnsetType = UNSET


class DuplicateFound(msgspec.Struct, frozen=True, kw_only=True):
    """The page matches earlier pages, and another page speaks for it.

    Attributes:
        page: the later page.
        kind: exact when some match has the same sequence of tokens, else near.
        cluster: where the page is now; absent only with clusters switched off.
        matches: best first, at most a set number.
        matches_total: how many there were.
        previous: where the page was, when it was known before.
        representative_distance_bits: differing bits of the page's fingerprint and its representative's, which
            need not be among the matches; absent where the latter is not at hand.
    """

    page: EventPage
    kind: MatchKind
    cluster: EventCluster | UnsetType = UNSET
    matches: tuple[EventMatch, ...]
    matches_total: Annotated[int, Meta(ge=1)]
    previous: PreviousPlace | UnsetType = UNSET
    representative_distance_bits: DistanceBits | UnsetType = UNSET


class UniqueFound(msgspec.Struct, frozen=True, kw_only=True):
    """The page stands alone.

    Attributes:
        page: the page.
        cluster: its own; absent only with clusters switched off.
        previous: where the page was, when it was known before.
    """

    page: EventPage
    cluster: OwnCluster | UnsetType = UNSET
    previous: PreviousPlace | UnsetType = UNSET


class GonePage(msgspec.Struct, frozen=True, kw_only=True):
    """A page that was forgotten.

    Attributes:
        id: identity of the page.
        url: address as last crawled.
        version: of its own: one above the last that lived.
    """

    id: str
    url: str
    version: Version


class Gone(msgspec.Struct, frozen=True, kw_only=True):
    """The page is forgotten: it is in no cluster any more.

    Attributes:
        page: the page.
        cluster: what it left; absent when it had never been decided.
    """

    page: GonePage
    cluster: LeftCluster | UnsetType = UNSET


class Contained(msgspec.Struct, frozen=True, kw_only=True):
    """Much of the page is inside other pages, or they inside it; nothing follows for its cluster.

    Attributes:
        page: the page.
        containers: those other pages, best first, at most a set number.
        containers_total: how many there were.
    """

    page: EventPage
    containers: tuple[EventMatch, ...]
    containers_total: Annotated[int, Meta(ge=1)]


class Undecided(msgspec.Struct, frozen=True, kw_only=True):
    """The page cannot be judged: it is in no cluster.

    Attributes:
        page: the page.
        reason: too_short: it has too few tokens. lost: the index was recovered, and no topic holds the page.
            archived: it is like pages of frozen archives, and was left to them.
        previous: where the page was, when it was known before.
    """

    page: EventPage
    reason: Literal["too_short", "lost", "archived"]
    previous: PreviousPlace | UnsetType = UNSET


class Archive(msgspec.Struct, frozen=True, kw_only=True):
    """A frozen archive.

    Attributes:
        id: the same for equal content.
        name: of its file.
    """

    id: str
    name: str


class FrozenMatch(msgspec.Struct, frozen=True, kw_only=True):
    """One page of an archive that the event's page is like, and how close it is.

    Attributes:
        archive: that has it.
        id: of the frozen page.
        url: of the frozen page, as crawled.
        fetched_at: when the frozen page was fetched; RFC 3339.
        distance_bits: differing bits of the two fingerprints.
        resemblance: how alike the two are, symmetric.
        containment: how much of the event's page is inside the frozen one.
        contained_in: how much of the frozen page is inside the event's.
        view: which texts were compared: `content`, without the frame of a page's site, or `whole`.
        same_page: whether it is the event's page itself, by its id, as an earlier crawl found it.
    """

    archive: Archive
    id: str
    url: str
    fetched_at: str
    distance_bits: DistanceBits
    resemblance: Ratio | UnsetType = UNSET
    containment: Ratio | UnsetType = UNSET
    contained_in: Ratio | UnsetType = UNSET
    view: View | UnsetType = UNSET
    same_page: bool


class Archived(msgspec.Struct, frozen=True, kw_only=True):
    """The page is like pages of frozen archives; nothing follows for its cluster.

    Attributes:
        page: the page.
        kind: exact when the best of them has the same sequence of tokens.
        matches: best first, at most a set number.
        matches_total: how many there were.
    """

    page: EventPage
    kind: MatchKind
    matches: tuple[FrozenMatch, ...]
    matches_total: Annotated[int, Meta(ge=1)]


class MergeCause(msgspec.Struct, frozen=True, kw_only=True):
    """The page that turned out to match both clusters, told as in its own event.

    Attributes:
        page: the page.
        matches: best first, at most a set number.
        matches_total: how many there were.
    """

    page: EventPage
    matches: tuple[EventMatch, ...]
    matches_total: Annotated[int, Meta(ge=1)]


class ClusterMerge(msgspec.Struct, frozen=True, kw_only=True):
    """Two clusters became one; the absorbed id is never used again.

    Attributes:
        survivor: the one that goes on, right after; its epoch is above both earlier ones.
        absorbed: the one that ended, right before; its representative is a duplicate now.
        cause: what made them one.
    """

    survivor: EventCluster
    absorbed: EventCluster
    cause: MergeCause


class RepresentativeChanged(msgspec.Struct, frozen=True, kw_only=True):
    """The page that spoke for a cluster left it, and others remain.

    Attributes:
        cluster: right after.
        former: who spoke for it, with the version that left.
        representative: who speaks for it now: no duplicate any more.
        reason: whether the former one was forgotten, or its content changed.
    """

    cluster: ChangedCluster
    former: Representative
    representative: Representative
    reason: Literal["gone", "changed"]


EventData = (
    DuplicateFound
    | UniqueFound
    | Gone
    | Contained
    | Undecided
    | Archived
    | ClusterMerge
    | RepresentativeChanged
)

EVENT_DATA: Mapping[EventName, type[EventData]] = MappingProxyType(
    {
        "duplicate": DuplicateFound,
        "unique": UniqueFound,
        "gone": Gone,
        "contained": Contained,
        "undecided": Undecided,
        "archived": Archived,
        "cluster-merge": ClusterMerge,
        "representative-changed": RepresentativeChanged,
    }
)
"""What each event's data is."""


class Event(msgspec.Struct, frozen=True, kw_only=True):
    """A CloudEvents 1.0 envelope around one piece of data.

    Attributes:
        id: derived from the index and the input position, or a merge's absorbed id: a repeat carries the same
            id.
        name: what happened.
        source: `/neardup/<namespace>/<input identity>`.
        subject: what the event is about, as `event_subject` says; also the message key.
        time_ms: the input record's timestamp, epoch milliseconds.
        data: what `name` promises.
        trace: `traceparent` and `tracestate` headers of the input record.
        index: token of the index that decided it.
    """

    id: str
    name: EventName
    source: str
    subject: str
    time_ms: int
    data: EventData
    trace: Headers = ()
    index: str = ""


def event_type(name: EventName) -> str:
    """The CloudEvents `type` of an event, stable for subscribers.

    >>> event_type("duplicate")
    'io.neardup.duplicate.v1'
    """
    return f"io.neardup.{name}.v1"


def event_subject(data: EventData) -> str:
    """The id of what an event is about: the absorbed cluster, the cluster that changed, or the page."""
    match data:
        case ClusterMerge():
            return data.absorbed.id
        case RepresentativeChanged():
            return data.cluster.id
        case _:
            return data.page.id
