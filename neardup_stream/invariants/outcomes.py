"""Invariant 1: every position below the committed offset has exactly one outcome.

It has events, or a dead letter, or no event for one of these reasons:

    it made the living version     the page is unique, or is known as a representative, or another position
                                   with the same content decided the version first, and published its event
    it left that version to the    its `archived` event exists
    archives
    it made none                   the record has applied this offset or a later one of the partition: the
                                   content was the same, or newer content came before it was processed
    it may have made none          the page came in so many partitions that its record dropped the offset, or
                                   in a later epoch of the topic
    there is no such record        the page was forgotten, or has expired, and its stub was dropped

A position at or above the committed offset may have events already; it needs none. Each page version has one
outcome, whatever the number of positions with that content.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from neardup_stream.events import (
    ClusterMerge,
    DuplicateFound,
    EventData,
    EventName,
    Gone,
    RepresentativeChanged,
    Undecided,
    UniqueFound,
    event_subject,
)
from neardup_stream.invariants.evidence import Evidence, PublishedEvent, shown, where
from neardup_stream.invariants.history import Violation
from neardup_stream.invariants.inputs import Input, InputKind
from neardup_stream.message import epoch_of, topic_of
from neardup_stream.page import PageId
from neardup_stream.stores.applied_positions import LATER_PARTITIONS, applied_at, highest_epochs, position_of
from neardup_stream.stores.page_record import PageRecord
from neardup_stream.wire.events import former_merge_event_id, merge_event_id

__all__ = ["judge_outcomes"]

_PLACES: Final[frozenset[EventName]] = frozenset({"duplicate", "unique", "undecided", "gone"})
"""Events that decide a page; a record has at most one of them."""

_EVENTS_OF: Final[dict[InputKind, frozenset[EventName]]] = {
    "page": frozenset(
        {"duplicate", "unique", "undecided", "contained", "archived", "representative-changed"}
    ),
    "forget": frozenset({"gone", "representative-changed"}),
    "rejected": frozenset(),
    "skipped": frozenset(),
}


def judge_outcomes(evidence: Evidence) -> Iterator[Violation]:
    """Yield the positions with several outcomes, or none, and events of no position.

    Cost: some 20 µs a position.
    """
    claimed = bytearray(len(evidence.history.events))
    for each in evidence.history.inputs:
        events = evidence.events_at(each.position)
        for event in events.values():
            claimed[event.number] = True
        detail = _surplus(evidence, each, events) or _lack(evidence, each, events)
        if detail is not None:
            yield Violation(1, f"{where(each.position)} {detail}")
    yield from _invented(evidence, claimed)
    if evidence.expectations.keeps_clusters:
        yield from _repeated(evidence)


def _surplus(evidence: Evidence, each: Input, events: dict[EventName, PublishedEvent]) -> str | None:
    """Return the violation by events that the position must not have."""
    names = frozenset(events)
    if names and evidence.is_dead(each.position):
        return f"is a dead letter and has events: {shown(names)}"
    if foreign := names - _EVENTS_OF[each.kind]:
        cause = f" ({each.cause})" if each.cause else ""
        return f"is a {each.kind} record{cause} and has events: {shown(foreign)}"
    if len(places := names & _PLACES) > 1:
        return f"has several outcomes: {shown(places)}"
    for name, event in events.items():
        if _is_of_page(event.data) and event_subject(event.data) not in each.page_ids:
            return f"is of page {each.page_ids[0]}, and its {name} event of {event_subject(event.data)}"
    return None


def _lack(evidence: Evidence, each: Input, events: dict[EventName, PublishedEvent]) -> str | None:
    """Return the violation by events that the position lacks; only for committed positions."""
    if not evidence.is_committed(each.position) or events.keys() & _PLACES:
        return None
    if evidence.is_dead(each.position) or each.kind == "skipped":
        return None
    if each.kind == "rejected":
        was_kept = _is_since(each, evidence.expectations.dead_letters_since_ms)
        return f"cannot be a page ({each.cause}), and has no dead letter" if was_kept else None
    if not _is_since(each, evidence.expectations.events_since_ms):
        return None
    if "representative-changed" in events:
        return "has changed a representative, and no event reports the cluster of its own page"
    return _lack_of_page(evidence, each) if each.kind == "page" else _lack_of_forget(evidence, each)


def _lack_of_page(evidence: Evidence, each: Input) -> str | None:
    """Return why a page's record must have an event."""
    (page_id,) = each.page_ids
    record = evidence.records.get(page_id)
    if record is not None and record.is_made_by(each.position):
        is_published = evidence.published.has_outcome(record.id, record.version)
        return None if is_published else _lack_of_living(evidence, record)
    if _covers(evidence, record, each) or _may_be_dropped(evidence, page_id, each):
        return None
    return f"has no event, and {_last_seen(record, each)}"


