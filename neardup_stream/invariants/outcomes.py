"""1: every position below the committed offset has exactly one outcome.

Its events are there, or a dead letter; or it is silent, and the record of its page accounts for it:

    it made the living version     the page stands alone, or is known as the one that speaks for others, or
                                   another position with the same content decided the version first, and
                                   published its event
    it left that version to the    its `archived` event is there
    archives
    it made none                   the record has applied this offset or a later one of the partition: the
                                   content was the same, or newer content had come when it was processed
    there is no such record        the page was forgotten, or has expired, and its stub was dropped

A position at or above the committed offset may have events already; it needs none. Each page version has
one outcome, whatever the number of positions that brought it.
"""

from collections.abc import Iterator
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
from neardup_stream.invariants.evidence import Evidence, Telling, shown, where
from neardup_stream.invariants.history import Violation
from neardup_stream.invariants.inputs import Input, InputKind
from neardup_stream.page import PageId
from neardup_stream.stores.page_record import LATER_PARTITIONS, PageRecord
from neardup_stream.wire.events import former_merge_event_id, merge_event_id

__all__ = ["judge_outcomes"]

_PLACES: Final[frozenset[EventName]] = frozenset({"duplicate", "unique", "undecided", "gone"})
"""Each says what became of the page; a record has at most one of them."""

_EVENTS_OF: Final[dict[InputKind, frozenset[EventName]]] = {
    "page": frozenset(
        {"duplicate", "unique", "undecided", "contained", "archived", "representative-changed"}
    ),
    "forget": frozenset({"gone", "representative-changed"}),
    "rejected": frozenset(),
    "skipped": frozenset(),
}


def judge_outcomes(evidence: Evidence) -> Iterator[Violation]:
    """Positions with several outcomes, or none, and events of no position.

    Cost: some 20 µs a position.
    """
    claimed = bytearray(len(evidence.history.events))
    for each in evidence.history.inputs:
        events = evidence.events_at(each.position)
        for telling in events.values():
            claimed[telling.number] = True
        detail = _surplus(evidence, each, events) or _lack(evidence, each, events)
        if detail is not None:
            yield Violation(1, f"{where(each.position)} {detail}")
    yield from _invented(evidence, claimed)
    if evidence.expectations.keeps_clusters:
        yield from _repeated(evidence)


def _surplus(evidence: Evidence, each: Input, events: dict[EventName, Telling]) -> str | None:
    """What it must not have."""
    names = frozenset(events)
    if names and evidence.is_dead(each.position):
        return f"is a dead letter and has events: {shown(names)}"
    if foreign := names - _EVENTS_OF[each.kind]:
        return f"is a {each.kind} record and has events: {shown(foreign)}"
    if len(places := names & _PLACES) > 1:
        return f"has several outcomes: {shown(places)}"
    for name, telling in events.items():
        if _is_of_page(telling.data) and event_subject(telling.data) not in each.page_ids:
            return f"is of page {each.page_ids[0]}, and its {name} event of {event_subject(telling.data)}"
    return None


def _lack(evidence: Evidence, each: Input, events: dict[EventName, Telling]) -> str | None:
    """What it must have; only once it is committed."""
    if not evidence.is_committed(each.position) or events.keys() & _PLACES:
        return None
    if evidence.is_dead(each.position) or each.kind == "skipped":
        return None
    if each.kind == "rejected":
        was_kept = _is_since(each, evidence.expectations.dead_letters_since_ms)
        return "cannot be a page, and has no dead letter" if was_kept else None
    if not _is_since(each, evidence.expectations.events_since_ms):
        return None
    if "representative-changed" in events:
        return "has handed its cluster over, and no event says where its own page went"
    return _lack_of_page(evidence, each) if each.kind == "page" else _lack_of_forget(evidence, each)


def _lack_of_page(evidence: Evidence, each: Input) -> str | None:
    """Why the silence of a page's record is not accounted for."""
    (page_id,) = each.page_ids
    record = evidence.records.get(page_id)
    if record is not None and record.is_made_by(each.position):
        is_told = evidence.told.has_outcome(record.id, record.version)
        return None if is_told else _lack_of_living(evidence, record)
    if _covers(record, each) or _may_be_dropped(evidence, page_id, each):
        return None
    return f"has no event, and {_told_by(record, each)}"


def _lack_of_living(evidence: Evidence, record: PageRecord) -> str | None:
    """Why a page that lives by this very position should have been told."""
    expectations = evidence.expectations
    if record.state == "short":
        return _switched_on(record, "undecided") if expectations.tells_undecided else None
    if record.state == "archived":
        is_told = evidence.told.is_archived(record.id, record.version)
        return None if is_told else f"has no event, and has left page {record.id} to the archives"
    if record.state != "live":
        return None  # it has expired, or is about to
    if expectations.tells_unique:
        return _switched_on(record, "unique")
    is_known = expectations.is_quiet and expectations.events_since_ms == 0
    is_named = evidence.told.is_named(record.id, record.version)
    if is_known and not is_named and (cluster := _cluster_of_another(evidence, record)):
        return f"has no event, and its page {record.id} is a duplicate in cluster {cluster}"
    return None


