"""Collect the results of a demo run: the events as published, and the clusters as stored."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import msgspec
from msgspec import UNSET

from neardup_daemon.cluster_files import ClusterRow
from neardup_stream.event_parts import EventMatch
from neardup_stream.events import EVENT_DECODERS, EVENT_NAMES, EventData
from neardup_stream.wire.events import CloudEvent

__all__ = ["DemoRun", "PublishedEvent", "closeness"]


class PublishedEvent(NamedTuple):
    """One event: when, what happened, and its data."""

    time: str
    name: str
    data: EventData


@dataclass(frozen=True, slots=True)
class DemoRun:
    """A sample crawl, run.

    Attributes:
        events: in the order of their publication.
        outcomes: outcome → records, as the metrics counted them.
        clusters: as the store has them at the end.
        seconds: from the first record to the last event, above 0.
        frame_shares: id of a page on the site with a frame → share of its shingles that were read as frame.
    """

    events: tuple[CloudEvent[msgspec.Raw], ...]
    outcomes: Mapping[str, int]
    clusters: tuple[ClusterRow, ...]
    seconds: float
    frame_shares: Mapping[str, float] = field(default_factory=dict)

    def published(self) -> Iterator[PublishedEvent]:
        """Yield the events, read as a subscriber reads them."""
        for event in self.events:
            yield PublishedEvent(
                event.time, EVENT_NAMES[event.type], EVENT_DECODERS[event.type].decode(event.data)
            )


def closeness(match: EventMatch) -> str:
    """Return how alike two pages are: the resemblance, or the distance where there is none."""
    if match.resemblance is UNSET:
        return f"{match.distance_bits} bits off"
    return f"{match.resemblance:.2f}"
