"""Invariant 2: no page is its own duplicate; a re-crawl without change publishes no event."""

from collections.abc import Iterator, Sequence
from itertools import pairwise

from neardup_stream.event_parts import EventCluster
from neardup_stream.events import DuplicateFound
from neardup_stream.invariants.evidence import Evidence, shown, where
from neardup_stream.invariants.history import Violation
from neardup_stream.invariants.inputs import Input

__all__ = ["judge_recrawls"]


def judge_recrawls(evidence: Evidence) -> Iterator[Violation]:
    """Yield pages matched with themselves, and events for unchanged pages."""
    for event in evidence.published:
        if isinstance(event.data, DuplicateFound) and _is_of_itself(event.data):
            yield Violation(2, f"event {event.id} calls page {event.data.page.id} its own duplicate")
    if evidence.expectations.may_expire or evidence.expectations.may_leave_pages:
        return  # an expired page, or one whose frozen matches were forgotten, is decided again
    for page_id, inputs in evidence.repeated_pages():
        for each in _unchanged(evidence, inputs):
            events = evidence.events_at(each.position)
            if events:
                names = shown(frozenset(events))
                yield Violation(
                    2, f"{where(each.position)} brings page {page_id} unchanged, and has: {names}"
                )


def _is_of_itself(data: DuplicateFound) -> bool:
    representative = data.cluster.representative.id if isinstance(data.cluster, EventCluster) else None
    return data.page.id == representative or any(match.id == data.page.id for match in data.matches)


def _unchanged(evidence: Evidence, inputs: Sequence[Input]) -> Iterator[Input]:
    """Yield the records with the same content as the record before.

    Only if all records of the page are in one partition, and so are processed in this order. Excludes the
    record that made the living version: the record before it was never decided.
    """
    if len({each.position.partition for each in inputs}) > 1:
        return
    in_order = sorted(inputs, key=lambda each: each.position.offset)
    for before, each in pairwise(in_order):
        is_same = each.kind == before.kind == "page" and each.content == before.content
        record = evidence.records.get(each.page_ids[0])
        has_claimed = record is not None and record.is_made_by(each.position)
        if is_same and not has_claimed and not evidence.is_dead(before.position):
            yield each
