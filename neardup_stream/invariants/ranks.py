"""Invariant 7: ranks never change; merges go to the older representative; absorbed ids are never reused."""

from array import array
from collections.abc import Iterator, Mapping
from itertools import pairwise

import numpy as np

from neardup_stream.event_parts import EventCluster
from neardup_stream.events import ClusterMerge
from neardup_stream.invariants.evidence import Evidence
from neardup_stream.invariants.history import Violation
from neardup_stream.page import PageId

__all__ = ["judge_ranks"]


def judge_ranks(evidence: Evidence) -> Iterator[Violation]:
    """Yield ranks that contradict each other or the order in a cluster, and merges in the wrong direction."""
    yield from _shared_ranks(evidence)
    if evidence.expectations.is_quiet:
        yield from _disordered(evidence)
    yield from _merges(evidence)


def _shared_ranks(evidence: Evidence) -> Iterator[Violation]:
    """Yield pages that share a rank."""
    records = evidence.history.records.values()
    ranks = array("Q", (record.rank for record in records if record.rank))
    known, counts = np.unique(np.array(ranks, dtype=np.uint64), return_counts=True)
    sharing: dict[int, list[str]] = {rank: [] for rank in known[counts > 1].tolist()}
    for record in records if sharing else ():
        if record.rank in sharing:
            sharing[record.rank].append(record.id)
    for rank, pages in sharing.items():
        yield Violation(7, f"rank {rank} is that of several pages: {', '.join(sorted(pages))}")


def _disordered(evidence: Evidence) -> Iterator[Violation]:
    """Yield clusters whose members are not in the order of their ranks, the representative first."""
    for cluster_id, cluster in evidence.history.clusters.items():
        if cluster.members[:1] != (cluster.representative.handle,):
            representative = cluster.representative.id
            yield Violation(7, f"cluster {cluster_id}: representative {representative} was not decided first")
        found = (evidence.history.records.get(handle) for handle in cluster.members)
        ranked = [record for record in found if record is not None and record.rank]
        for one, other in pairwise(ranked):
            if one.rank >= other.rank:
                pages = f"{one.id} (rank {one.rank}) comes before {other.id} (rank {other.rank})"
                yield Violation(7, f"cluster {cluster_id}: {pages}")


def _merges(evidence: Evidence) -> Iterator[Violation]:
    absorbed_by: dict[str, str] = {}
    for event in evidence.published:
        if not isinstance(event.data, ClusterMerge):
            continue
        survivor, absorbed = event.data.survivor, event.data.absorbed
        if absorbed_by.setdefault(absorbed.id, survivor.id) != survivor.id:
            both = f"{absorbed_by[absorbed.id]} and {survivor.id}"
            yield Violation(7, f"cluster {absorbed.id} is absorbed twice, by {both}")
        if survivor.epoch <= absorbed.epoch:
            epochs = f"epoch {survivor.epoch}, not above {absorbed.epoch}"
            yield Violation(7, f"cluster {survivor.id} absorbs {absorbed.id} at {epochs}")
        ranks = _rank(evidence, survivor), _rank(evidence, absorbed)
        if 0 not in ranks and ranks[0] > ranks[1]:
            younger, older = f"{survivor.id} (rank {ranks[0]})", f"{absorbed.id} (rank {ranks[1]})"
            yield Violation(7, f"cluster {younger} absorbs the older {older}")
    for cluster_id in sorted(absorbed_by.keys() & evidence.history.clusters.keys()):
        yield Violation(
            7, f"cluster {cluster_id} was absorbed by {absorbed_by[cluster_id]}, and is used again"
        )
    yield from _cycles(absorbed_by)


def _rank(evidence: Evidence, cluster: EventCluster) -> int:
    """Return the rank of the representative if it lives at that version; else 0."""
    record = evidence.records.get(PageId(cluster.representative.id))
    is_it = record is not None and record.version == cluster.representative.version
    return record.rank if record is not None and is_it else 0


def _cycles(absorbed_by: Mapping[str, str]) -> Iterator[Violation]:
    """Yield cycles of merges."""
    ended: set[str] = set()
    for start in absorbed_by:
        path: dict[str, None] = {}
        cluster_id = start
        while cluster_id in absorbed_by and cluster_id not in ended and cluster_id not in path:
            path[cluster_id] = None
            cluster_id = absorbed_by[cluster_id]
        if cluster_id in path:
            yield Violation(7, f"cluster {cluster_id} was absorbed, transitively, by itself")
        ended.update(path)
