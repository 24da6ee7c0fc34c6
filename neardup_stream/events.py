"""What subscribers are told: the data of each event, and the envelope around it.

The classes are the schema: `docs/schemas/` is generated from them, and changes within `v1` only add.
64-bit fingerprints are decimal strings, because JSON numbers lose bits past 2**53.
"""

from typing import Literal

import msgspec
from msgspec import UNSET, UnsetType

from neardup_stream.match import MatchKind
from neardup_stream.message import Headers

__all__ = [
    "DuplicateFound",
    "Event",
    "EventMatch",
    "EventName",
    "EventPage",
    "UniqueFound",
    "event_type",
]

EventName = Literal["duplicate", "unique"]


class EventPage(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The page an event speaks about.

    Attributes:
        id: identity of the page.
        url: address as crawled.
        version: from 1; one more whenever the content changes.
        fetched_at: RFC 3339, UTC.
        fingerprint: the simhash, a decimal string in [0, 2**64).
        meta: whatever the crawler sent as `meta`, untouched.
    """

    id: str
    url: str
    version: int
    fetched_at: str
    fingerprint: str
    meta: msgspec.Raw | UnsetType = UNSET


class EventMatch(msgspec.Struct, frozen=True, kw_only=True):
    """One page that the event's page matches, and how close it is.

    Attributes:
        id: of the matched page.
        url: of the matched page, as crawled.
        version: of the matched page that was compared.
        distance_bits: differing bits of the two fingerprints.
        scheme: what found the match.
    """

    id: str
    url: str
    version: int
    distance_bits: int
    scheme: Literal["simhash"] = "simhash"


class DuplicateFound(msgspec.Struct, frozen=True, kw_only=True):
    """The page matches earlier pages.

    Attributes:
        page: the later page.
        kind: exact when some match has the same sequence of tokens, else near.
        matches: best first, at most a set number.
        matches_total: how many there were.
    """

    page: EventPage
    kind: MatchKind
    matches: tuple[EventMatch, ...]
    matches_total: int


class UniqueFound(msgspec.Struct, frozen=True, kw_only=True):
    """The page matches no earlier page."""

    page: EventPage


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
