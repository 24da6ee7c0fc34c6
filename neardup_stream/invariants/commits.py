"""Invariant 6: the committed offset never passes an unfinished position, as far as observable."""

from collections.abc import Iterator

from neardup_stream.invariants.evidence import Evidence, where
from neardup_stream.invariants.history import Violation

__all__ = ["judge_commits"]


def judge_commits(evidence: Evidence) -> Iterator[Violation]:
    """Yield committed pages and forgets that are not decided, and offsets beyond the end of a partition."""
    for partition, offset in evidence.history.committed.items():
        end = evidence.history.ends.get(partition, offset)
        if offset > end:
            yield Violation(
                6, f"{partition.input_id}-{partition.number}: committed {offset}, the end is {end}"
            )
    if evidence.expectations.keeps_clusters:  # without clusters, no page record has a rank
        yield from _undecided(evidence)


def _undecided(evidence: Evidence) -> Iterator[Violation]:
    for each in evidence.history.inputs:
        if each.kind not in ("page", "forget") or not evidence.is_committed(each.position):
            continue
        if evidence.is_dead(each.position):
            continue
        for page_id in each.page_ids:
            record = evidence.records.get(page_id)
            if record is None or record.rank or not record.is_made_by(each.position):
                continue
            if each.kind == "forget" or record.is_kept:
                what = "page" if each.kind == "page" else "its forget of page"
                yield Violation(
                    6, f"{where(each.position)} is committed, and {what} {page_id} is not decided"
                )
