"""Define the answers of the query API: structs, encoded as JSON and described in the OpenAPI document."""

from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from neardup_daemon.inspect.explanation import Explanation
from neardup_daemon.inspect.frame_showing import FrameFacts
from neardup_daemon.inspect.querying import Answer
from neardup_stream.event_parts import EventCluster, Representative
from neardup_stream.stores.page_record import PageState

__all__ = [
    "ClusterAnswer",
    "ClusterMember",
    "ClustersAnswer",
    "Count",
    "ExplainAnswer",
    "HostFacts",
    "HostsAnswer",
    "QueryAnswer",
    "QueryVerdict",
]

QueryVerdict = Literal["exact", "near", "contained", "unique", "undecided", "archived"]
"""What a page would be: a copy of a stored page, nearly one, mostly inside one or the other way round, none
of these, too short to be judged, or left to the archives, unless the index has it with this content."""

Count = Annotated[int, Meta(ge=0)]
"""A number of things."""


class QueryAnswer(Answer, frozen=True, kw_only=True):
    """What stored pages a page is like that is not stored by this request.

    Attributes:
        verdict: what the page would be now.
    """

    verdict: QueryVerdict


class ExplainAnswer(Explanation, frozen=True, kw_only=True):
    """Why two stored pages match, or do not.

    Attributes:
        words: the same in sentences.
    """

    words: list[str]


class ClusterMember(msgspec.Struct, frozen=True, kw_only=True):
    """A page in a cluster.

    Attributes:
        id: identity of the page.
        url: address as crawled.
        version: as stored now.
        state: live, or expiring.
        is_representative: whether it is the one that is not a duplicate.
    """

    id: str
    url: str
    version: int
    state: PageState
    is_representative: bool


class ClusterAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """A cluster as it is now, with some of its members.

    Attributes:
        id: of the cluster; another one than asked for where that one was absorbed.
        epoch: rises whenever clusters merge or the representative changes.
        size: living members.
        representative: the one that is not a duplicate.
        members: some of them; a page that joins, leaves or moves meanwhile may be missing, or come twice.
        next: `after` of the next members; absent where these are the last.
    """

    id: str
    epoch: Count
    size: Annotated[int, Meta(ge=1)]
    representative: Representative
    members: list[ClusterMember]
    next: str | UnsetType = UNSET


class ClustersAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The largest clusters of the latest survey.

    Attributes:
        surveyed_at: when the survey ended; RFC 3339, UTC.
        is_complete: whether it read every cluster.
        clusters: how many clusters of two or more pages it read.
        largest: as they are now, in the order of their sizes in the survey.
    """

    surveyed_at: str
    is_complete: bool
    clusters: Count
    largest: list[EventCluster]


class HostFacts(msgspec.Struct, frozen=True, kw_only=True):
    """A host with duplicates.

    Attributes:
        host: its name; a registrable domain where `frames.scope` is `domain`.
        duplicates: pages of clusters that are not their representatives.
        representatives: pages that are.
        frame: what is stored of the frame of its pages; absent where frames are not kept by host or domain.
    """

    host: str
    duplicates: Count
    representatives: Count
    frame: FrameFacts | UnsetType = UNSET


class HostsAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The hosts with most duplicates in the latest survey.

    Attributes:
        surveyed_at: when the survey ended; RFC 3339, UTC.
        is_complete: whether it read every cluster.
        pages: pages of clusters that it read.
        hosts: by duplicates, most first.
    """

    surveyed_at: str
    is_complete: bool
    pages: Count
    hosts: list[HostFacts]
