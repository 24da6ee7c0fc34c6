"""Builds the events of a page from its plan. Pure, so the same input gives the same bytes."""

from collections.abc import Callable, Iterator
from typing import Literal

import msgspec
from msgspec import UNSET, UnsetType

from neardup_stream.bits.words import hamming_distance
from neardup_stream.clusters.placements import ClusterState, Departure, Merge, Placement
from neardup_stream.clusters.planning import stands_alone
from neardup_stream.clusters.requests import PageVersion
from neardup_stream.event_parts import (
    ChangedCluster,
    EventCluster,
    EventMatch,
    EventPage,
    GonePage,
    OwnCluster,
    Representative,
    rounded_ratio,
)
from neardup_stream.events import (
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
from neardup_stream.fingerprints.framed import frame_share
from neardup_stream.match import Match
from neardup_stream.message import Message, RecordMetadata
from neardup_stream.meters import Outcome
from neardup_stream.page import Handle, Page, PageId
from neardup_stream.pipeline.archived_event import archived_event
from neardup_stream.pipeline.arrival import Judged, Registered
from neardup_stream.pipeline.candidate_comparison import best_first
from neardup_stream.pipeline.decision_record import DecisionRecord
from neardup_stream.pipeline.event_config import EventConfig
from neardup_stream.pipeline.forgetting import Forgotten
from neardup_stream.pipeline.left_places import left_place
from neardup_stream.pipeline.listed_matches import listed_matches
from neardup_stream.stores.page_record import PageRecord
from neardup_stream.wire.events import event_id, event_source, merge_event_id
from neardup_stream.wire.times import rfc3339

__all__ = [
    "RenderEvent",
    "event_cluster",
    "event_frame_share",
    "event_match",
    "gone_decision_record",
    "lone_decision_record",
    "page_decision_record",
]

RenderEvent = Callable[[Event], Message]
"""What an event looks like in its sink."""

_SHARE_DIGITS = 2

_STANDS_ALONE = stands_alone(PageVersion(Handle(0), 1, PageId(""), ""))
"""The placement of a new page that matches nothing; which page it is decides nothing about its events."""


def page_decision_record(
    judged: Judged, placement: Placement | None, config: EventConfig, render: RenderEvent
) -> DecisionRecord:
    """Return the decision record of a page: its outcome and its events."""
    registered = judged.registered
    if placement is None or placement.is_superseded:
        outcome: Outcome = "unchanged" if registered.change == "claimed" else "superseded"
        if placement is None or not placement.known_rank:
            return DecisionRecord(outcome)
        return DecisionRecord(outcome, "", registered.handle, registered.record.version)
    outcome = "duplicate" if placement.is_duplicate else _lone_outcome(registered)
    events: tuple[Message, ...] = ()
    if not _is_silent(judged, placement, config):
        # Pending edges come after the page's own matches; an event lists all of them best first.
        matches = tuple(sorted(placement.matches, key=best_first))
        placement = msgspec.structs.replace(placement, matches=matches)
        envelope = _Envelope(registered.arrival.record, config, render)
        events = tuple(_page_events(judged, placement, config, envelope))
    reason = "too_short" if outcome == "undecided" else ""
    return DecisionRecord(outcome, reason, registered.handle, registered.record.version, events)


def lone_decision_record(judged: Judged, config: EventConfig) -> DecisionRecord | None:
    """Return the decision record of a new page that stands alone; None where it has an event or is undecided.

    It is that of `page_decision_record` for such a page.
    """
    registered = judged.registered
    if not (registered.arrival.has_enough_tokens and _is_silent(judged, _STANDS_ALONE, config)):
        return None
    return DecisionRecord(_lone_outcome(registered), "", registered.handle, registered.record.version)


def gone_decision_record(
    forgotten: Forgotten,
    stub: PageVersion,
    placement: Placement | None,
    config: EventConfig,
    render: RenderEvent,
) -> DecisionRecord:
    """Return the decision record of a forget: its outcome and its events.

    Args:
        forgotten: as it was asked for, and what it replaced.
        stub: the page with the version that its absence has.
        placement: what it left.
        config: which events are published.
        render: what an event looks like in its sink.
    """
    if placement is None or placement.is_superseded:
        return DecisionRecord("superseded")
    envelope = _Envelope(forgotten.forget.record, config, render)
    left = left_place(placement.departure, stub.handle, forgotten)
    gone = Gone(
        page=GonePage(id=stub.id, url=stub.url, version=stub.version),
        cluster=UNSET if left is None else left.cluster,
    )
    events = [*_representative_change(placement.departure, "gone", envelope), envelope.around("gone", gone)]
    return DecisionRecord("forgotten", "", stub.handle, stub.version, tuple(events))


def _lone_outcome(registered: Registered) -> Outcome:
    """Return the outcome of a page that is in no cluster with others."""
    if registered.is_left_to_archives:
        return "archived"
    return "unique" if registered.arrival.has_enough_tokens else "undecided"


class _Envelope:
    """Wraps data into rendered events of one record."""

    def __init__(self, record: RecordMetadata, config: EventConfig, render: RenderEvent) -> None:
        self._record = record
        self._source = event_source(config.namespace, record.position.partition.input_id)
        self._index_token = config.index_token
        self._render = render

    def around(self, name: EventName, data: EventData) -> Message:
        return self._wrap(event_id(name, self._record.position, self._index_token), name, data)

    def around_merge(self, data: ClusterMerge) -> Message:
        own_id = merge_event_id(data.absorbed.id, self._record.position, self._index_token)
        return self._wrap(own_id, "cluster-merge", data)

    def _wrap(self, own_id: str, name: EventName, data: EventData) -> Message:
        record = self._record
        event = Event(
            id=own_id,
            name=name,
            source=self._source,
            subject=event_subject(data),
            time_ms=record.timestamp_ms,
            data=data,
            trace=record.headers,
            index=self._index_token,
        )
        return self._render(event)


def _page_events(
    judged: Judged, placement: Placement, config: EventConfig, envelope: _Envelope
) -> Iterator[Message]:
    """Yield events in the order of the changes: the page leaves, clusters merge, the page has its place."""
    page = _event_page(judged.registered)
    yield from _representative_change(placement.departure, "changed", envelope)
    for merge in placement.merges:
        yield envelope.around_merge(_cluster_merge(merge, page, placement, config))
    yield from _place(page, judged, placement, config, envelope)
    if judged.registered.arrival.archived.matches:
        yield envelope.around("archived", archived_event(page, judged.registered.arrival.archived))
    if config.contained and judged.containers:
        contained = Contained(
            page=page,
            containers=_event_matches(judged.containers, config),
            containers_total=len(judged.containers),
        )
        yield envelope.around("contained", contained)


def _is_silent(judged: Judged, placement: Placement, config: EventConfig) -> bool:
    """Return whether the page has no events; checked first, because that is so for most pages."""
    is_wanted = config.unique if judged.registered.arrival.has_enough_tokens else config.undecided
    return not (
        is_wanted
        or judged.registered.is_left_to_archives
        or placement.is_duplicate
        or placement.departure
        or (config.contained and judged.containers)
        or judged.registered.arrival.archived.matches
        or _must_publish(judged.registered, placement)
    )


def _must_publish(registered: Registered, placement: Placement) -> bool:
    """Return whether subscribers may know another place of the page than its present one, alone.

    That is so where it once was in a cluster of two or more, which clusters forget when a page is removed.
    """
    return placement.was_linked or registered.record.is_return


def _place(
    page: EventPage, judged: Judged, placement: Placement, config: EventConfig, envelope: _Envelope
) -> Iterator[Message]:
    """Yield the event with the place of the page; one that was alone and still is has one only if wanted."""
    left = left_place(placement.departure, judged.registered.handle, judged.registered)
    previous = UNSET if left is None else left.previous
    must_publish = _must_publish(judged.registered, placement)
    if judged.registered.is_left_to_archives:
        # Without matches, which were forgotten since, no other event reports the outcome of the page.
        if config.undecided or must_publish or not judged.registered.arrival.archived.matches:
            yield envelope.around("undecided", Undecided(page=page, reason="archived", previous=previous))
    elif not judged.registered.arrival.has_enough_tokens:
        if config.undecided or must_publish:
            undecided = Undecided(page=page, reason="too_short", previous=previous)
            yield envelope.around("undecided", undecided)
    elif placement.is_duplicate:
        duplicate = DuplicateFound(
            page=page,
            kind=placement.matches[0].kind,
            cluster=UNSET if placement.cluster is None else event_cluster(placement.cluster),
            matches=_event_matches(placement.matches, config),
            matches_total=len(placement.matches),
            previous=previous,
            representative_distance_bits=_representative_distance(judged.registered, placement.cluster),
        )
        yield envelope.around("duplicate", duplicate)
    elif config.unique or must_publish:
        cluster = placement.cluster
        own = UNSET if cluster is None else OwnCluster(id=cluster.id, epoch=cluster.epoch)
        yield envelope.around("unique", UniqueFound(page=page, cluster=own, previous=previous))


def _representative_distance(registered: Registered, cluster: ClusterState | None) -> int | UnsetType:
    if cluster is None or not cluster.representative.fingerprint:
        return UNSET
    return hamming_distance(registered.record.fingerprint, cluster.representative.fingerprint)


def _representative_change(
    departure: Departure | None, reason: Literal["gone", "changed"], envelope: _Envelope
) -> Iterator[Message]:
    if departure is None or not departure.is_representative_change or departure.remaining is None:
        return
    remaining = departure.remaining
    data = RepresentativeChanged(
        cluster=ChangedCluster(id=remaining.id, epoch=remaining.epoch, size=remaining.size),
        former=_representative(departure.former),
        representative=_representative(remaining.representative),
        reason=reason,
    )
    yield envelope.around("representative-changed", data)


def _cluster_merge(merge: Merge, page: EventPage, placement: Placement, config: EventConfig) -> ClusterMerge:
    cause = MergeCause(
        page=page,
        matches=_event_matches(placement.matches, config),
        matches_total=len(placement.matches),
    )
    return ClusterMerge(
        survivor=event_cluster(merge.survivor), absorbed=event_cluster(merge.absorbed), cause=cause
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
        frame_share=event_frame_share(registered.record),
    )


def event_frame_share(record: PageRecord) -> float | UnsetType:
    """By the record, whose views never change: a later daemon may know more of the frame, or less.

    Absent where no line of the page is frame.
    """
    return round(frame_share(record), _SHARE_DIGITS) if record.whole_count else UNSET


def event_cluster(cluster: ClusterState) -> EventCluster:
    """Return a cluster as events show it."""
    return EventCluster(
        id=cluster.id,
        epoch=cluster.epoch,
        size=cluster.size,
        representative=_representative(cluster.representative),
    )


def _representative(node: PageVersion) -> Representative:
    return Representative(id=node.id, url=node.url, version=node.version)


def _event_matches(matches: tuple[Match, ...], config: EventConfig) -> tuple[EventMatch, ...]:
    return tuple(event_match(match) for match in listed_matches(matches, config.matches_limit))


def event_match(match: Match) -> EventMatch:
    """Return a match as events show it."""
    return EventMatch(
        id=match.id,
        url=match.url,
        version=match.version,
        distance_bits=match.distance_bits,
        resemblance=rounded_ratio(match.resemblance),
        containment=rounded_ratio(match.containment),
        contained_in=rounded_ratio(match.contained_in),
        scheme=match.scheme,
        view=match.view,
    )
