"""Invariant 8: the members of a cluster are connected by matches that their stored sketches confirm.

The published matches are the claims. One between two stored versions is verified again. One with a version
that has changed, is gone or was lost cannot be verified, and counts as published: clusters are not split when
a page leaves them. Matches are not searched for again, so each match that could connect unconnected parts
costs one comparison.
"""

from array import array
from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from typing import Final, NamedTuple

from neardup_stream.chunks import in_chunks
from neardup_stream.event_parts import EventCluster
from neardup_stream.events import DuplicateFound
from neardup_stream.invariants.evidence import Evidence, shown
from neardup_stream.invariants.history import StoredCluster, Violation
from neardup_stream.page import PageId
from neardup_stream.pipeline.candidate_comparison import are_alike
from neardup_stream.pipeline.classification import VerdictConfig
from neardup_stream.stores.page_record import PageRecord

__all__ = ["judge_soundness"]

_PAIRS_AT_ONCE: Final = 4096

_MOST_PAIRS: Final = 1_000_000
"""The most comparisons in one cluster because of events that do not list all of their matches: some 3 s."""


class _Version(NamedTuple):
    """A version of a page."""

    page_id: str
    number: int


def judge_soundness(evidence: Evidence) -> Iterator[Violation]:
    """Yield the clusters whose members are not all connected.

    Cost: 1 µs for each published match; 3 µs and more for each that is verified.
    """
    verdict = evidence.expectations.verdict
    if verdict is None:
        return
    links = _Links(evidence, verdict)
    links.follow_events()
    for cluster_id, cluster in evidence.history.clusters.items():
        parts = links.parts(cluster)
        if len(parts) > 1:
            parts = links.parts_by_unlisted_matches(parts)
        if len(parts) > 1:
            largest = max(parts, key=len)
            others = {page.page_id for part in parts if part is not largest for page in part}
            yield Violation(
                8, f"cluster {cluster_id}: no stored match connects {shown(others)} with the others"
            )


class _Links:
    """Connected sets of page versions.

    Args:
        evidence: the history.
        verdict: when two pages match.
    """

    def __init__(self, evidence: Evidence, verdict: VerdictConfig) -> None:
        self._evidence = evidence
        self._verdict = verdict
        self._parents: dict[_Version, _Version] = {}
        self._unlisted: set[_Version] = set()

    def follow_events(self) -> None:
        """Connect the pages of the published matches, the best match of each page first."""
        published = array("I")
        for event in self._evidence.published:
            if isinstance(duplicate := event.data, DuplicateFound):
                published.append(event.number)
                if duplicate.matches_total > len(duplicate.matches):
                    self._unlisted.add(_version(duplicate))
        number = 0
        while published:
            more = array("I")
            self._connect(self._pairs(published, number, more), is_trusted=False)
            number, published = number + 1, more
        if self._evidence.history.version_floor:
            self._connect(map(_correction, filter(_may_correct, self._duplicates())), is_trusted=True)

    def parts(self, cluster: StoredCluster) -> list[list[_Version]]:
        """Return the members with stored records, by connected set."""
        found: defaultdict[_Version, list[_Version]] = defaultdict(list)
        for handle in cluster.members:
            record = self._evidence.history.records.get(handle)
            if record is not None:
                member = _Version(record.id, record.version)
                found[self._root(member)].append(member)
        return list(found.values())

    def parts_by_unlisted_matches(self, parts: list[list[_Version]]) -> list[list[_Version]]:
        """Return the connected sets after comparing pages whose events list only some of their matches.

        If such a page has left, or there is too much to compare, the result is unknown.
        """
        roots = {self._root(part[0]) for part in parts}
        unlisted = [each for each in self._unlisted if self._root(each) in roots]
        if any(self._stored(each) is None for each in unlisted):
            return []
        largest = max(parts, key=len)
        small = [each for part in parts if part is not largest for each in part]
        is_small = set(small)
        pairs = chain(
            ((one, other) for one in unlisted if one not in is_small for other in small),
            ((one, other) for one in unlisted if one in is_small for part in parts for other in part),
        )
        self._connect(islice(pairs, _MOST_PAIRS), is_trusted=False)
        if next(pairs, None) is not None:
            return []
        joined: defaultdict[_Version, list[_Version]] = defaultdict(list)
        for part in parts:
            joined[self._root(part[0])] += part
        return list(joined.values())

    def _duplicates(self) -> Iterator[DuplicateFound]:
        return (each.data for each in self._evidence.published if isinstance(each.data, DuplicateFound))

    def _pairs(
        self, published: Iterable[int], number: int, more: "array[int]"
    ) -> Iterator[tuple[_Version, _Version]]:
        """Yield each page with its match of this number, from 0; append events that list more to `more`."""
        for at in published:
            duplicate = self._evidence.published.data_at(at)
            if isinstance(duplicate, DuplicateFound) and number < len(duplicate.matches):
                if number + 1 < len(duplicate.matches):
                    more.append(at)
                match = duplicate.matches[number]
                yield _version(duplicate), _Version(match.id, match.version)

    def _connect(self, pairs: Iterable[tuple[_Version, _Version]], *, is_trusted: bool) -> None:
        """Connect the pairs that match by their stored records, or of which one is not stored any more."""
        apart = ((one, other) for one, other in pairs if self._root(one) != self._root(other))
        for chunk in in_chunks(apart, _PAIRS_AT_ONCE):
            compared: list[tuple[_Version, _Version, PageRecord, PageRecord]] = []
            for one, other in chunk:
                left, right = self._stored(one), self._stored(other)
                if is_trusted or left is None or right is None:
                    self._unite(one, other)
                else:
                    compared.append((one, other, left, right))
            alike = are_alike([each[2] for each in compared], [each[3] for each in compared], self._verdict)
            for (one, other, _, _), is_alike in zip(compared, alike, strict=True):
                if is_alike:
                    self._unite(one, other)

    def _stored(self, version: _Version) -> PageRecord | None:
        record = self._evidence.records.get(PageId(version.page_id))
        is_stored = record is not None and record.version == version.number and record.is_indexed
        return record if is_stored else None

    def _root(self, version: _Version) -> _Version:
        root = version
        while (parent := self._parents.get(root, root)) != root:
            root = parent
        while (parent := self._parents.get(version, root)) != root:
            self._parents[version] = root
            version = parent
        return root

    def _unite(self, one: _Version, other: _Version) -> None:
        first, second = self._root(one), self._root(other)
        if first != second:
            self._parents[second] = first


def _version(duplicate: DuplicateFound) -> _Version:
    return _Version(duplicate.page.id, duplicate.page.version)


def _may_correct(duplicate: DuplicateFound) -> bool:
    """Return whether the event may be a correction, in which the representative replaces all matches."""
    cluster = duplicate.cluster
    return (
        isinstance(cluster, EventCluster)
        and duplicate.matches_total == 1
        and duplicate.matches[0].id == cluster.representative.id
    )


def _correction(duplicate: DuplicateFound) -> tuple[_Version, _Version]:
    match = duplicate.matches[0]
    return _version(duplicate), _Version(match.id, match.version)
