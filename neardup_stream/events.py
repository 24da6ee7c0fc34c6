"""Define the events: the data of each, and the envelope around it.

The classes are the schema: `docs/schemas/` is generated from them, and changes within `v1` only add fields.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from neardup_stream.event_parts import (
    ChangedCluster,
    DistanceBits,
    EventCluster,
    EventMatch,
    EventPage,
    FrozenMatch,
    GonePage,
    LeftCluster,
    OwnCluster,
    PreviousPlace,
    Representative,
)
from neardup_stream.match import MatchKind
from neardup_stream.message import TraceHeaders

__all__ = [
    "EVENT_DATA",
    "EVENT_DECODERS",
    "EVENT_NAMES",
    "Archived",
    "ClusterMerge",
    "Contained",
    "DuplicateFound",
    "Event",
    "EventData",
    "EventName",
    "Gone",
    "MergeCause",
    "RepresentativeChanged",
    "Undecided",
    "UniqueFound",
    "data_schema_uri",
    "event_subject",
    "event_type",
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
            may not be among the matches; absent if the fingerprint of the version named there is not known.
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
    trace: TraceHeaders = ()
    index: str = ""


def event_type(name: EventName) -> str:
    """Return the CloudEvents `type` of an event, stable for subscribers.

    >>> event_type("duplicate")
    'io.neardup.duplicate.v1'
    """
    return f"io.neardup.{name}.v1"


EVENT_NAMES: Mapping[str, EventName] = MappingProxyType({event_type(name): name for name in EVENT_DATA})
"""The name of each event by its CloudEvents `type`."""

EVENT_DECODERS: Mapping[str, msgspec.json.Decoder[EventData]] = MappingProxyType(
    {event_type(name): msgspec.json.Decoder(data) for name, data in EVENT_DATA.items()}
)
"""The decoder of the data of each event by its CloudEvents `type`."""


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
