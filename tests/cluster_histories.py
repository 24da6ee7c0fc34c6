"""A daemon around clusters, made small: pages have whole numbers for contents, and near numbers match.

`History` keeps the records and the index that the real daemon would keep, asks the clusters in batches, and
notes what they answer; `folded` is what a subscriber makes of the answers.
"""

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import msgspec

from neardup_stream.clusters.clusters import ClusterConfig, Clusters
from neardup_stream.clusters.placements import ClusterState, Decided, Placement
from neardup_stream.clusters.planning import stands_alone
from neardup_stream.clusters.requests import ForgetRequest, LoneRequest, PageVersion, PlaceRequest, Request
from neardup_stream.clusters.rules import Rule, components
from neardup_stream.clusters.snapshot import DescribedPage, Description
from neardup_stream.match import Match
from neardup_stream.message import Partition, Position
from neardup_stream.page import Handle, PageId
from neardup_stream.pipeline.decide import decide_requests
from neardup_stream.stores.cluster_store import ClusterStore
from neardup_stream.stores.memory.records import MemoryRecords
from neardup_stream.stores.page_record import PageRecord

__all__ = [
    "KNOWING",
    "PARTITION",
    "Crawl",
    "Folded",
    "History",
    "Op",
    "Record",
    "folded",
    "match_with",
    "node",
    "walked",
]

PARTITION = Partition("pages", 0)


class Op(NamedTuple):
    """Crawl page `number` with this content; None: forget it."""

    number: int
    content: int | None


class Record(NamedTuple):
    """What the daemon's record says of a page."""

    version: int
    content: int | None
    rank: int


@dataclass
class Crawl:
    """What daemons share beside the clusters: records by page number, and (number, version) of the index."""

    records: dict[int, Record] = field(default_factory=dict)
    indexed: set[tuple[int, int]] = field(default_factory=set)


def node(number: int, version: int = 1) -> PageVersion:
    """Version `version` of page `number`."""
    return PageVersion(Handle(number), version, PageId(f"id {number}"), f"url {number}")


def match_with(number: int, version: int = 1, rank: int = 0) -> Match:
    """Return a match with that version of another page."""
    handle, version, page_id, url, _ = node(number, version)
    return Match(handle, page_id, url, version, 0, "near", rank=rank, containment=0.5, contained_in=1.0)


async def describe(pages: Sequence[DescribedPage]) -> dict[DescribedPage, Description]:
    """Return the id and URL of every page."""
    named = {page: node(page[0]) for page in pages}
    return {page: Description(found.id, found.url) for page, found in named.items()}


class _KnowingRecords(MemoryRecords):
    """Records that know every version."""

    async def fetch(self, handles: Sequence[Handle]) -> list[bytes | None]:
        """Return a record of each page, decided above any version."""
        record = PageRecord.first(
            page_id=PageId("id"),
            url="url",
            text_fingerprint=0,
            position=Position(PARTITION, 0),
            seen_seconds=0,
            floor=2**31,
        )
        return [msgspec.structs.replace(record, rank=1).pack()] * len(handles)


KNOWING = _KnowingRecords()
"""The records of a crawl of which none is lost."""


def neighbors(a: int, b: int) -> bool:
    """Equal contents match, and those that differ by one."""
    return abs(a - b) <= 1


