"""What subscribers are told: the data of each event, and the envelope around it.

The classes are the schema: `docs/schemas/` is generated from them, and changes within `v1` only add.
64-bit fingerprints are decimal strings, because JSON numbers lose bits past 2**53.
"""

from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from neardup_stream.match import MatchKind
from neardup_stream.message import Headers

__all__ = [
    "DuplicateFound",
    "Event",
    "EventCluster",
    "EventMatch",
    "EventName",
    "EventPage",
    "OwnCluster",
    "PreviousPlace",
    "Representative",
    "UniqueFound",
    "event_type",
]

EventName = Literal["duplicate", "unique"]


Version = Annotated[
    int, Meta(ge=1, description="From 1; one more whenever the page's content changes, or it comes back.")
]
Epoch = Annotated[
    int,
    Meta(ge=0, description="Grows with every change of the cluster; of two accounts the higher one holds."),
]
Ratio = Annotated[float, Meta(ge=0, le=1)]


class EventPage(msgspec.Struct, frozen=True, kw_only=True):
    """The page an event speaks about.

    Attributes:
        id: identity of the page.
        url: address as crawled.
        version: of the page that was judged.
        fetched_at: RFC 3339, UTC.
        fingerprint: the simhash, a decimal string in [0, 2**64).
        meta: whatever the crawler sent as `meta`, untouched.
    """

    id: str
    url: str
    version: Version
    fetched_at: Annotated[str, Meta(extra_json_schema={"format": "date-time"})]
    fingerprint: Annotated[str, Meta(pattern="^[0-9]{1,20}$", description="The simhash, in [0, 2**64).")]
    meta: msgspec.Raw | UnsetType = UNSET


class Representative(msgspec.Struct, frozen=True, kw_only=True):
    """The page that speaks for a cluster: its living member decided first."""

    id: str
    url: str
    version: Version


class EventCluster(msgspec.Struct, frozen=True, kw_only=True):
    """A cluster as it was when the event's page was decided.

    Attributes:
        id: of the cluster.
        epoch: how far the cluster's history had come.
        size: living members.
        representative: the one that is not a duplicate.
    """

    id: str
    epoch: Epoch
    size: Annotated[int, Meta(ge=1)]
    representative: Representative


class OwnCluster(msgspec.Struct, frozen=True, kw_only=True):
    """The cluster of a page that stands alone."""

    id: str
    epoch: Epoch


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
        scheme: what found the match.
    """

    id: str
    url: str
    version: Version
    distance_bits: Annotated[int, Meta(ge=0, le=64)]
    resemblance: Ratio | UnsetType = UNSET
    containment: Ratio | UnsetType = UNSET
    contained_in: Ratio | UnsetType = UNSET
    scheme: Literal["simhash"] = "simhash"


class DuplicateFound(msgspec.Struct, frozen=True, kw_only=True):
    """The page matches earlier pages.

    Attributes:
        page: the later page.
        kind: exact when some match has the same sequence of tokens, else near.
        cluster: where the page is now.
        matches: best first, at most a set number.
        matches_total: how many there were.
        previous: where the page was, when it was known before.
    """

    page: EventPage
    kind: MatchKind
    cluster: EventCluster | UnsetType = UNSET
    matches: tuple[EventMatch, ...]
    matches_total: Annotated[int, Meta(ge=1)]
    previous: PreviousPlace | UnsetType = UNSET


class UniqueFound(msgspec.Struct, frozen=True, kw_only=True):
    """The page matches no earlier page.

    Attributes:
        page: the page.
        cluster: its own.
        previous: where the page was, when it was known before.
    """

    page: EventPage
    cluster: OwnCluster | UnsetType = UNSET
    previous: PreviousPlace | UnsetType = UNSET


class Event(msgspec.Struct, frozen=True, kw_only=True):
    """A CloudEvents 1.0 envelope around one piece of data.

    Attributes:
        id: derived from the input position alone, so a repeat carries the same id.
        name: what happened.
        source: `/neardup/<namespace>/<input identity>`.
        subject: id of the page the event is about; also the message key.
        time_ms: the input record's timestamp, epoch milliseconds.
        data: what `name` promises.
        trace: `traceparent` and `tracestate` headers of the input record.
    """

    id: str
    name: EventName
    source: str
    subject: str
    time_ms: int
    data: DuplicateFound | UniqueFound
    trace: Headers = ()


def event_type(name: EventName) -> str:
    """The CloudEvents `type` of an event, stable for subscribers.

    >>> event_type("duplicate")
    'io.neardup.duplicate.v1'
    """
    return f"io.neardup.{name}.v1"
