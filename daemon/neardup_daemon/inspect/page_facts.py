"""Define pages, matches and clusters as `query` and `explain` print them, named as in the events."""

from typing import Literal

import msgspec
from msgspec import UNSET, UnsetType

from neardup_daemon.inspect.page_lookup import AskedPage
from neardup_daemon.wiring import Stores
from neardup_stream.clusters.placements import ClusterState, lone_cluster_id
from neardup_stream.clusters.requests import PageVersion
from neardup_stream.event_parts import EventCluster, Representative, rounded_ratio
from neardup_stream.fingerprints.framed import text_shingle_count
from neardup_stream.match import Match, MatchKind, Scheme, View
from neardup_stream.pipeline.event_building import event_frame_share
from neardup_stream.stores.page_record import PageRecord, PageState
from neardup_stream.wire.times import rfc3339

__all__ = ["MatchFacts", "PageFacts", "cluster_of", "match_facts", "page_facts"]


class PageFacts(msgspec.Struct, frozen=True, kw_only=True):
    """The page that is asked about.

    Attributes:
        id: identity.
        url: as crawled.
        version: the stored one; absent where nothing is stored under the id.
        is_stored: whether what is asked about is what is stored.
        state: live, short (too few tokens), archived, expiring or gone.
        fingerprint: decimal, because JSON numbers lose bits.
        scope: within what it is compared; empty for everything.
        frame_share: share of its shingles that are in the frame of its site; absent where no line is known
            as frame.
        shingles: of the whole text; absent where pages are compared by simhash alone.
        content_shingles: of those, the ones that are not frame.
        archive: name of the file that has a frozen page; absent for others.
        fetched_at: when a frozen page was fetched.
    """

    id: str
    url: str
    version: int | UnsetType = UNSET
    is_stored: bool
    state: PageState
    fingerprint: str
    scope: str
    frame_share: float | UnsetType = UNSET
    shingles: int | UnsetType = UNSET
    content_shingles: int | UnsetType = UNSET
    archive: str | UnsetType = UNSET
    fetched_at: str | UnsetType = UNSET


class MatchFacts(msgspec.Struct, frozen=True, kw_only=True):
    """A stored page that shares much with the one asked about; without sketches there are no ratios.

    The ratios are of what was compared: the contents, without the frames of their sites, or the whole texts.
    """

    id: str
    url: str
    version: int
    kind: MatchKind | Literal["contained"]
    distance_bits: int
    resemblance: float | UnsetType = UNSET
    containment: float | UnsetType = UNSET
    contained_in: float | UnsetType = UNSET
    scheme: Scheme
    view: View = "whole"


def page_facts(page: AskedPage) -> PageFacts:
    """Return the facts about the page itself."""
    record, stored = page.record, page.stored
    return PageFacts(
        id=record.id,
        url=record.url,
        version=UNSET if stored is None else stored.version,
        is_stored=stored is not None and _content(stored) == _content(record),
        state=record.state,
        fingerprint=str(record.fingerprint),
        scope=record.scope,
        frame_share=event_frame_share(record),
        shingles=text_shingle_count(record) if record.sketch else UNSET,
        content_shingles=record.shingle_count if record.sketch else UNSET,
        archive=UNSET if page.frozen is None else page.frozen.archive.name,
        fetched_at=UNSET if page.frozen is None else rfc3339(page.frozen.fetched_ms),
    )


def match_facts(match: Match, kind: MatchKind | Literal["contained"]) -> MatchFacts:
    """Return the facts about another page that this one matches."""
    return MatchFacts(
        id=match.id,
        url=match.url,
        version=match.version,
        kind=kind,
        distance_bits=match.distance_bits,
        resemblance=rounded_ratio(match.resemblance),
        containment=rounded_ratio(match.containment),
        contained_in=rounded_ratio(match.contained_in),
        scheme=match.scheme,
        view=match.view,
    )


async def cluster_of(page: AskedPage, stores: Stores) -> EventCluster | None:
    """Return the present cluster of a stored page; None if there is none, or it was not decided.

    An expiring page is in one as long as that stands: a page that stands alone is taken for one that has
    left, as it is about to.

    Raises:
        StoreUnavailable: the store is unavailable.
    """
    stored = page.stored
    if stores.clusters is None or stored is None or not stored.is_indexed:
        return None
    standing = await stores.clusters.standing([page.handle])
    if page.handle in standing:
        return _cluster(standing[page.handle])
    if not stored.rank or stored.state == "expiring":
        return None
    node = PageVersion(page.handle, stored.version, stored.id, stored.url)
    return _cluster(ClusterState(lone_cluster_id(page.handle, stored.version), 1, 1, node))


def _content(record: PageRecord) -> tuple[int, PageState, str]:
    return record.text_fingerprint, record.state, record.scope


def _cluster(state: ClusterState) -> EventCluster:
    representative = state.representative
    return EventCluster(
        id=state.id,
        epoch=state.epoch,
        size=state.size,
        representative=Representative(
            id=representative.id, url=representative.url, version=representative.version
        ),
    )
