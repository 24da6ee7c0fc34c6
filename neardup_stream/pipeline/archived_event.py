"""Builds the `archived` event of a page from its matches in archives. Pure."""

from neardup_stream.event_parts import Archive, EventPage, FrozenMatch, rounded_ratio
from neardup_stream.events import Archived
from neardup_stream.pipeline.archived import ArchivedMatch, ArchivedMatches
from neardup_stream.wire.times import rfc3339

__all__ = ["archived_event"]


def archived_event(page: EventPage, found: ArchivedMatches) -> Archived:
    """Return the event of a page that frozen pages are like."""
    return Archived(
        page=page,
        kind=found.matches[0].match.kind,
        matches=tuple(_frozen_match(page, each) for each in found.matches),
        matches_total=found.total,
    )


def _frozen_match(page: EventPage, archived: ArchivedMatch) -> FrozenMatch:
    match = archived.match
    return FrozenMatch(
        archive=Archive(id=archived.archive_id, name=archived.archive_name),
        id=match.id,
        url=match.url,
        fetched_at=rfc3339(archived.fetched_ms),
        distance_bits=match.distance_bits,
        resemblance=rounded_ratio(match.resemblance),
        containment=rounded_ratio(match.containment),
        contained_in=rounded_ratio(match.contained_in),
        view=match.view,
        same_page=match.id == page.id,
        keys=archived.keys,
    )
