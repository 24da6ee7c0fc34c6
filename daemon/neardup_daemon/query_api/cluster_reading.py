"""Read a cluster that a request names, with the page records of some of its members."""

import base64
import binascii
from collections.abc import Sequence
from http import HTTPStatus
from struct import Struct
from typing import Annotated, Final, NamedTuple

import msgspec
from msgspec import UNSET, Meta

from neardup_daemon.query_api.answers import ClusterAnswer, ClusterMember
from neardup_daemon.query_api.endpoints import Call, Reply
from neardup_daemon.query_api.problems import refused_field
from neardup_daemon.wiring import Stores
from neardup_stream.clusters.browsing import MOST_LEVELS, cluster_key, find_cluster, read_members
from neardup_stream.clusters.cells import ClusterKey
from neardup_stream.clusters.placements import ClusterState, lone_cluster_id
from neardup_stream.clusters.requests import PageVersion
from neardup_stream.page import Handle
from neardup_stream.pipeline.event_building import event_cluster
from neardup_stream.stores.cluster_store import Member
from neardup_stream.stores.page_record import PageRecord

__all__ = ["ClusterId", "ClusterParams", "ClusterReading", "ReadCluster", "cluster_member", "read_cluster"]

_MEMBER: Final = Struct(">12s6sQI")
"""Cluster, rank, handle and founding version of a member in a cursor."""
_MEMBERS_LIMIT: Final = 1000

ClusterId = Annotated[
    str,
    Meta(
        pattern=r"^[0-9a-f]{16}\.[0-9]{1,10}$",
        description="Id of the cluster, as in events.",
        examples=["00f1e2d3c4b5a697.1"],
    ),
]


class ClusterParams(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which cluster, and which of its members."""

    id: ClusterId
    limit: Annotated[int, Meta(ge=1, le=_MEMBERS_LIMIT, description="Most members.")] = 100
    after: Annotated[
        str, Meta(max_length=4096, description="`next` of the answer with the members before.")
    ] = ""


class ReadCluster(NamedTuple):
    """A cluster and some of its members.

    Attributes:
        state: as events show it.
        members: handles and page records of those that are stored.
        following: `after` of the next members; empty where these are the last.
    """

    state: ClusterState
    members: list[tuple[Handle, PageRecord]]
    following: str = ""


class ClusterReading:
    """Answers calls for a cluster.

    Args:
        stores: of the index.
    """

    def __init__(self, stores: Stores) -> None:
        self._stores = stores

    async def cluster(self, call: Call) -> Reply:
        """Answer a cluster with some of its members; see `read_cluster` for what it raises."""
        params: ClusterParams = call.params
        read = await read_cluster(self._stores, params)
        cluster, root = event_cluster(read.state), read.state.representative.handle
        return Reply(
            ClusterAnswer(
                id=cluster.id,
                epoch=cluster.epoch,
                size=cluster.size,
                representative=cluster.representative,
                members=[
                    cluster_member(record, is_representative=handle == root)
                    for handle, record in read.members
                ],
                next=read.following or UNSET,
            )
        )


async def read_cluster(stores: Stores, params: ClusterParams) -> ReadCluster:
    """Return a cluster and some of its members, in the order in which they joined.

    Raises:
        Refused: the id or the cursor is none, or no such cluster is known.
        StoreUnavailable: the store is unavailable.
        CorruptData: what is stored is not what this program writes.
    """
    key = cluster_key(params.id)
    if key is None:
        raise refused_field("id", "is no id of a cluster, such as 00000000000000ff.3")
    found = await find_cluster(stores.cluster_store, key)
    if found is None:
        return await _lone(stores, key)
    try:
        page = await read_members(stores.cluster_store, found.key, params.limit, _unpack_path(params.after))
    except ValueError as error:
        raise refused_field(
            "after", "is not `next` of this cluster as it is now; begin again without"
        ) from error
    handles = [member.handle for member in page.members]
    records = await stores.pages.records.fetch(handles) if handles else []
    members = [
        (handle, PageRecord.unpack(packed))
        for handle, packed in zip(handles, records, strict=True)
        if packed is not None
    ]
    return ReadCluster(found.state, members, _pack_path(page.path))


def cluster_member(record: PageRecord, *, is_representative: bool) -> ClusterMember:
    """Return a member as answers show it."""
    return ClusterMember(
        id=record.id,
        url=record.url,
        version=record.version,
        state=record.state,
        is_representative=is_representative,
    )


async def _lone(stores: Stores, key: ClusterKey) -> ReadCluster:
    """Return the cluster of a page that was always alone, of which only its record knows."""
    (packed,) = await stores.pages.records.fetch([key.handle])
    record = None if packed is None else PageRecord.unpack(packed)
    is_alone = record is not None and record.version == key.version and record.rank and record.state == "live"
    if record is None or not is_alone or stores.clusters is None:
        raise refused_field(
            "id",
            f"no cluster {key.id} is known; GET /v1/pages says in which cluster a page is",
            HTTPStatus.NOT_FOUND,
        )
    node = PageVersion(key.handle, record.version, record.id, record.url)
    state = ClusterState(lone_cluster_id(key.handle, key.version), 1, 1, node)
    return ReadCluster(state, [(key.handle, record)])


def _pack_path(path: Sequence[Member]) -> str:
    packed = b"".join(
        _MEMBER.pack(member.cluster, member.rank.to_bytes(6, "big"), member.handle, member.founded)
        for member in path
    )
    return base64.urlsafe_b64encode(packed).decode()


def _unpack_path(text: str) -> list[Member]:
    """Read what `_pack_path` wrote.

    Raises:
        ValueError: it did not.
    """
    try:
        packed = base64.b64decode(text, altchars=b"-_", validate=True)
    except binascii.Error as error:
        raise ValueError("no base64") from error
    if len(packed) % _MEMBER.size or len(packed) > MOST_LEVELS * _MEMBER.size:
        raise ValueError("no path")
    return [
        Member(cluster, int.from_bytes(rank, "big"), Handle(handle), founded)
        for cluster, rank, handle, founded in _MEMBER.iter_unpack(packed)
    ]
