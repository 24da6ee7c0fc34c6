"""Define what is stored of a page and of a cluster, and how it is packed.

    page cell      rank (6 bytes) | flags (1) | MessagePack [version, cluster, edges, content]
    cluster cell   rank of the representative (6) | size (4) | MessagePack [epoch, …]
    or, absorbed   lowest rank of its members (6) | no size (4) | MessagePack [key of what absorbed it]

One cell of a page is all three at once: its node, the tombstone of its earlier versions (every version up to
`version` is decided or removed), and its pending edges: the matches that wait for a version not decided yet.
"""

from collections.abc import Callable
from typing import NamedTuple

import msgspec

from neardup_stream.clusters.placements import ClusterState, lone_cluster_id
from neardup_stream.clusters.requests import PageVersion
from neardup_stream.errors import CorruptData
from neardup_stream.match import Match
from neardup_stream.page import Handle, PageId
from neardup_stream.stores.cluster_store import COUNT_BYTES, RANK_BYTES, Member

__all__ = [
    "NO_PAGE",
    "AbsorbedCell",
    "ClusterCell",
    "ClusterKey",
    "Edge",
    "PageCell",
    "contents_differ",
    "inner_key",
    "pack_lone_page",
    "root_of",
    "unpack_cluster",
]

# Below 2 nothing holds the cell: once its tombstone is old, a sweep removes it.
_LIVING, _LINKED, _ANCHOR, _EDGES, _UNRECORDED = 1, 2, 4, 8, 16

_SIZE_END = RANK_BYTES + COUNT_BYTES


class ClusterKey(NamedTuple):
    """The page and version that founded a cluster."""

    handle: Handle
    version: int

    @property
    def id(self) -> str:
        """The cluster's id in events."""
        return lone_cluster_id(self.handle, self.version)

    @property
    def packed(self) -> bytes:
        """12 bytes, big-endian."""
        return self.handle.to_bytes(8, "big") + self.version.to_bytes(4, "big")

    @classmethod
    def unpack(cls, packed: bytes) -> "ClusterKey":
        """Read what `packed` gave."""
        return cls(Handle(int.from_bytes(packed[:8], "big")), int.from_bytes(packed[8:], "big"))


def inner_key(member: Member) -> ClusterKey:
    """Return the key of the set that a member is; see `Member.founded`."""
    return ClusterKey(member.handle, member.founded)


def contents_differ(one: int, other: int) -> bool:
    """Return whether two digests are of different texts; one that is unknown, 0, may be of any."""
    return one != other and 0 not in (one, other)


class Edge(NamedTuple):
    """A match that waits: `match` is what version `version` of the page will find when it is decided."""

    version: int
    match: Match


class PageCell(msgspec.Struct, frozen=True, gc=False):
    """What the clusters know of a page.

    Attributes:
        rank: when `version` was decided, or taken out; 0 for never.
        version: the highest one decided or removed; 0 for none.
        is_living: whether `version` is in a cluster, perhaps alone.
        is_linked: whether the page was ever in a cluster of two or more since it last appeared.
        is_anchor: whether it is an anchor of its cluster; only where it is linked.
        founder: the cluster in whose set of members it is, None for the one it is, or created, itself.
        edges: matches that wait for a later version.
        content: digest of the text of `version`; 0 where unknown, and where it is not living.
        is_unrecorded: whether the cell is kept because the page's record does not know `version`, see
            `sweeping`.
    """

    rank: int = 0
    version: int = 0
    is_living: bool = False
    is_linked: bool = False
    is_anchor: bool = False
    founder: ClusterKey | None = None
    edges: tuple[Edge, ...] = ()
    content: int = 0
    is_unrecorded: bool = False

    @property
    def is_held(self) -> bool:
        """Whether a sweep leaves the cell where it is."""
        return self.is_linked or self.is_anchor or bool(self.edges) or self.is_unrecorded

    def cluster(self, handle: Handle) -> ClusterKey:
        """Return the set of members that the page with this handle is in; it may have been absorbed."""
        return self.founder or ClusterKey(handle, self.version)

    def is_decided_as(self, version: int, content: int) -> bool:
        """Return whether the page is in a cluster with this very version, number and text."""
        return self.is_living and self.version == version and not contents_differ(self.content, content)

    def pack(self) -> bytes | None:
        """Return the stored bytes; None for an empty cell."""
        if self == NO_PAGE:
            return None
        flags = (
            _LIVING * self.is_living
            | _LINKED * self.is_linked
            | _ANCHOR * self.is_anchor
            | _EDGES * bool(self.edges)
            | _UNRECORDED * self.is_unrecorded
        )
        body = _PageBody(self.version, *(self.founder or (0, 0)), self.edges, self.content)
        return self.rank.to_bytes(RANK_BYTES, "big") + bytes([flags]) + _encoder.encode(body)

    @property
    def head_bytes(self) -> int:
        """How many bytes of what is stored stand before the edges."""
        return RANK_BYTES + 1 + len(_encoder.encode((self.version, *(self.founder or (0, 0)))))

    @staticmethod
    def unpack(packed: bytes | None) -> "PageCell":
        """Read what `pack` wrote.

        Raises:
            CorruptData: these bytes were not written by `pack`.
        """
        if packed is None:
            return NO_PAGE
        try:
            flags = packed[RANK_BYTES]
            body = _page_decoder.decode(packed[RANK_BYTES + 1 :])
        except (msgspec.DecodeError, UnicodeDecodeError, IndexError) as error:
            raise CorruptData(f"a page cell of {len(packed)} bytes cannot be read: {error}") from error
        return PageCell(
            rank=int.from_bytes(packed[:RANK_BYTES], "big"),
            version=body.version,
            is_living=bool(flags & _LIVING),
            is_linked=bool(flags & _LINKED),
            is_anchor=bool(flags & _ANCHOR),
            founder=ClusterKey(Handle(body.founder), body.founded) if body.founded else None,
            edges=body.edges,
            content=body.content,
            is_unrecorded=bool(flags & _UNRECORDED),
        )


