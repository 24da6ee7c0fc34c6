"""Answers about pages, clusters and hosts from an open index; nothing is written anywhere."""

from collections.abc import Callable, Sequence
from http import HTTPStatus
from typing import Annotated, NamedTuple

import msgspec
from msgspec import UNSET, Meta, UnsetType

from neardup_daemon.inspect.explaining import explain
from neardup_daemon.inspect.explanation import Explanation
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
    ClustersAnswer,
    ExplainAnswer,
    HostFacts,
    HostsAnswer,
    QueryAnswer,
    QueryVerdict,
)
from neardup_daemon.query_api.endpoints import Call, Reply
from neardup_daemon.query_api.problems import Refused, refused_field, refused_page, refused_skip
from neardup_daemon.query_api.survey import LARGEST, Survey, Surveys
from neardup_daemon.query_api.threads import Threads
from neardup_daemon.settings.settings import Settings
from neardup_daemon.wiring import Stores
from neardup_stream.errors import BadPage, ConfigError
from neardup_stream.frames.table import FrameTable
from neardup_stream.message import Record, Skipped
from neardup_stream.pipeline.archive_lookup import OpenArchive
from neardup_stream.pipeline.event_building import event_cluster
from neardup_stream.pipeline.frames import site_hash
from neardup_stream.pipeline.preparation import Prepares
from neardup_stream.stores.guarded_clusters import INDEX
from neardup_stream.wire.pages import OWN_FIELDS
from neardup_stream.wire.times import rfc3339

__all__ = [
    "ExplainParams",
    "IndexReading",
    "LimitParams",
    "NoParams",
    "OpenIndex",
    "PageName",
    "PageParams",
    "stored_page",
]

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


class OpenIndex(NamedTuple):
    """What is asked.

    Attributes:
        settings: those of the index.
        stores: of the index.
        archives: returns the frozen archives that are asked beside it.
        preparation: reads given pages.
        surveys: of all clusters; None without clusters.
        threads: for what would stop the event loop.
    """

    settings: Settings
    stores: Stores
    archives: Callable[[], Sequence[OpenArchive]]
    preparation: Prepares
    surveys: Surveys | None
    threads: Threads

    async def prepared(self, record: Record) -> AskedPage | Skipped:
        """Return a given page without what is stored of it; see `prepared_page`."""
        return await self.threads.run(prepared_page, record, self.preparation)

    async def placed(self, page: AskedPage) -> AskedPage:
        """Return a given page with what is stored of it; see `place_given`."""
        return await place_given(
            page, self.settings, self.stores.pages, self.stores.frames, self.preparation, self.threads.run
        )

    async def explained(self, first: AskedPage, second: AskedPage) -> Explanation:
        """Return why two pages match, or do not, by the settings in force; see `explain`."""
        clusters = await cluster_of(first, self.stores), await cluster_of(second, self.stores)
        archives, in_force = self.archives(), await self.stores.tables.settings_in_force()
        return await self.threads.run(explain, first, second, in_force, clusters, archives)


