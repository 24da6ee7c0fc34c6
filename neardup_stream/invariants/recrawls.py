"""2: no page is its own duplicate; a re-crawl without change makes no event."""

from collections.abc import Iterator, Sequence
from itertools import pairwise

from neardup_stream.events import DuplicateFound, EventCluster
from neardup_stream.invariants.evidence import Evidence, shown, where
from neardup_stream.invariants.history import Violation
from neardup_stream.invariants.inputs import Input

__all__ = ["judge_recrawls"]


def judge_recrawls(evidence: Evidence) -> Iterator[Violation]:
    """Pages matched with themselves, and events for what had not changed."""
    for telling in evidence.told:
        if isinstance(telling.data, DuplicateFound) and _is_of_itself(telling.data):
            yield Violation(2, f"event {telling.id} calls page {telling.data.page.id} its own duplicate")
    if evidence.expectations.may_expire or evidence.expectations.may_leave_pages:
        return  # a page that expired, or whose frozen matches were forgotten, is decided when it comes again
    for page_id, inputs in evidence.repeated_pages():
        for each in _unchanged(evidence, inputs):
            events = evidence.events_at(each.position)
            if events:
                names = shown(frozenset(events))
                yield Violation(
                    2, f"{where(each.position)} brings page {page_id} unchanged, and has: {names}"
                )


def _is_of_itself(data: DuplicateFound) -> bool:
    speaker = data.cluster.representative.id if isinstance(data.cluster, EventCluster) else None
    return data.page.id == speaker or any(match.id == data.page.id for match in data.matches)


def _unchanged(evidence: Evidence, inputs: Sequence[Input]) -> Iterator[Input]:
    """The records that bring what the one before them has brought.

    Only where all records of the page are in one partition, and so are processed in this order. A record that
    made the living version has claimed it, because the one before was never decided.
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