def _lack_of_living(evidence: Evidence, record: PageRecord) -> str | None:
    """Return why a page that lives because of this position must have an event."""
    expectations = evidence.expectations
    if record.state == "short":
        return _switched_on(record, "undecided") if expectations.publishes_undecided else None
    if record.state == "archived":
        is_published = evidence.published.is_archived(record.id, record.version)
        return None if is_published else f"has no event, and has left page {record.id} to the archives"
    if record.state != "live":
        return None  # it has expired or is expiring
    if expectations.publishes_unique:
        return _switched_on(record, "unique")
    is_known = expectations.is_quiet and expectations.events_since_ms == 0
    is_named = evidence.published.is_named(record.id, record.version)
    if is_known and not is_named and (cluster := _cluster_of_another(evidence, record)):
        return f"has no event, and its page {record.id} is a duplicate in cluster {cluster}"
    return None


def _lack_of_forget(evidence: Evidence, each: Input) -> str | None:
    """Return why a forget must have an event: its page was known, and no later record came first.

    A stub that was never decided proves nothing: another daemon may have decided the position before it was
    written. Invariant 6 reports it.
    """
    for page_id in each.page_ids:
        record = evidence.records.get(page_id)
        if record is not None and record.is_made_by(each.position):
            is_decided = record.rank or not evidence.expectations.keeps_clusters
            return f"has no gone event, and has forgotten page {page_id}" if is_decided else None
        if _was_known(evidence, page_id, each):
            if _covers(evidence, record, each) or _may_be_dropped(evidence, page_id, each):
                return None
            return f"has no gone event, and {_last_seen(record, each)}"
        if evidence.inputs_of(page_id) != [each]:
            return None  # perhaps the page was known, and this forget was meant for it
    return None


def _invented(evidence: Evidence, claimed: bytearray) -> Iterator[Violation]:
    """Yield the events that no record of these inputs causes."""
    inputs = {partition.input_id for partition in evidence.history.committed}
    if any(evidence.first_offsets.values()):
        return  # a record that is no longer retained may have caused them
    for event in evidence.published:
        if event.input_id not in inputs or claimed[event.number]:
            continue
        if isinstance(event.data, ClusterMerge):
            absorbed_id = event.data.absorbed.id
            if not _is_caused(evidence, event.id, event.data):
                yield Violation(
                    1, f"event {event.id}, a merge of cluster {absorbed_id}, belongs to no record"
                )
        else:
            subject = event_subject(event.data)
            yield Violation(1, f"{event.name} event {event.id} of {subject} belongs to no record")


def _is_caused(evidence: Evidence, merge_id: str, merge: ClusterMerge) -> bool:
    """Return whether a record of the page that caused a merge has this event."""
    absorbed_id, index = merge.absorbed.id, evidence.history.index_token
    if evidence.expectations.has_former_merges and merge_id == former_merge_event_id(absorbed_id, index):
        return True
    return any(
        merge_id == merge_event_id(absorbed_id, each.position, index)
        for each in evidence.inputs_of(PageId(merge.cause.page.id))
    )