def _lack_of_forget(evidence: Evidence, each: Input) -> str | None:
    """Why a forget should have been told: its page was known, and no later record came first."""
    for page_id in each.page_ids:
        record = evidence.records.get(page_id)
        if record is not None and record.is_made_by(each.position):
            return f"has no gone event, and has forgotten page {page_id}"
        if _was_known(evidence, page_id, each):
            if _covers(record, each) or _may_be_dropped(evidence, page_id, each):
                return None
            return f"has no gone event, and {_told_by(record, each)}"
        if evidence.inputs_of(page_id) != [each]:
            return None  # perhaps it was known, and this forget was meant for it
    return None


def _invented(evidence: Evidence, claimed: bytearray) -> Iterator[Violation]:
    """Events that no record of these inputs causes."""
    inputs = {partition.input_id for partition in evidence.history.committed}
    if any(evidence.first_offsets.values()):
        return  # a record that is not kept any more may have caused them
    for telling in evidence.told:
        if telling.input_id not in inputs or claimed[telling.number]:
            continue
        if isinstance(telling.data, ClusterMerge):
            absorbed_id = telling.data.absorbed.id
            if not _is_caused(evidence, telling.id, telling.data):
                yield Violation(
                    1, f"event {telling.id}, a merge of cluster {absorbed_id}, belongs to no record"
                )
        else:
            subject = event_subject(telling.data)
            yield Violation(1, f"{telling.name} event {telling.id} of {subject} belongs to no record")


def _is_caused(evidence: Evidence, merge_id: str, merge: ClusterMerge) -> bool:
    """Whether a record of the page that caused a merge has this event."""
    absorbed_id, index = merge.absorbed.id, evidence.history.index_token
    if evidence.expectations.has_former_merges and merge_id == former_merge_event_id(absorbed_id, index):
        return True
    return any(
        merge_id == merge_event_id(absorbed_id, each.position, index)
        for each in evidence.inputs_of(PageId(merge.cause.page.id))
    )


def _repeated(evidence: Evidence) -> Iterator[Violation]:
    """Page versions with several outcomes, at one position or at several."""
    for tellings in evidence.told.repeated_outcomes():
        names = ", ".join(sorted(f"{telling.name} {telling.id}" for telling in tellings))
        yield Violation(1, f"{_version(tellings[0].data)} has several outcomes: {names}")


def _is_since(each: Input, since_ms: int | None) -> bool:
    return since_ms is not None and each.timestamp_ms >= since_ms


def _covers(record: PageRecord | None, each: Input) -> bool:
    """Whether the record has seen this position, or a later one; or may have, and had no room for it."""
    if record is None:
        return False
    last_applied = record.last_applied(each.position.partition)
    if last_applied is None:
        return len(record.later) >= LATER_PARTITIONS
    return last_applied >= each.position.offset


def _may_be_dropped(evidence: Evidence, page_id: PageId, each: Input) -> bool:
    """Whether all that is known of the page may have gone since: it may expire, or somebody forgot it."""
    return evidence.expectations.may_expire or any(
        other.kind == "forget" and _may_follow(other, each) for other in evidence.inputs_of(page_id)
    )


def _may_follow(other: Input, each: Input) -> bool:
    if other.position.partition != each.position.partition:
        return True
    return other.position.offset > each.position.offset


def _was_known(evidence: Evidence, page_id: PageId, each: Input) -> bool:
    """Whether the page certainly was there when the forget came: the record before it brought the page."""
    before = [
        other
        for other in evidence.inputs_of(page_id)
        if other.position.partition == each.position.partition
        and other.position.offset < each.position.offset
        and not evidence.is_dead(other.position)
    ]
    return bool(before) and before[-1].kind == "page"


def _cluster_of_another(evidence: Evidence, record: PageRecord) -> str | None:
    """The cluster in which another page speaks for this one."""
    handle = evidence.records.handle(record.id)
    cluster_id = evidence.cluster_of.get(handle)
    if cluster_id is None or evidence.history.clusters[cluster_id].representative.handle == handle:
        return None
    return cluster_id


def _version(data: EventData) -> str:
    """The page version that an outcome is of."""
    assert isinstance(data, (DuplicateFound, UniqueFound, Undecided, Gone))  # noqa: S101 - outcomes alone
    return f"version {data.page.version} of page {data.page.id}"


def _is_of_page(data: EventData) -> bool:
    return not isinstance(data, (ClusterMerge, RepresentativeChanged))


def _switched_on(record: PageRecord, name: EventName) -> str:
    return f"has no event, though {name} events are switched on, and has made page {record.id}"


def _told_by(record: PageRecord | None, each: Input) -> str:
    if record is None:
        return f"there is no record of page {each.page_ids[0]}"
    last_applied = record.last_applied(each.position.partition)
    seen = "nothing of this partition" if last_applied is None else f"only offset {last_applied}"
    return f"page {record.id} has seen {seen}"
