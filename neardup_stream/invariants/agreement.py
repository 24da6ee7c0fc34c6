"""Invariant 4: the fold of the events equals the stored clusters, and every cluster keeps one page.

Expiry publishes no event, so both sides omit pages that have expired or are expiring. A forgotten page has a
`gone` event, and is in no cluster on either side.
"""

import random
from collections.abc import Iterable, Iterator

from neardup_stream.fold import Fold
from neardup_stream.invariants.evidence import Evidence, shown
from neardup_stream.invariants.history import StoredCluster, Violation
from neardup_stream.message import Partition, Position
from neardup_stream.page import PageId
from neardup_stream.wire.events import from_message

__all__ = ["judge_agreement"]

_REPEATS = 2


def judge_agreement(evidence: Evidence) -> Iterator[Violation]:
    """Yield clusters in which the fold and the store disagree, and pages that may wrongly be deleted.

    Cost: some 30 µs an event.
    """
    fold = _folded(evidence)
    stored = evidence.history.clusters
    for cluster_id, cluster in stored.items():
        yield from _torn(evidence, cluster_id, cluster)
    counted = _Counted(evidence)
    published = {cluster_id: counted.among(members) for cluster_id, members in fold.clusters().items()}
    grown = {cluster_id for cluster_id, members in published.items() if len(members) > 1}
    for cluster_id in sorted(stored.keys() | grown):
        members = evidence.living(stored[cluster_id]) if cluster_id in stored else frozenset()
        known = published.get(cluster_id, frozenset())
        if known != members:
            more, fewer = shown(known - members), shown(members - known)
            yield Violation(
                4, f"cluster {cluster_id}: only in the events: {more}; only in the store: {fewer}"
            )
    yield from _deletable(evidence, fold, counted)


class _Counted:
    """The pages whose cluster the fold must know: living pages and forgotten ones."""

    def __init__(self, evidence: Evidence) -> None:
        self._records = evidence.records
        self._forgets = {each.position for each in evidence.history.inputs if each.kind == "forget"}

    def among(self, page_ids: Iterable[str]) -> frozenset[str]:
        """Return which of these pages count."""
        return frozenset(filter(self._counts, page_ids))

    def _counts(self, page_id: str) -> bool:
        record = self._records.get(PageId(page_id))
        if record is None or record.is_kept or record.state != "gone":
            return record is not None and record.is_kept
        input_id, number, offset = record.made_by
        return Position(Partition(input_id, number), offset) in self._forgets


def _folded(evidence: Evidence) -> Fold:
    numbers = evidence.published.numbers * _REPEATS
    random.Random(evidence.expectations.seed).shuffle(numbers)  # noqa: S311 - an order, no secret
    fold = Fold()
    for number in numbers:
        fold.feed(from_message(evidence.history.events[number]))
    return fold


def _torn(evidence: Evidence, cluster_id: str, cluster: StoredCluster) -> Iterator[Violation]:
    """Yield violations within one stored cluster."""
    if cluster.representative.handle not in cluster.members:
        yield Violation(
            4, f"cluster {cluster_id}: representative {cluster.representative.id} is not a member"
        )
    for handle in cluster.members:
        if handle not in evidence.history.records:
            yield Violation(4, f"cluster {cluster_id}: member {handle:016x} has no record")
        elif evidence.cluster_of[handle] != cluster_id:
            other = evidence.cluster_of[handle]
            yield Violation(4, f"clusters {cluster_id} and {other}: member {handle:016x} is in both")


def _deletable(evidence: Evidence, fold: Fold, counted: "_Counted") -> Iterator[Violation]:
    """Yield clusters where the set of pages declared duplicate is not all members but the representative."""
    declared = counted.among(fold.deletable())
    grouped: set[str] = set()
    for cluster_id, cluster in evidence.history.clusters.items():
        members = evidence.living(cluster)
        grouped |= members
        expected = members - {cluster.representative.id}
        if declared & members != expected:
            kept = shown(members - declared)
            representative = cluster.representative.id
            yield Violation(
                4, f"cluster {cluster_id}: representative {representative}; not declared duplicate: {kept}"
            )
    for page_id in sorted(declared - grouped):
        yield Violation(4, f"page {page_id} is in no cluster, and is declared duplicate")
