"""Define the events: the data of each, and the envelope around it.

The classes are the schema: `docs/schemas/` is generated from them, and changes within `v1` only add fields.
64-bit fingerprints are decimal strings, because JSON numbers lose precision above 2**53.
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
    "data_schema_uri",
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
    Meta(
        ge=1,
        description="From 1; increases when the page changes, is forgotten or returns.",
    ),
]
Epoch = Annotated[int, Meta(ge=0)]
"""Increases with every merge and representative change of a cluster; the state with the higher epoch is
newer.
"""
Ratio = Annotated[float, Meta(ge=0, le=1)]
DistanceBits = Annotated[int, Meta(ge=0, le=64)]

_RATIO_DIGITS = 4
"""The estimates are accurate to two digits; more than four would only cost bytes."""


def rounded_ratio(ratio: Ratio | None) -> Ratio | UnsetType:
    """Return a ratio for an event: with four digits, and absent if unknown."""
    return UNSET if ratio is None else round(ratio, _RATIO_DIGITS)


class EventPage(msgspec.Struct, frozen=True, kw_only=True):
    """The page that an event is about.

    Attributes:
        id: identity of the page.
        url: address as crawled.
        version: of the page that was decided.
        fetched_at: RFC 3339, UTC.
        fingerprint: the simhash, a decimal string in [0, 2**64).
        meta: the crawler's `meta`, unchanged.
        frame_share: fraction of its shingles in the frame of its site, which was not compared; absent if
            no line of the page is frame.
    """

    id: str
    url: str
    version: Version
    fetched_at: Annotated[str, Meta(extra_json_schema={"format": "date-time"})]
    fingerprint: Annotated[str, Meta(pattern="^[0-9]{1,20}$", description="The simhash, in [0, 2**64).")]
    meta: msgspec.Raw | UnsetType = UNSET
    frame_share: Ratio | UnsetType = UNSET


class Representative(msgspec.Struct, frozen=True, kw_only=True):
    """The representative of a cluster: its living member that was decided first.

    Attributes:
        id: identity of the page.
        url: address as crawled.
        version: the version that is the representative.
    """

    id: str
    url: str
    version: Version


class EventCluster(msgspec.Struct, frozen=True, kw_only=True):
    """The state of a cluster at one moment.

    Attributes:
        id: of the cluster.
        epoch: increases with every merge and representative change; the state with the higher epoch is newer.
        size: living members.
        representative: the page to keep.
    """

    id: str
    epoch: Epoch
    size: Annotated[int, Meta(ge=1)]
    representative: Representative


class OwnCluster(msgspec.Struct, frozen=True, kw_only=True):
    """The cluster of a unique page, which is its own representative.

    Attributes:
        id: of the cluster.
        epoch: increases with every merge and representative change; the state with the higher epoch is newer.
    """

    id: str
    epoch: Epoch


class LeftCluster(msgspec.Struct, frozen=True, kw_only=True):
    """A cluster that a page has left.

    Attributes:
        id: of the cluster.
        epoch: after the change; the state with the higher epoch is newer.
    """

    id: str
    epoch: Epoch


class ChangedCluster(msgspec.Struct, frozen=True, kw_only=True):
    """A cluster with a new representative.

    Attributes:
        id: of the cluster.
        epoch: after the change; the state with the higher epoch is newer.
        size: living members.
    """

    id: str
    epoch: Epoch
    size: Annotated[int, Meta(ge=1)]


class PreviousPlace(msgspec.Struct, frozen=True, kw_only=True):
    """The cluster of the page before its content changed.

    Attributes:
        version: of the page, before.
        cluster: id of the cluster it left.
    """

    version: Version
    cluster: str | UnsetType = UNSET


class EventMatch(msgspec.Struct, frozen=True, kw_only=True):
    """One page that the event's page matches, and how similar it is.

    Attributes:
        id: of the matched page.
        url: of the matched page, as crawled.
        version: of the matched page that was compared.
        distance_bits: differing bits of the two fingerprints.
        resemblance: of the two pages, symmetric.
        containment: fraction of the event's page inside the matched one.
        contained_in: fraction of the matched page inside the event's.
        scheme: the tables that found the match; `simhash` if both did.
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
    """The page matches earlier pages, and another page is the representative of its cluster.

    Attributes:
        page: the later page.
        kind: exact if some match has the same sequence of tokens, else near.
        cluster: the page's cluster; absent only if clusters are switched off.
        matches: best first, at most a set number.
        matches_total: how many there were.
        previous: the page's previous cluster, if the page was known before.
        representative_distance_bits: differing bits of the page's fingerprint and its representative's, which
            may not be among the matches; absent if the representative's record was not read.
    """

    page: EventPage
    kind: MatchKind
    cluster: EventCluster | UnsetType = UNSET
    matches: tuple[EventMatch, ...]
    matches_total: Annotated[int, Meta(ge=1)]
    previous: PreviousPlace | UnsetType = UNSET
    representative_distance_bits: DistanceBits | UnsetType = UNSET


