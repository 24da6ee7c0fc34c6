"""From a judged page to its outcome and its event: pure, so the same input gives the same bytes."""

from dataclasses import dataclass
from typing import NamedTuple

from msgspec import UNSET

from neardup_stream.errors import ConfigError
from neardup_stream.events import DuplicateFound, Event, EventMatch, EventName, EventPage, UniqueFound
from neardup_stream.match import Match
from neardup_stream.meters import Outcome
from neardup_stream.page import Page
from neardup_stream.pipeline.arrival import Judged, Registered
from neardup_stream.wire.events import event_id, trace_headers
from neardup_stream.wire.times import rfc3339

__all__ = ["Decision", "EventConfig", "decide", "quiet_outcome"]


@dataclass(frozen=True, slots=True)
class EventConfig:
    """What subscribers are told.

    Attributes:
        namespace: first part of every event's source.
        unique: whether pages without a match are told as well.
        matches_limit: most matches listed in one event; `matches_total` counts them all.
    """

    namespace: str = "nd"
    unique: bool = False
    matches_limit: int = 64

    def __post_init__(self) -> None:
        """Refuse a limit that would leave a duplicate without evidence.

        Raises:
            ConfigError: the limit is below one.
        """
        if self.matches_limit < 1:
            raise ConfigError(f"events.matches_limit ({self.matches_limit}) must be at least 1")


class Decision(NamedTuple):
    """What became of a page, and what is said about it, if anything."""

    outcome: Outcome
    event: Event | None


def quiet_outcome(registered: Registered) -> Outcome | None:
    """The outcome of a page that needs no probe; None for one that does."""
    if registered.verdict in ("unchanged", "superseded"):
        return registered.verdict
    return None if registered.arrival.is_decided else "undecided"


def decide(judged: Judged, config: EventConfig) -> Decision:
    """A page is a duplicate when it matches an earlier one, else unique."""
    page = _event_page(judged.registered)
    if judged.matches:
        listed = judged.matches[: config.matches_limit]
        data = DuplicateFound(
            page=page,
            kind=judged.matches[0].kind,
            matches=tuple(_event_match(match) for match in listed),
            matches_total=len(judged.matches),
        )
        return Decision("duplicate", _event("duplicate", judged, data, config))
    event = _event("unique", judged, UniqueFound(page=page), config) if config.unique else None
    return Decision("unique", event)


def _event(name: EventName, judged: Judged, data: DuplicateFound | UniqueFound, config: EventConfig) -> Event:
    record = judged.registered.arrival.record
    return Event(
        id=event_id(name, record.position),
        name=name,
        source=f"/neardup/{config.namespace}/{record.position.partition.input_id}",
        subject=data.page.id,
        time_ms=record.timestamp_ms,
        data=data,
        trace=trace_headers(record.headers),
    )


def _event_page(registered: Registered) -> EventPage:
    page: Page = registered.arrival.page
    return EventPage(
        id=page.id,
        url=page.url,
        version=registered.record.version,
        fetched_at=rfc3339(round(page.fetched_at_seconds * 1000)),
        fingerprint=str(registered.arrival.fingerprint),
        meta=UNSET if page.meta is None else page.meta,
    )


def _event_match(match: Match) -> EventMatch:
    return EventMatch(id=match.id, url=match.url, version=match.version, distance_bits=match.distance_bits)
