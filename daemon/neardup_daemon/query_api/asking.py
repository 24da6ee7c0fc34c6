"""Answers the reading endpoints from an open index; nothing is written anywhere."""

import asyncio
import base64
import binascii
from collections.abc import Callable, Sequence
from http import HTTPStatus
from typing import Annotated, Final, NamedTuple

import msgspec
from msgspec import UNSET, Meta, UnsetType

from neardup_daemon.inspect.explaining import explain
from neardup_daemon.inspect.explanation_words import sentences
from neardup_daemon.inspect.frame_showing import FrameFacts, frame_facts
from neardup_daemon.inspect.page_facts import cluster_of
from neardup_daemon.inspect.page_lookup import (
    AskedPage,
    NotStored,
    find_stored,
    given_record,
    place_given,
    prepared_page,
)
from neardup_daemon.inspect.querying import Answer, answer_about
from neardup_daemon.query_api.answers import (
    ClusterAnswer,
    ClusterMember,
    ClustersAnswer,
    ExplainAnswer,
    HostFacts,
    HostsAnswer,
    QueryAnswer,
    QueryVerdict,
)
from neardup_daemon.query_api.endpoints import Call, Reply
from neardup_daemon.query_api.problems import Refused, refused_field, refused_page
from neardup_daemon.query_api.survey import LARGEST, Surveys
from neardup_daemon.settings.settings import Settings
from neardup_daemon.wiring import Stores
from neardup_stream.clusters.browsing import MOST_LEVELS, cluster_key, find_cluster, read_members
from neardup_stream.clusters.cells import ClusterKey
from neardup_stream.clusters.placements import ClusterState, lone_cluster_id
from neardup_stream.clusters.requests import PageVersion
from neardup_stream.errors import BadPage, ConfigError
from neardup_stream.frames.table import FrameTable
from neardup_stream.message import Skipped
from neardup_stream.page import Handle
from neardup_stream.pipeline.consultation import OpenArchive
from neardup_stream.pipeline.event_building import event_cluster
from neardup_stream.pipeline.frames import site_hash
from neardup_stream.pipeline.preparation import Prepares
from neardup_stream.stores.cluster_store import Member
from neardup_stream.stores.page_record import PageRecord
from neardup_stream.wire.pages import OWN_FIELDS
from neardup_stream.wire.times import rfc3339

__all__ = [
    "Asking",
    "ClusterParams",
    "ExplainParams",
    "LimitParams",
    "NoParams",
    "OpenIndex",
    "PageParams",
]

_MEMBER_BYTES: Final = 12 + 6 + 8 + 4
_MEMBERS_LIMIT: Final = 1000

PageName = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=4096,
        description="URL of the page in any spelling, or the id that its crawler gave it.",
    ),
]