class History:
    """One daemon, its records and its index.

    Args:
        store: keeps the clusters; several histories may share it, and then share the crawl too.
        rule: how clusters are made.
        matching: which contents match.
        crawl: records and index.
        partition: where its pages come from.
        writes_ranks: whether the rank of a decided page is written to its record, as it is unless a
            daemon crashed.
        jitter: of the pauses after conflicts.
        tombstone_ttl_seconds: how long decisions are remembered after a trim.
    """

    def __init__(
        self,
        store: ClusterStore,
        rule: Rule = components,
        matching: Callable[[int, int], bool] = neighbors,
        crawl: Crawl | None = None,
        partition: Partition = PARTITION,
        *,
        writes_ranks: bool = True,
        has_lone_requests: bool = False,
        tombstone_ttl_seconds: float = 600.0,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self.clusters = Clusters(store, describe, rule, ClusterConfig(tombstone_ttl_seconds), jitter)
        self.crawl = crawl or Crawl()
        self.placements: list[tuple[Request, Placement]] = []
        self.ranks: dict[Position, int] = {}
        self._matching = matching
        self._partition = partition
        self._writes_ranks = writes_ranks
        self._has_lone_requests = has_lone_requests
        self._offset = 0

    async def run(self, ops: Iterable[Op]) -> list[Placement]:
        """Decide one batch, without unchanged crawls and forgets of unknown pages, as the daemon does."""
        requests = self.registered(ops)
        return await self.decide(requests)

    def registered(self, ops: Iterable[Op]) -> list[Request]:
        """Record the operations and probe: the requests they come to."""
        changed = [request for op in ops if (request := self._register(op)) is not None]
        return [self._probed(request) for request in changed]

    async def decide(self, requests: Sequence[Request]) -> list[Placement]:
        """Decide, and write the ranks."""
        rendered: dict[Position, Placement] = {}

        def render(request: Request, placement: Placement | None) -> bytes:
            assert placement is not None
            rendered[request.position] = placement
            return repr((request, placement)).encode()

        aged_count = (await self.clusters.already_decided(())).aged_count
        asked = [_as_lone(request) for request in requests] if self._has_lone_requests else requests
        decided = await decide_requests(self.clusters, asked, render, aged_count)
        for request, outcome in zip(requests, decided, strict=True):
            if isinstance(request, PlaceRequest) and request.position not in rendered:
                rendered[request.position] = stands_alone(request.node)
            self._note(request, rendered[request.position], outcome)
        return [rendered[request.position] for request in requests]

    async def trim(self) -> None:
        """Everything so far is delivered."""
        await self.clusters.trim({self._partition: self._offset + 1})
        await self.clusters.tidy(KNOWING)

    def living(self) -> dict[int, int]:
        """Content by number, of the pages that were not forgotten."""
        return {
            number: record.content
            for number, record in self.crawl.records.items()
            if record.content is not None
        }

    def _register(self, op: Op) -> Request | None:
        before = self.crawl.records.get(op.number, Record(0, None, 0))
        if before.content == op.content:
            return None
        version = before.version + 1
        self.crawl.records[op.number] = Record(version, op.content, 0)
        self._offset += 1
        position = Position(self._partition, self._offset)
        if op.content is None:
            return ForgetRequest(position, node(op.number, version))
        return PlaceRequest(position, node(op.number, version), ())

    def _probed(self, request: Request) -> Request:
        """Return the living pages in the index that match; then it is in the index itself."""
        if not isinstance(request, PlaceRequest):
            return request
        number, version = request.node.handle, request.node.version
        content = self.crawl.records[number].content
        found = [
            match_with(other, record.version, record.rank)
            for other, record in sorted(self.crawl.records.items())
            if other != number
            and content is not None
            and record.content is not None
            and (other, record.version) in self.crawl.indexed
            and self._matching(content, record.content)
        ]
        self.crawl.indexed.add((number, version))
        return msgspec.structs.replace(request, matches=tuple(found))

    def _note(self, request: Request, placement: Placement, outcome: Decided) -> None:
        self.placements.append((request, placement))
        self.ranks[request.position] = outcome.rank
        if isinstance(request, PlaceRequest) and self._writes_ranks:
            number = request.node.handle
            record = self.crawl.records[number]
            if record.version == request.node.version:
                self.crawl.records[number] = record._replace(rank=outcome.rank)


def _as_lone(request: Request) -> Request:
    """Return what the pipeline asks for a new page that matches nothing; of any other page, the same."""
    if not isinstance(request, PlaceRequest) or request.matches or request.node.version != 1:
        return request
    record = repr((request, stands_alone(request.node))).encode()
    handle, _, page_id, url, fingerprint = request.node
    return LoneRequest(request.position, handle, page_id, url, fingerprint, request.content, record)


class Folded(NamedTuple):
    """What a subscriber knows: clusters of two or more by id, and the pages that may be deleted."""

    clusters: dict[str, frozenset[int]]
    deletable: frozenset[int]


class _Facts(NamedTuple):
    merges: dict[str, str]
    representatives: dict[str, dict[int, int]]
    places: dict[int, tuple[int, str | None]]

    def name(self, state: ClusterState) -> None:
        """A cluster at an epoch names its representative, and says where it is."""
        self.representatives.setdefault(state.id, {})[state.epoch] = state.representative.handle
        self.put(state.representative.handle, state.representative.version, state.id)

    def put(self, number: int, version: int, cluster_id: str | None) -> None:
        """A page is where its highest version puts it; naming never moves a page that has spoken itself."""
        known = self.places.get(number)
        if known is None or version > known[0]:
            self.places[number] = version, cluster_id


def folded(
    placements: Sequence[tuple[Request, Placement]], dice: random.Random, *, repeats: int = 2
) -> Folded:
    """Fold the events that these placements become, shuffled and repeated, as a subscriber would."""
    shuffled = list(placements) * repeats
    dice.shuffle(shuffled)
    facts = _Facts({}, {}, {})
    for request, placement in shuffled:
        if not placement.is_superseded:
            _fold_one(facts, request, placement)
    members: dict[str, set[int]] = {}
    for number, (_, cluster_id) in facts.places.items():
        if cluster_id is not None:
            members.setdefault(_surviving(facts.merges, cluster_id), set()).add(number)
    clusters = {key: frozenset(pages) for key, pages in members.items() if len(pages) > 1}
    deletable = {
        number
        for key, pages in members.items()
        for number in pages
        if key in facts.representatives and _representative(facts.representatives[key]) != number
    }
    return Folded(clusters, frozenset(deletable))


def _fold_one(facts: _Facts, request: Request, placement: Placement) -> None:
    assert isinstance(request, (PlaceRequest, ForgetRequest))
    number, version = request.node.handle, request.node.version
    for merge in placement.merges:
        facts.merges[merge.absorbed.id] = merge.survivor.id
        facts.name(merge.survivor)
        facts.put(
            merge.absorbed.representative.handle, merge.absorbed.representative.version, merge.survivor.id
        )
    if placement.departure is not None and placement.departure.is_representative_change:
        assert placement.departure.remaining is not None
        facts.name(placement.departure.remaining)
    if placement.cluster is None:
        facts.put(number, version, None)
    elif placement.is_duplicate:
        facts.name(placement.cluster)
        facts.put(number, version, placement.cluster.id)
    elif placement.was_linked or version > 1:  # a page that was never linked or gone is not published
        facts.name(placement.cluster)


def _surviving(merges: Mapping[str, str], cluster_id: str) -> str:
    while cluster_id in merges:
        cluster_id = merges[cluster_id]
    return cluster_id


def _representative(by_epoch: Mapping[int, int]) -> int:
    return by_epoch[max(by_epoch)]


async def walked(clusters: Clusters) -> dict[str, tuple[int, tuple[int, ...]]]:
    """Return every cluster of two or more: its representative's number, its members' in order of rank."""
    return {
        cluster_id: (representative.handle, tuple(members))
        async for cluster_id, representative, members in clusters.walk()
    }