def pack_lone_page(rank: int, version: int, content: int) -> bytes:
    """Return the stored bytes of a living page that stands alone and always did."""
    return b"%b%c%b" % (
        rank.to_bytes(RANK_BYTES, "big"),
        _LIVING,
        _encoder.encode((version, 0, 0, (), content)),
    )


class _PageBody(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """What follows the flags of a page cell; cells of former releases end with the edges."""

    version: int
    founder: int
    founded: int
    edges: tuple[Edge, ...]
    content: int = 0


NO_PAGE = PageCell()
"""The cell of a page that is not known, or not any more."""


class ClusterCell(msgspec.Struct, frozen=True, gc=False):
    """What is known of a cluster that has, or had, two or more members.

    Attributes:
        representative_rank: when its representative was decided.
        epoch: from 1.
        size: living members, at least 1.
        changes: counts what happened to it, joins apart, so that a cell never looks again as it did before.
        anchor_count: members that are anchors, at least 1.
        representative: who represents it.
        founder: whose id it bears, where that is not its own key: a larger cluster that absorbs an older one
            keeps its members where they are.
    """

    representative_rank: int
    epoch: int
    size: int
    changes: int
    anchor_count: int
    representative: PageVersion
    founder: ClusterKey | None = None

    def id(self, key: ClusterKey) -> str:
        """Return the cluster's id in events."""
        return (self.founder or key).id

    def state(self, key: ClusterKey) -> ClusterState:
        """Return the cluster as events show it."""
        return ClusterState(self.id(key), self.epoch, self.size, self.representative)

    def pack(self) -> bytes:
        """Return the stored bytes."""
        handle, version, page_id, url, fingerprint = self.representative
        other_id = "" if page_id == url else page_id
        node = (handle, version, url, other_id, fingerprint)
        body = (self.epoch, self.changes, self.anchor_count, *node, *(self.founder or (0, 0)))
        return _cluster_head(self.representative_rank, self.size) + _encoder.encode(body)


class AbsorbedCell(msgspec.Struct, frozen=True, gc=False):
    """Stands in the place of a cluster that was absorbed, until its members have moved.

    Where its id is that of the cluster that absorbed it, it stays as a forwarding cell as long as a cluster
    has that id.

    Attributes:
        target: the set to which its set of members belongs now.
        rank: with which it belongs there; no member has a lower one.
    """

    target: ClusterKey
    rank: int

    def pack(self) -> bytes:
        """Return the stored bytes."""
        return _cluster_head(self.rank, 0) + _encoder.encode(tuple(self.target))


def root_of(
    key: ClusterKey, cell_of: Callable[[ClusterKey], ClusterCell | AbsorbedCell | None]
) -> ClusterKey:
    """Return the cluster that has absorbed all others on the way from `key`; itself, unless it was absorbed.

    Raises:
        CorruptData: clusters have absorbed each other in a circle.
    """
    on_the_way: list[ClusterKey] = []
    while isinstance(cell := cell_of(key), AbsorbedCell):
        if key in on_the_way:
            raise CorruptData(f"cluster {key.id} was absorbed by itself, as its cell and those behind it say")
        on_the_way.append(key)
        key = cell.target
    return key


def unpack_cluster(packed: bytes) -> ClusterCell | AbsorbedCell:
    """Read what one of the two has packed.

    Raises:
        CorruptData: these bytes were not written so.
    """
    rank = int.from_bytes(packed[:RANK_BYTES], "big")
    size = int.from_bytes(packed[RANK_BYTES:_SIZE_END], "big")
    try:
        if not size:
            return AbsorbedCell(ClusterKey(*_absorbed_decoder.decode(packed[_SIZE_END:])), rank)
        body = _cluster_decoder.decode(packed[_SIZE_END:])
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise CorruptData(f"a cluster cell of {len(packed)} bytes cannot be read: {error}") from error
    epoch, changes, anchors, handle, version, url, other_id, fingerprint, founder, founded = body
    representative = PageVersion(Handle(handle), version, PageId(other_id or url), url, fingerprint)
    key = ClusterKey(Handle(founder), founded) if founded else None
    return ClusterCell(rank, epoch, size, changes, anchors, representative, key)


def _cluster_head(rank: int, size: int) -> bytes:
    return rank.to_bytes(RANK_BYTES, "big") + size.to_bytes(COUNT_BYTES, "big")


_encoder = msgspec.msgpack.Encoder()
_page_decoder = msgspec.msgpack.Decoder(_PageBody)
_cluster_decoder = msgspec.msgpack.Decoder(tuple[int, int, int, int, int, str, str, int, int, int])
_absorbed_decoder = msgspec.msgpack.Decoder(tuple[Handle, int])