class IndexReading:
    """Answers calls of the reading endpoints.

    Each method raises Refused with a problem, StoreUnavailable where the store is unavailable, and
    CorruptData where what is stored is not ours.

    Args:
        index: that is asked.
    """

    def __init__(self, index: OpenIndex) -> None:
        self._index = index
        self._settings, self._stores, self._threads = index.settings, index.stores, index.threads

    async def page(self, call: Call) -> Reply:
        """Answer what a stored page matches, and its cluster."""
        params: PageParams = call.params
        page = await stored_page(params.url, "url", self._stores, "can be given to POST /v1/query")
        return Reply(await self._answer_about(page))

    async def query(self, call: Call) -> Reply:
        """Answer what a given page matches."""
        record = given_record(call.body, (OWN_FIELDS,))
        try:
            given = await self._index.prepared(record)
        except BadPage as error:
            raise refused_page(error) from error
        if isinstance(given, Skipped):
            raise refused_skip(given)
        answer = await self._answer_about(await self._index.placed(given))
        skips_archived = self._settings.archive.on_match == "skip"
        verdict = _verdict(answer, skips_archived=skips_archived)
        return Reply(QueryAnswer(verdict=verdict, **msgspec.structs.asdict(answer)))

    async def explain(self, call: Call) -> Reply:
        """Answer why two stored pages match, or do not."""
        params: ExplainParams = call.params
        otherwise = "can be given to POST /v1/compare"
        first, second = [await stored_page(name, "url", self._stores, otherwise) for name in params.url]
        explanation = await self._index.explained(first, second)
        return Reply(ExplainAnswer(words=sentences(explanation), **msgspec.structs.asdict(explanation)))

    async def clusters(self, call: Call) -> Reply:
        """Answer the largest clusters of the latest survey, as they are now."""
        params: LimitParams = call.params
        survey = await self._survey()
        assert self._stores.clusters is not None  # noqa: S101 - they were surveyed
        handles = survey.largest[: params.limit]
        standing = await self._stores.clusters.standing(handles)
        found = [standing[handle] for handle in handles if handle in standing]
        present = {each.id: each for each in found}  # some may be one cluster since
        return Reply(
            ClustersAnswer(
                surveyed_at=rfc3339(survey.ended_ms),
                is_complete=survey.is_complete,
                clusters=survey.clusters,
                largest=list(map(event_cluster, present.values())),
            )
        )

    async def hosts(self, call: Call) -> Reply:
        """Answer the hosts with most duplicates of the latest survey."""
        params: LimitParams = call.params
        survey = await self._survey()
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

    async def _survey(self) -> Survey:
        if self._index.surveys is None:
            raise Refused(HTTPStatus.NOT_FOUND, "no clusters are kept: clusters.rule is off")
        survey = await self._index.surveys.latest()
        if not survey.clusters:
            await _require_index(self._stores)
        return survey

    async def _answer_about(self, page: AskedPage) -> Answer:
        archives = self._index.archives()
        return await answer_about(page, self._stores, archives, self._settings, self._threads.run)

    async def _frames(self, hosts: Sequence[str]) -> list[FrameFacts | UnsetType]:
        if not hosts or self._settings.frames.scope not in ("host", "domain"):
            return [UNSET] * len(hosts)
        handle_key = self._stores.pages.handle_key
        packed = await self._stores.frames.fetch([site_hash(host, handle_key) for host in hosts])
        return [
            frame_facts(host, FrameTable.unpack(table), self._settings)
            for host, table in zip(hosts, packed, strict=True)
        ]


async def stored_page(name: str, field: str, stores: Stores, otherwise: str) -> AskedPage:
    """Find a stored page.

    Args:
        name: its id or its URL.
        field: that has the name, for a refusal.
        stores: those of the index.
        otherwise: what a refusal advises for a page that is not stored.

    Raises:
        Refused: no such page is stored, or none can have such a name.
        StoreUnavailable: Redis cannot be reached, or lost the index.
    """
    try:
        return await find_stored(name, stores.pages, otherwise)
    except NotStored as error:
        await _require_index(stores)
        raise refused_field(field, str(error), HTTPStatus.NOT_FOUND) from error
    except ConfigError as error:
        raise refused_field(field, str(error)) from error


async def _require_index(stores: Stores) -> None:
    """Raise StoreUnavailable where Redis lost the index, and with it the pages that are not found."""
    await stores.cluster_store.read([INDEX])


def _verdict(answer: Answer, *, skips_archived: bool) -> QueryVerdict:
    """Return what the daemon would make of a page; one that is in the index already stays there."""
    if answer.page.state == "short":
        return "undecided"
    if skips_archived and answer.archived and not answer.page.is_stored:
        return "archived"
    if answer.matches:
        kind = answer.matches[0].kind
        return "exact" if kind == "exact" else "near"
    return "contained" if answer.containers else "unique"
