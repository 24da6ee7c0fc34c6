"""Define what events consist of: pages, clusters and matches, as they are shown to subscribers.

64-bit fingerprints are decimal strings, because JSON numbers lose precision above 2**53.
"""

from typing import Annotated

import msgspec
from msgspec import UNSET, Meta, UnsetType

from neardup_stream.match import Scheme, View

__all__ = [
    "Archive",
    "ChangedCluster",
    "DistanceBits",
    "Epoch",
    "EventCluster",
    "EventMatch",
    "EventPage",
    "FrozenMatch",
    "GonePage",
    "LeftCluster",
    "OwnCluster",
    "PreviousPlace",
    "Ratio",
    "Representative",
    "Version",
    "rounded_ratio",
]

Version = Annotated[
    int,
    Meta(
        ge=1,
        description="From 1; increases when the page changes, is forgotten or returns.",
    ),
]


Epoch = Annotated[int, Meta(ge=0)]
"""Increases with every merge and representative change of a cluster; the state with the higher epoch is
newer.
"""


Ratio = Annotated[float, Meta(ge=0, le=1)]


DistanceBits = Annotated[int, Meta(ge=0, le=64)]


_RATIO_DIGITS = 4
"""The estimates are accurate to two digits; more than four would only cost bytes."""


def rounded_ratio(ratio: Ratio | None) -> Ratio | UnsetType:
    """Return a ratio for an event: with four digits, and absent if unknown."""
    return UNSET if ratio is None else round(ratio, _RATIO_DIGITS)


class EventPage(msgspec.Struct, frozen=True, kw_only=True):
    """The page that an event is about.

    Attributes:
        id: identity of the page.
        url: address as crawled.
        version: of the page that was decided.
        fetched_at: RFC 3339, UTC.
        fingerprint: the simhash, a decimal string in [0, 2**64).
        meta: the crawler's `meta`, unchanged.
        frame_share: fraction of its shingles in the frame of its site, which was not compared; absent if
            no line of the page is frame.
    """

    id: str
    url: str
    version: Version
    fetched_at: Annotated[str, Meta(extra_json_schema={"format": "date-time"})]
    fingerprint: Annotated[str, Meta(pattern="^[0-9]{1,20}$", description="The simhash, in [0, 2**64).")]
    meta: msgspec.Raw | UnsetType = UNSET
    frame_share: Ratio | UnsetType = UNSET


class Representative(msgspec.Struct, frozen=True, kw_only=True):
    """The representative of a cluster: its living member that was decided first.

    Attributes:
        id: identity of the page.
        url: address as crawled.
        version: the version that is the representative.
    """

    id: str
    url: str
    version: Version


class EventCluster(msgspec.Struct, frozen=True, kw_only=True):
    """The state of a cluster at one moment.

    Attributes:
        id: of the cluster.
        epoch: increases with every merge and representative change; the state with the higher epoch is newer.
        size: living members.
        representative: the page to keep.
    """

    id: str
    epoch: Epoch
    size: Annotated[int, Meta(ge=1)]
    representative: Representative


class OwnCluster(msgspec.Struct, frozen=True, kw_only=True):
    """The cluster of a unique page, which is its own representative.

    Attributes:
        id: of the cluster.
        epoch: increases with every merge and representative change; the state with the higher epoch is newer.
    """

    id: str
    epoch: Epoch


class LeftCluster(msgspec.Struct, frozen=True, kw_only=True):
    """A cluster that a page has left.

    Attributes:
        id: of the cluster.
        epoch: after the change; the state with the higher epoch is newer.
    """

    id: str
    epoch: Epoch


class ChangedCluster(msgspec.Struct, frozen=True, kw_only=True):
    """A cluster with a new representative.

    Attributes:
        id: of the cluster.
        epoch: after the change; the state with the higher epoch is newer.
        size: living members.
    """

    id: str
    epoch: Epoch
    size: Annotated[int, Meta(ge=1)]


class PreviousPlace(msgspec.Struct, frozen=True, kw_only=True):
    """The cluster of the page before its content changed.

    Attributes:
        version: of the page, before.
        cluster: id of the cluster it left.
    """

    version: Version
    cluster: str | UnsetType = UNSET


class EventMatch(msgspec.Struct, frozen=True, kw_only=True):
    """One page that the event's page matches, and how similar it is.

    Attributes:
        id: of the matched page.
        url: of the matched page, as crawled.
        version: of the matched page that was compared.
        distance_bits: differing bits of the two fingerprints.
        resemblance: of the two pages, symmetric.
        containment: fraction of the event's page inside the matched one; in the view `whole`, where a frame
            is known, that of its content where it is smaller, but `verdict.near_containment` at least; not
            where both pages are short, or nearly without content.
        contained_in: fraction of the matched page inside the event's; likewise.
        scheme: the tables that found the match; `simhash` if both did.
        view: which texts were compared: `content`, without the frame of a page's site, or `whole`.
    """

    id: str
    url: str
    version: Version
    distance_bits: DistanceBits
    resemblance: Ratio | UnsetType = UNSET
    containment: Ratio | UnsetType = UNSET
    contained_in: Ratio | UnsetType = UNSET
    scheme: Scheme = "simhash"
    view: View | UnsetType = UNSET


class GonePage(msgspec.Struct, frozen=True, kw_only=True):
    """A page that was forgotten.

    Attributes:
        id: identity of the page.
        url: address as last crawled.
        version: of the forget: one above the last living version.
    """

    id: str
    url: str
    version: Version


class Archive(msgspec.Struct, frozen=True, kw_only=True):
    """A frozen archive.

    Attributes:
        id: equal for equal content.
        name: of its file.
    """

    id: str
    name: str


class FrozenMatch(msgspec.Struct, frozen=True, kw_only=True):
    """One archived page that the event's page matches, and how similar it is.

    Attributes:
        archive: of the page.
        id: of the frozen page.
        url: of the frozen page, as crawled.
        fetched_at: when the frozen page was fetched; RFC 3339.
        distance_bits: differing bits of the two fingerprints.
        resemblance: of the two pages, symmetric.
        containment: fraction of the event's page inside the frozen one.
        contained_in: fraction of the frozen page inside the event's.
        view: which texts were compared: `content`, without the frame of a page's site, or `whole`.
        same_page: whether it has the id of the event's page, as an earlier crawl fetched it.
        keys: keys of the archive that both pages have, so that the frozen one was a candidate: `text`,
            `band N` or `fuzzy N`.
    """

    archive: Archive
    id: str
    url: str
    fetched_at: str
    distance_bits: DistanceBits
    resemblance: Ratio | UnsetType = UNSET
    containment: Ratio | UnsetType = UNSET
    contained_in: Ratio | UnsetType = UNSET
    view: View | UnsetType = UNSET
    same_page: bool
    keys: tuple[str, ...] = ()
