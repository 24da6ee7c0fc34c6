"""Events of every type."""

import msgspec

from neardup_stream.event_parts import (
    Archive,
    ChangedCluster,
    EventCluster,
    EventMatch,
    EventPage,
    FrozenMatch,
    GonePage,
    LeftCluster,
    Representative,
)
from neardup_stream.events import (
    Archived,
    ClusterMerge,
    Contained,
    DuplicateFound,
    Event,
    EventData,
    EventName,
    Gone,
    MergeCause,
    RepresentativeChanged,
    Undecided,
    UniqueFound,
    event_subject,
)
from neardup_stream.message import Headers
from neardup_stream.wire.events import (
    event_id,
)
from tests.unit.wire.records import POSITION

__all__ = ["ABSORBED", "DUPLICATE", "EXAMPLES", "FROZEN_MATCH", "PAGE", "SURVIVOR", "TRACE", "about", "event"]

TRACE: Headers = (("traceparent", b"00-0af7-b7ad-01"), ("tracestate", b"vendor=1"))
PAGE = EventPage(
    id="page-é",
    url="http://example.com/é",
    version=2,
    fetched_at="2024-01-01T00:00:00.000Z",
    fingerprint="18446744073709551615",
)
DUPLICATE = DuplicateFound(
    page=PAGE,
    kind="near",
    matches=(EventMatch(id="page-0", url="http://example.com/0", version=1, distance_bits=3),),
    matches_total=1,
)
FROZEN_MATCH = FrozenMatch(
    archive=Archive(id="0123456789abcdef", name="october.nda"),
    id="page-0",
    url="http://example.com/0",
    fetched_at="2023-01-01T00:00:00.000Z",
    distance_bits=3,
    same_page=False,
)
REPRESENTATIVE = Representative(id="page-0", url="http://example.com/0", version=1)
SURVIVOR = EventCluster(id="c1", epoch=4, size=3, representative=REPRESENTATIVE)
ABSORBED = EventCluster(
    id="c2",
    epoch=2,
    size=1,
    representative=Representative(id="page-1", url="http://example.com/1", version=1),
)
EXAMPLES: dict[EventName, EventData] = {
    "duplicate": DUPLICATE,
    "unique": UniqueFound(page=PAGE),
    "gone": Gone(page=GonePage(id=PAGE.id, url=PAGE.url, version=3), cluster=LeftCluster(id="c1", epoch=5)),
    "contained": Contained(page=PAGE, containers=DUPLICATE.matches, containers_total=1),
    "archived": Archived(page=PAGE, kind="near", matches=(FROZEN_MATCH,), matches_total=1),
    "undecided": Undecided(page=PAGE, reason="too_short"),
    "cluster-merge": ClusterMerge(
        survivor=SURVIVOR,
        absorbed=ABSORBED,
        cause=MergeCause(page=PAGE, matches=DUPLICATE.matches, matches_total=1),
    ),
    "representative-changed": RepresentativeChanged(
        cluster=ChangedCluster(id="c1", epoch=5, size=2),
        former=REPRESENTATIVE,
        representative=ABSORBED.representative,
        reason="gone",
    ),
}
"""One of each, with what is required and little else."""


def about(name: EventName, data: EventData) -> Event:
    return Event(
        id=event_id(name, POSITION),
        name=name,
        source="/neardup/nd/pages",
        subject=event_subject(data),
        time_ms=1_700_000_000_123,
        data=data,
    )


def event(trace: Headers = (), meta: bytes | None = None) -> Event:
    page = PAGE if meta is None else msgspec.structs.replace(PAGE, meta=msgspec.Raw(meta))
    changed = about("duplicate", msgspec.structs.replace(DUPLICATE, page=page))
    return msgspec.structs.replace(changed, trace=trace)