class UniqueFound(msgspec.Struct, frozen=True, kw_only=True):
    """The page matches no other page.

    Attributes:
        page: the page.
        cluster: its own; absent only if clusters are switched off.
        previous: the page's previous cluster, if the page was known before.
    """

    page: EventPage
    cluster: OwnCluster | UnsetType = UNSET
    previous: PreviousPlace | UnsetType = UNSET


class GonePage(msgspec.Struct, frozen=True, kw_only=True):
    """A page that was forgotten.

    Attributes:
        id: identity of the page.
        url: address as last crawled.
        version: of the forget: one above the last living version.
    """

    id: str
    url: str
    version: Version


class Gone(msgspec.Struct, frozen=True, kw_only=True):
    """The page is forgotten and in no cluster.

    Attributes:
        page: the page.
        cluster: the cluster it left; absent if the page had never been decided.
    """

    page: GonePage
    cluster: LeftCluster | UnsetType = UNSET


class Contained(msgspec.Struct, frozen=True, kw_only=True):
    """Most of the page is inside other pages, or most of them inside it; clusters do not change.

    Attributes:
        page: the page.
        containers: those other pages, best first, at most a set number.
        containers_total: how many there were.
    """

    page: EventPage
    containers: tuple[EventMatch, ...]
    containers_total: Annotated[int, Meta(ge=1)]


class Undecided(msgspec.Struct, frozen=True, kw_only=True):
    """The page cannot be compared: it is in no cluster.

    Attributes:
        page: the page.
        reason: too_short: it has too few tokens. lost: the index was recovered, and no topic retains it.
            archived: it matches pages of frozen archives, and was left to them.
        previous: the page's previous cluster, if the page was known before.
    """

    page: EventPage
    reason: Literal["too_short", "lost", "archived"]
    previous: PreviousPlace | UnsetType = UNSET


class Archive(msgspec.Struct, frozen=True, kw_only=True):
    """A frozen archive.

    Attributes:
        id: equal for equal content.
        name: of its file.
    """

    id: str
    name: str


class FrozenMatch(msgspec.Struct, frozen=True, kw_only=True):
    """One archived page that the event's page matches, and how similar it is.

    Attributes:
        archive: of the page.
        id: of the frozen page.
        url: of the frozen page, as crawled.
        fetched_at: when the frozen page was fetched; RFC 3339.
        distance_bits: differing bits of the two fingerprints.
        resemblance: of the two pages, symmetric.
        containment: fraction of the event's page inside the frozen one.
        contained_in: fraction of the frozen page inside the event's.
        view: which texts were compared: `content`, without the frame of a page's site, or `whole`.
        same_page: whether it has the id of the event's page, as an earlier crawl fetched it.
        keys: keys of the archive that both pages have, so that the frozen one was a candidate: `text`,
            `band N` or `fuzzy N`.
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
    keys: tuple[str, ...] = ()


class Archived(msgspec.Struct, frozen=True, kw_only=True):
    """The page matches pages of frozen archives; clusters do not change.

    Attributes:
        page: the page.
        kind: exact if the best match has the same sequence of tokens.
        matches: best first, at most a set number.
        matches_total: how many there were.
    """

    page: EventPage
    kind: MatchKind
    matches: tuple[FrozenMatch, ...]
    matches_total: Annotated[int, Meta(ge=1)]


class MergeCause(msgspec.Struct, frozen=True, kw_only=True):
    """The page that matches pages of both clusters, as in its own event.

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
        survivor: the remaining cluster, after the merge; its epoch is above both earlier ones.
        absorbed: the other cluster, before the merge; its representative is a duplicate now.
        cause: the page that connected them.
    """

    survivor: EventCluster
    absorbed: EventCluster
    cause: MergeCause


class RepresentativeChanged(msgspec.Struct, frozen=True, kw_only=True):
    """The representative of a cluster left it, and other members remain.

    Attributes:
        cluster: after the change.
        former: the previous representative, with the version that left.
        representative: the new representative, which is no duplicate any more.
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
"""The data class of each event."""


class Event(msgspec.Struct, frozen=True, kw_only=True):
    """A CloudEvents 1.0 envelope around one piece of data.

    Attributes:
        id: derived from the index and the input position, or from a merge's absorbed id; a redelivery has the
            same id.
        name: of the event.
        source: `/neardup/<namespace>/<input identity>`.
        subject: see `event_subject`; also the message key.
        time_ms: the input record's timestamp, epoch milliseconds.
        data: of the class that `name` requires.
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
    """Return the CloudEvents `type` of an event, stable for subscribers.

    >>> event_type("duplicate")
    'io.neardup.duplicate.v1'
    """
    return f"io.neardup.{name}.v1"


def data_schema_uri(name: EventName) -> str:
    """Return the CloudEvents `dataschema` of an event: its definition in the schema file of the event's name.

    >>> data_schema_uri("duplicate")
    'urn:neardup:duplicate:v1#/$defs/DuplicateFound'
    """
    return f"urn:neardup:{name}:v1#/$defs/{EVENT_DATA[name].__name__}"


def event_subject(data: EventData) -> str:
    """Return the id that an event is about: the absorbed cluster, the changed cluster, or the page."""
    match data:
        case ClusterMerge():
            return data.absorbed.id
        case RepresentativeChanged():
            return data.cluster.id
        case _:
            return data.page.id