class NoParams(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """No parameters."""


class PageParams(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which page."""

    url: PageName


class ExplainParams(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which two pages."""

    url: Annotated[
        list[PageName], Meta(min_length=2, max_length=2, description="The two pages, each as a parameter.")
    ]


class LimitParams(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How much of a list."""

    limit: Annotated[int, Meta(ge=1, le=LARGEST, description="Most entries of the list.")] = 20


class ClusterParams(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which cluster, and which of its members."""

    id: Annotated[
        str, Meta(pattern=r"^[0-9a-f]{16}\.[0-9]{1,10}$", description="Id of the cluster, as in events.")
    ]
    limit: Annotated[int, Meta(ge=1, le=_MEMBERS_LIMIT, description="Most members.")] = 100
    after: Annotated[
        str, Meta(max_length=4096, description="`next` of the answer with the members before.")
    ] = ""


class OpenIndex(NamedTuple):
    """What is asked.

    Attributes:
        settings: those of the index.
        stores: of the index.
        archives: returns the frozen archives that are asked beside it.
        preparation: reads given pages.
        surveys: of all clusters; None without clusters.
    """

    settings: Settings
    stores: Stores
    archives: Callable[[], Sequence[OpenArchive]]
    preparation: Prepares
    surveys: Surveys | None


class Asking:
    """Answers calls of the reading endpoints.

    Each method raises Refused with a problem, StoreUnavailable where the store is unavailable, and
    CorruptData where what is stored is not ours.

    Args:
        index: that is asked.
    """

    def __init__(self, index: OpenIndex) -> None:
        self._index = index
        self._settings, self._stores = index.settings, index.stores

    async def page(self, call: Call) -> Reply:
        """Answer what a stored page matches, and its cluster."""
        params: PageParams = call.params
        page = await self._find(params.url)
        return Reply(await answer_about(page, self._stores, self._index.archives(), self._settings))

    async def query(self, call: Call) -> Reply:
        """Answer what a given page matches."""
        record = given_record(call.body, (OWN_FIELDS,))
        try:
            given = await asyncio.to_thread(prepared_page, record, self._index.preparation)
        except BadPage as error:
            raise refused_page(error) from error
        if isinstance(given, Skipped):
            raise refused_field(_SKIPPING.get(given.reason, ""), f"the page is skipped: {given.reason}")
        stores, preparation = self._stores, self._index.preparation
        page = await place_given(given, self._settings, stores.judged, stores.frames, preparation)
        answer = await answer_about(page, stores, self._index.archives(), self._settings)
        return Reply(QueryAnswer(verdict=_verdict(answer), **msgspec.structs.asdict(answer)))

    async def explain(self, call: Call) -> Reply:
        """Answer why two stored pages match, or do not."""
        params: ExplainParams = call.params
        first, second = [await self._find(name) for name in params.url]
        clusters = await cluster_of(first, self._stores), await cluster_of(second, self._stores)
        explanation = await asyncio.to_thread(
            explain, first, second, self._settings, clusters, self._index.archives()
        )
        words = sentences(explanation)
        return Reply(ExplainAnswer(words=list(words), **msgspec.structs.asdict(explanation)))

    async def cluster(self, call: Call) -> Reply:
        """Answer a cluster with some of its members."""
        params: ClusterParams = call.params
        key = cluster_key(params.id)
        if key is None:
            raise refused_field("id", "is no id of a cluster, such as 00000000000000ff.3")
        store = self._stores.cluster_store
        found = await find_cluster(store, key)
        if found is None:
            return Reply(await self._lone(key))
        try:
            page = await read_members(store, found.key, params.limit, _unpack_path(params.after))
        except ValueError as error:
            raise refused_field(
                "after", "is not `next` of this cluster as it is now; begin again without"
            ) from error
        speaker = found.state.representative.handle
        members = await self._members([member.handle for member in page.members], speaker)
        return Reply(_cluster_answer(found.state, members, _pack_path(page.path) if page.path else UNSET))

    async def clusters(self, call: Call) -> Reply:
        """Answer the largest clusters of the latest survey, as they are now."""
        params: LimitParams = call.params
        survey = await self._surveys().latest()
        assert self._stores.clusters is not None  # noqa: S101 - they were surveyed
        handles = survey.largest[: params.limit]
        standing = await self._stores.clusters.standing(handles)
        return Reply(
            ClustersAnswer(
                surveyed_at=rfc3339(survey.ended_ms),
                is_complete=survey.is_complete,
                clusters=survey.clusters,
                largest=[event_cluster(standing[handle]) for handle in handles if handle in standing],
            )
        )

    async def hosts(self, call: Call) -> Reply:
        """Answer the hosts with most duplicates of the latest survey."""
        params: LimitParams = call.params
        survey = await self._surveys().latest()
        hosts = survey.hosts[: params.limit]
        frames = await self._frames([host for host, _, _ in hosts])
        return Reply(
            HostsAnswer(
                surveyed_at=rfc3339(survey.ended_ms),
                is_complete=survey.is_complete,
                pages=survey.pages,
                hosts=[
                    HostFacts(host=host, duplicates=duplicates, representatives=representatives, frame=frame)
                    for (host, duplicates, representatives), frame in zip(hosts, frames, strict=True)
                ],
            )
        )

    async def _find(self, name: str) -> AskedPage:
        try:
            return await find_stored(name, self._stores.judged)
        except NotStored as error:
            raise refused_field("url", str(error), HTTPStatus.NOT_FOUND) from error
        except ConfigError as error:
            raise refused_field("url", str(error)) from error

    def _surveys(self) -> Surveys:
        if self._index.surveys is None:
            raise Refused(HTTPStatus.NOT_FOUND, "no clusters are kept: clusters.rule is off")
        return self._index.surveys

    async def _lone(self, key: ClusterKey) -> ClusterAnswer:
        """A page that always stood alone is its own cluster, of which only its record knows."""
        (packed,) = await self._stores.judged.records.fetch([key.handle])
        record = None if packed is None else PageRecord.unpack(packed)
        is_alone = record is not None and record.version == key.version and record.rank and record.is_indexed
        if record is None or not is_alone or self._stores.clusters is None:
            raise refused_field(
                "id",
                f"no cluster {key.id} is known; GET /v1/pages says in which cluster a page is",
                HTTPStatus.NOT_FOUND,
            )
        node = PageVersion(key.handle, record.version, record.id, record.url)
        state = ClusterState(lone_cluster_id(key.handle, key.version), 1, 1, node)
        return _cluster_answer(state, [_member(record, is_representative=True)], UNSET)

    async def _members(self, handles: Sequence[Handle], speaker: Handle) -> list[ClusterMember]:
        if not handles:
            return []
        records = await self._stores.judged.records.fetch(handles)
        return [
            _member(PageRecord.unpack(packed), is_representative=handle == speaker)
            for handle, packed in zip(handles, records, strict=True)
            if packed is not None
        ]

    async def _frames(self, hosts: Sequence[str]) -> list[FrameFacts | UnsetType]:
        if not hosts or self._settings.frames.scope not in ("host", "domain"):
            return [UNSET] * len(hosts)
        handle_key = self._stores.judged.handle_key
        packed = await self._stores.frames.fetch([site_hash(host, handle_key) for host in hosts])
        return [
            frame_facts(host, FrameTable.unpack(table), self._settings)
            for host, table in zip(hosts, packed, strict=True)
        ]


_SKIPPING: Final = {"content_type": "content_type", "status": "status"}


def _verdict(answer: Answer) -> QueryVerdict:
    if answer.page.state == "short":
        return "undecided"
    if answer.matches:
        kind = answer.matches[0].kind
        return "exact" if kind == "exact" else "near"
    return "contained" if answer.containers else "unique"


def _member(record: PageRecord, *, is_representative: bool) -> ClusterMember:
    return ClusterMember(
        id=record.id,
        url=record.url,
        version=record.version,
        state=record.state,
        is_representative=is_representative,
    )


def _cluster_answer(
    state: ClusterState, members: list[ClusterMember], following: str | UnsetType
) -> ClusterAnswer:
    cluster = event_cluster(state)
    return ClusterAnswer(
        id=cluster.id,
        epoch=cluster.epoch,
        size=cluster.size,
        representative=cluster.representative,
        members=members,
        next=following,
    )


def _pack_path(path: Sequence[Member]) -> str:
    packed = b"".join(
        member.cluster
        + member.rank.to_bytes(6, "big")
        + member.handle.to_bytes(8, "big")
        + member.founded.to_bytes(4, "big")
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
    if len(packed) % _MEMBER_BYTES or len(packed) > MOST_LEVELS * _MEMBER_BYTES:
        raise ValueError("no path")
    parts = [packed[at : at + _MEMBER_BYTES] for at in range(0, len(packed), _MEMBER_BYTES)]
    return [
        Member(
            part[:12],
            int.from_bytes(part[12:18], "big"),
            Handle(int.from_bytes(part[18:26], "big")),
            int.from_bytes(part[26:], "big"),
        )
        for part in parts
    ]
