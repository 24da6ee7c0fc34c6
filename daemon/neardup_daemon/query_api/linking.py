"""Answer which pages of a cluster match each other: the cluster as a graph."""

import heapq
from collections.abc import Sequence
from typing import Annotated, Final, NamedTuple

import msgspec
from msgspec import UNSET, Meta, UnsetType

from neardup_daemon.preparing import connecting, verdict_config
from neardup_daemon.query_api.answers import ClusterMember, Count
from neardup_daemon.query_api.cluster_reading import (
    ClusterId,
    ClusterParams,
    ReadCluster,
    cluster_member,
    read_cluster,
)
from neardup_daemon.query_api.endpoints import Call, Reply
from neardup_daemon.query_api.threads import Threads
from neardup_daemon.settings.settings import Settings
from neardup_daemon.wiring import Stores
from neardup_stream.event_parts import rounded_ratio
from neardup_stream.match import Candidate, Match, MatchKind, version_byte
from neardup_stream.page import Handle
from neardup_stream.pipeline.candidate_comparison import compare_candidates
from neardup_stream.pipeline.classification import VerdictConfig
from neardup_stream.stores.page_record import PageRecord

__all__ = ["Linking", "LinksAnswer", "LinksParams", "PageLink", "Pair", "forest", "matching_pairs"]

_PAGES_LIMIT: Final = 200
_LINKS_LIMIT: Final = 100
"""Of more matching pairs, only those are returned that link all pages: a drawing of more says less."""


class LinksParams(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which cluster, and how many of its pages."""

    id: ClusterId
    limit: Annotated[int, Meta(ge=1, le=_PAGES_LIMIT, description="Most pages, those that joined first.")] = (
        _PAGES_LIMIT
    )


class PageLink(msgspec.Struct, frozen=True, kw_only=True):
    """Two pages that match, by their places in the list of pages.

    Attributes:
        first: of a link of the tree, the page nearer to the representative.
        second: the other page.
        is_tree: whether the strongest path from the representative to the second page takes this link.
        kind: exact where both have the same text.
        distance_bits: differing bits of the fingerprints.
        resemblance: estimated; absent where pages are compared by simhash alone.
        is_firm: whether the match links clusters by itself; absent with `clusters.rule` anchored.
    """

    first: Count
    second: Count
    is_tree: bool
    kind: MatchKind
    distance_bits: Count
    resemblance: float | UnsetType = UNSET
    is_firm: bool | UnsetType = UNSET


class LinksAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """Pages of a cluster, and which of them match each other as they are stored now.

    Attributes:
        id: of the cluster.
        size: living members, of which `pages` has the first.
        pages: in the order in which they joined.
        matching_pairs: how many pairs of these pages match.
        links: those of the tree first; all matching pairs, or where they are many, the tree alone.
        is_forest: whether it is the tree alone.
    """

    id: str
    size: Annotated[int, Meta(ge=1)]
    pages: list[ClusterMember]
    matching_pairs: Count
    links: list[PageLink]
    is_forest: bool


class Pair(NamedTuple):
    """Two pages that match, by their places.

    Attributes:
        first: place of the one page.
        second: place of the other.
        match: how alike they are.
    """

    first: int
    second: int
    match: Match


class Linking:
    """Answers calls for the links of a cluster.

    Args:
        settings: how pages are compared, and which matches link clusters.
        stores: of the index.
        threads: where pages are compared.
    """

    def __init__(self, settings: Settings, stores: Stores, threads: Threads) -> None:
        self._stores, self._threads = stores, threads
        self._config = verdict_config(settings)
        self._is_firm = connecting(settings)

    async def links(self, call: Call) -> Reply:
        """Answer which of the first pages of a cluster match; see `read_cluster` for what it raises."""
        params: LinksParams = call.params
        read = await read_cluster(self._stores, ClusterParams(id=params.id, limit=params.limit))
        return Reply(await self._threads.run(self._answer, read))

    def _answer(self, read: ReadCluster) -> LinksAnswer:
        root = read.state.representative.handle
        pairs = matching_pairs([record for _, record in read.members], self._config)
        places = [place for place, (handle, _) in enumerate(read.members) if handle == root]
        tree = forest(len(read.members), pairs, places[0] if places else 0)
        is_forest = len(pairs) > _LINKS_LIMIT
        in_tree = {frozenset(pair[:2]) for pair in tree}
        others = [] if is_forest else [pair for pair in pairs if frozenset(pair[:2]) not in in_tree]
        return LinksAnswer(
            id=read.state.id,
            size=read.state.size,
            pages=[
                cluster_member(record, is_representative=handle == root) for handle, record in read.members
            ],
            matching_pairs=len(pairs),
            links=[
                self._link(pair, is_tree=number < len(tree)) for number, pair in enumerate((*tree, *others))
            ],
            is_forest=is_forest,
        )

    def _link(self, pair: Pair, *, is_tree: bool) -> PageLink:
        match = pair.match
        return PageLink(
            first=pair.first,
            second=pair.second,
            is_tree=is_tree,
            kind=match.kind,
            distance_bits=match.distance_bits,
            resemblance=rounded_ratio(match.resemblance),
            is_firm=UNSET if self._is_firm is None else self._is_firm(match),
        )


def matching_pairs(records: Sequence[PageRecord], config: VerdictConfig) -> list[Pair]:
    """Return the pairs of pages that match, by their places; those that are not indexed match nothing.

    Cost: 3 µs a pair of pages.
    """
    stored = {Handle(place): record for place, record in enumerate(records)}
    candidates = [
        [
            Candidate(Handle(other), version_byte(records[other].version))
            for other in range(place + 1, len(records))
            if record.is_indexed and records[other].is_indexed
        ]
        for place, record in enumerate(records)
    ]
    compared = compare_candidates(records, candidates, stored, config).compared
    return [
        Pair(place, int(match.handle), match) for place, each in enumerate(compared) for match in each.matches
    ]


def forest(page_count: int, pairs: Sequence[Pair], root: int) -> list[Pair]:
    """Return the strongest links that hang all pages together, each from the nearer page to the further one.

    A maximum spanning forest by resemblance, exact copies first, grown from the root; of equally strong links
    the one nearer to the root. Pages that no link reaches grow trees of their own.

    Args:
        page_count: pages, by their places from 0.
        pairs: that match.
        root: place of the page to begin with.

    Cost: O(pairs log pairs).
    """
    near: list[list[Pair]] = [[] for _ in range(page_count)]
    for pair in pairs:
        near[pair.first].append(pair)
        near[pair.second].append(Pair(pair.second, pair.first, pair.match))
    depths: dict[int, int] = {}
    tree: list[Pair] = []
    for start in dict.fromkeys((root, *range(page_count))) if page_count else ():
        if start in depths:
            continue
        depths[start] = 0
        open_links = [_open_link(pair, 1) for pair in near[start]]
        heapq.heapify(open_links)
        while open_links:
            *_, depth, second, first, match = heapq.heappop(open_links)
            if second in depths:
                continue
            depths[second] = depth
            tree.append(Pair(first, second, match))
            for pair in near[second]:
                if pair.second not in depths:
                    heapq.heappush(open_links, _open_link(pair, depth + 1))
    return tree


def _open_link(pair: Pair, depth: int) -> tuple[bool, float, int, int, int, Match]:
    """Sorts the strongest first; a pair is in the heap once from each side, so matches are never compared."""
    match = pair.match
    return match.kind != "exact", -(match.resemblance or 0.0), depth, pair.second, pair.first, match
