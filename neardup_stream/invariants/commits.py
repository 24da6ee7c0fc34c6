"""Invariant 6: the committed offset never passes an unfinished position, as far as observable."""

from collections.abc import Iterator

from neardup_stream.invariants.evidence import Evidence, where
from neardup_stream.invariants.history import Violation

__all__ = ["judge_commits"]


def judge_commits(evidence: Evidence) -> Iterator[Violation]:
    """Yield committed positions whose page is not decided, and offsets beyond the end of their partition."""
    for partition, offset in evidence.history.committed.items():
        end = evidence.history.ends.get(partition, offset)
        if offset > end:
            yield Violation(
                6, f"{partition.input_id}-{partition.number}: committed {offset}, the end is {end}"
            )
    if evidence.expectations.keeps_clusters:  # without clusters, no page is marked as decided
        yield from _undecided(evidence)


def _undecided(evidence: Evidence) -> Iterator[Violation]:
    for each in evidence.history.inputs:
        if each.kind != "page" or not evidence.is_committed(each.position):
            continue
        record = evidence.records.get(each.page_ids[0])
        if record is None or record.rank or not record.is_made_by(each.position):
            continue
        if record.is_kept and not evidence.is_dead(each.position):
            yield Violation(6, f"{where(each.position)} is committed, and page {record.id} is not decided")
