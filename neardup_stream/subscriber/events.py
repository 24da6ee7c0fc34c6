"""Define the data of each event as subscribers read it: what docs/events.md describes.

An absent field is None. Fields that are added later are ignored; enumerations are plain strings, because
values may be added to them.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

__all__ = [
    "EVENT_DATA",
    "Archive",
    "Archived",
    "ChangedCluster",
    "Cluster",
    "ClusterEpoch",
    "ClusterMerge",
    "Contained",
    "Duplicate",
    "EventData",
    "FrozenMatch",
    "Gone",
    "Match",
    "MergeCause",
    "Page",
    "PageVersion",
    "Previous",
    "RepresentativeChanged",
    "Undecided",
    "Unique",
]


@dataclass(frozen=True, slots=True)
class PageVersion:
    """A version of a page: a representative, a former one, or a page that is gone."""

    id: str
    url: str
    version: int


@dataclass(frozen=True, slots=True)
class Page:
    """The page that an event is about.

    Attributes:
        id: identity of the page.
        url: address as crawled.
        version: that was decided.
        fetched_at: RFC 3339, UTC.
        fingerprint: the simhash, a decimal string.
        meta: what the crawler sent as `meta`.
        frame_share: share of its shingles that are in the frame of its site and were not compared.
    """

    id: str
    url: str
    version: int
    fetched_at: str
    fingerprint: str
    meta: Any = None
    frame_share: float | None = None


@dataclass(frozen=True, slots=True)
class ClusterEpoch:
    """A cluster at an epoch: of two statements about a cluster the one with the higher epoch holds."""

    id: str
    epoch: int


@dataclass(frozen=True, slots=True)
class ChangedCluster:
    """A cluster right after its representative changed, with its living members counted."""

    id: str
    epoch: int
    size: int


@dataclass(frozen=True, slots=True)
class Cluster:
    """A cluster at an epoch, with its living members counted, and the member that is no duplicate."""

    id: str
    epoch: int
    size: int
    representative: PageVersion


@dataclass(frozen=True, slots=True)
class Previous:
    """Version and cluster id of a page before its content changed."""

    version: int
    cluster: str | None = None


@dataclass(frozen=True, slots=True)
class Match:
    """A page that the event's page matches, and the evidence."""

    id: str
    url: str
    version: int
    distance_bits: int
    resemblance: float | None = None
    containment: float | None = None
    contained_in: float | None = None
    scheme: str = "simhash"
    view: str | None = None


@dataclass(frozen=True, slots=True)
class Archive:
    """An archive: its id, the same for equal content, and the name of its file."""

    id: str
    name: str


@dataclass(frozen=True, slots=True)
class FrozenMatch:
    """A page of an archive that the event's page is like, and the evidence."""

    archive: Archive
    id: str
    url: str
    fetched_at: str
    distance_bits: int
    same_page: bool
    resemblance: float | None = None
    containment: float | None = None
    contained_in: float | None = None
    view: str | None = None
    keys: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class MergeCause:
    """The page whose matches made two clusters one."""

    page: Page
    matches: tuple[Match, ...]
    matches_total: int


@dataclass(frozen=True, slots=True)
class Duplicate:
    """The page is a near-duplicate of earlier pages; `cluster` is None where clusters are switched off."""

    page: Page
    kind: str
    matches: tuple[Match, ...]
    matches_total: int
    cluster: Cluster | None = None
    previous: Previous | None = None
    representative_distance_bits: int | None = None


@dataclass(frozen=True, slots=True)
class Unique:
    """The page stands alone; `cluster` is None where clusters are switched off."""

    page: Page
    cluster: ClusterEpoch | None = None
    previous: Previous | None = None


@dataclass(frozen=True, slots=True)
class Gone:
    """The page was forgotten; `cluster` is what it left."""

    page: PageVersion
    cluster: ClusterEpoch | None = None


@dataclass(frozen=True, slots=True)
class Contained:
    """Much of the page is inside other pages, or much of them inside it."""

    page: Page
    containers: tuple[Match, ...]
    containers_total: int


@dataclass(frozen=True, slots=True)
class Undecided:
    """The page is in no cluster, for a reason."""

    page: Page
    reason: str
    previous: Previous | None = None


@dataclass(frozen=True, slots=True)
class Archived:
    """The page is like pages of archives."""

    page: Page
    kind: str
    matches: tuple[FrozenMatch, ...]
    matches_total: int


@dataclass(frozen=True, slots=True)
class ClusterMerge:
    """Two clusters became one: `survivor` right after, `absorbed` right before."""

    survivor: Cluster
    absorbed: Cluster
    cause: MergeCause


@dataclass(frozen=True, slots=True)
class RepresentativeChanged:
    """The representative of a cluster left it, and another member took its place."""

    cluster: ChangedCluster
    former: PageVersion
    representative: PageVersion
    reason: str


EventData = (
    Duplicate | Unique | Gone | Contained | Undecided | Archived | ClusterMerge | RepresentativeChanged
)

EVENT_DATA: Mapping[str, type[EventData]] = MappingProxyType(
    {
        "io.neardup.duplicate.v1": Duplicate,
        "io.neardup.unique.v1": Unique,
        "io.neardup.gone.v1": Gone,
        "io.neardup.contained.v1": Contained,
        "io.neardup.undecided.v1": Undecided,
        "io.neardup.archived.v1": Archived,
        "io.neardup.cluster-merge.v1": ClusterMerge,
        "io.neardup.representative-changed.v1": RepresentativeChanged,
    }
)
"""What the data of each `type` is."""
