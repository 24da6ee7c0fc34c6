"""Short ways to say what happened, for tests of those who listen."""

from typing import Literal, NamedTuple

import msgspec
from msgspec import UNSET

from neardup_stream.event_parts import (
    Archive,
    ChangedCluster,
    EventCluster,
    EventMatch,
    EventPage,
    FrozenMatch,
    GonePage,
    LeftCluster,
    OwnCluster,
    Representative,
)
from neardup_stream.events import (
    EVENT_DATA,
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
from neardup_stream.wire.events import CloudEvent, from_message, to_message

__all__ = [
    "At",
    "contained",
    "delivered",
    "duplicate",
    "event_name",
    "gone",
    "merge",
    "representative_changed",
    "undecided",
    "unique",
]


class At(NamedTuple):
    """A cluster at one moment, and the page, with its version, that represents it."""

    cluster_id: str
    epoch: int
    page_id: str
    version: int = 1


def delivered(data: EventData, index: str = "") -> CloudEvent[msgspec.Raw]:
    """Return the event of an index as a subscriber reads it from the topic."""
    subject = event_subject(data)
    event = Event(
        id="1",
        name=event_name(data),
        source="/neardup/nd/p",
        subject=subject,
        time_ms=0,
        data=data,
        index=index,
    )
    return from_message(to_message(event))


def event_name(data: EventData) -> EventName:
    """Return what happened."""
    return next(name for name, described in EVENT_DATA.items() if isinstance(data, described))


def duplicate(page_id: str, at: At | None, version: int = 1) -> DuplicateFound:
    """The page joins a cluster; None: clusters are switched off."""
    cluster = UNSET if at is None else _cluster(at)
    return DuplicateFound(
        page=_page(page_id, version), kind="near", cluster=cluster, matches=(_MATCH,), matches_total=1
    )


def unique(page_id: str, cluster_id: str | None, version: int = 1) -> UniqueFound:
    """The page founds a cluster; None: clusters are switched off."""
    cluster = UNSET if cluster_id is None else OwnCluster(id=cluster_id, epoch=0)
    return UniqueFound(page=_page(page_id, version), cluster=cluster)


def undecided(page_id: str, version: int = 1) -> Undecided:
    """The page is too short to be decided."""
    return Undecided(page=_page(page_id, version), reason="too_short")


def contained(page_id: str, version: int = 1) -> Contained:
    """The page is inside another."""
    return Contained(page=_page(page_id, version), containers=(_MATCH,), containers_total=1)


def archived(page_id: str, version: int = 1) -> Archived:
    """The page is like one of an archive."""
    match = FrozenMatch(
        archive=Archive(id="0" * 32, name="old.nda"),
        id="https://a.example/old",
        url="https://a.example/old",
        fetched_at="2023-01-01T00:00:00.000Z",
        distance_bits=0,
        same_page=False,
    )
    return Archived(page=_page(page_id, version), kind="near", matches=(match,), matches_total=1)


def gone(page_id: str, version: int, left: tuple[str, int]) -> Gone:
    """The page is forgotten, with a version of its own, and leaves a cluster at an epoch."""
    return Gone(
        page=GonePage(id=page_id, url=page_id, version=version),
        cluster=LeftCluster(id=left[0], epoch=left[1]),
    )


def merge(survivor: At, absorbed: At, cause: str = "cause") -> ClusterMerge:
    """The page `cause` makes two clusters one."""
    return ClusterMerge(
        survivor=_cluster(survivor),
        absorbed=_cluster(absorbed),
        cause=MergeCause(page=_page(cause, 1), matches=(_MATCH,), matches_total=1),
    )


def representative_changed(
    at: At, former: tuple[str, int], reason: Literal["gone", "changed"] = "gone"
) -> RepresentativeChanged:
    """Return the event that another page is the representative now; `former` left with that version."""
    return RepresentativeChanged(
        cluster=ChangedCluster(id=at.cluster_id, epoch=at.epoch, size=1),
        former=_representative(*former),
        representative=_representative(at.page_id, at.version),
        reason=reason,
    )


_MATCH = EventMatch(id="other", url="other", version=1, distance_bits=0)


def _page(page_id: str, version: int) -> EventPage:
    return EventPage(
        id=page_id, url=page_id, version=version, fetched_at="2024-01-01T00:00:00.000Z", fingerprint="0"
    )


def _representative(page_id: str, version: int) -> Representative:
    return Representative(id=page_id, url=page_id, version=version)


def _cluster(at: At) -> EventCluster:
    return EventCluster(
        id=at.cluster_id, epoch=at.epoch, size=1, representative=_representative(at.page_id, at.version)
    )