def _repeated(evidence: Evidence) -> Iterator[Violation]:
    """Yield page versions with several outcomes, at one position or at several."""
    for events in evidence.published.repeated_outcomes():
        names = ", ".join(sorted(f"{event.name} {event.id}" for event in events))
        yield Violation(1, f"{_version(events[0].data)} has several outcomes: {names}")


def _is_since(each: Input, since_ms: int | None) -> bool:
    return since_ms is not None and each.timestamp_ms >= since_ms


def _covers(evidence: Evidence, record: PageRecord | None, each: Input) -> bool:
    """Return whether the record has applied this position or a later one, or dropped it for lack of room."""
    if record is None:
        return False
    if record.has_passed(each.position):
        return True
    # One whose last offset was dropped may still be there, with the offset of a version that it made; and the
    # others may be fewer by now than there is room for. Those of epochs before its own took no room from it.
    applied = (applied_at(each.position), *record.applied)
    highest = highest_epochs(applied[:1])
    known = {position_of(at).partition for at in applied if not _is_of_ended_epoch(at[0], highest)}
    if len(known) > LATER_PARTITIONS:
        return True
    known.update(
        partition
        for partition in evidence.partitions_of(record.id)
        if not _is_of_ended_epoch(partition.input_id, highest)
    )
    return len(known) > LATER_PARTITIONS


def _is_of_ended_epoch(input_id: str, highest: Mapping[str, int]) -> bool:
    """Return whether the epoch of an input has ended, given the highest epochs by topic."""
    return (epoch_of(input_id) or 0) < highest.get(topic_of(input_id), 0)


def _may_be_dropped(evidence: Evidence, page_id: PageId, each: Input) -> bool:
    """Return whether the page's record may have been dropped since: it may expire or be forgotten."""
    return evidence.expectations.may_expire or any(
        other.kind == "forget" and _may_follow(other, each) for other in evidence.inputs_of(page_id)
    )


def _may_follow(other: Input, each: Input) -> bool:
    if other.position.partition != each.position.partition:
        return True
    return other.position.offset > each.position.offset


def _was_known(evidence: Evidence, page_id: PageId, each: Input) -> bool:
    """Return whether the page was certainly known at the forget: the record before it contained the page."""
    before = [
        other
        for other in evidence.inputs_of(page_id)
        if other.position.partition == each.position.partition
        and other.position.offset < each.position.offset
        and not evidence.is_dead(other.position)
    ]
    return bool(before) and before[-1].kind == "page"


def _cluster_of_another(evidence: Evidence, record: PageRecord) -> str | None:
    """Return the cluster that has another page as representative for this one."""
    handle = evidence.records.handle(record.id)
    cluster_id = evidence.cluster_of.get(handle)
    if cluster_id is None or evidence.history.clusters[cluster_id].representative.handle == handle:
        return None
    return cluster_id


def _version(data: EventData) -> str:
    """Return the page version that an outcome is of, as text."""
    assert isinstance(data, (DuplicateFound, UniqueFound, Undecided, Gone))  # noqa: S101 - outcomes alone
    return f"version {data.page.version} of page {data.page.id}"


def _is_of_page(data: EventData) -> bool:
    return not isinstance(data, (ClusterMerge, RepresentativeChanged))


def _switched_on(record: PageRecord, name: EventName) -> str:
    return f"has no event, though {name} events are switched on, and has made page {record.id}"


def _last_seen(record: PageRecord | None, each: Input) -> str:
    if record is None:
        return f"there is no record of page {each.page_ids[0]}"
    last_applied = record.last_applied(each.position.partition)
    seen = "nothing of this partition" if last_applied is None else f"only offset {last_applied}"
    return f"page {record.id} has seen {seen}"
