"""Opens what the query API asks, over the stores of an index."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from http import HTTPStatus

from neardup_daemon.forked_workers import QUERIED_PARTS
from neardup_daemon.policy import agreed_archive_ids, policy
from neardup_daemon.preparing import open_preparation
from neardup_daemon.query_api.catalogue import (
    cluster_endpoints,
    deciding_endpoints,
    reading_endpoints,
    topic_endpoints,
)
from neardup_daemon.query_api.cluster_reading import ClusterReading
from neardup_daemon.query_api.comparing import Comparing
from neardup_daemon.query_api.deciding import Deciding
from neardup_daemon.query_api.endpoints import Call, Endpoint, Reply
from neardup_daemon.query_api.index_reading import IndexReading, OpenIndex
from neardup_daemon.query_api.linking import Linking
from neardup_daemon.query_api.metrics import ApiMetrics
from neardup_daemon.query_api.problems import Refused
from neardup_daemon.query_api.server import ApiServer
from neardup_daemon.query_api.survey import Surveys
from neardup_daemon.query_api.threads import Threads
from neardup_daemon.query_api.topic_reading import TopicReading
from neardup_daemon.reloaded_archives import ReloadedArchives
from neardup_daemon.settings.settings import Settings
from neardup_daemon.wiring import Stores
from neardup_stream.meters import NoMeters
from neardup_stream.pipeline.forked_parent import ForkedParent
from neardup_stream.stores.index_identity import Policy

__all__ = ["serving_queries"]


@asynccontextmanager
async def serving_queries(
    settings: Settings,
    stores: Stores,
    server: ApiServer,
    metrics: ApiMetrics,
    *,
    forked: ForkedParent | None,
    has_kafka: bool = True,
) -> AsyncIterator[None]:
    """Serve the query API over an open index while the block runs.

    Args:
        settings: those of the index.
        stores: of the index.
        server: what serves them.
        metrics: where decisions are counted.
        forked: the worker that reads pages that are asked about; None starts one as a program of its own.
        has_kafka: whether the topics in the settings are those of the index; without, what needs them is
            answered with 501.

    Raises:
        ConfigError: an archive or a port cannot be had.
        CorruptData: an archive is damaged.
    """
    archives = await asyncio.to_thread(_open_archives, settings, stores.policy)
    surveys = Surveys(stores.clusters, stores.pages.records, settings) if stores.clusters else None
    async with open_preparation(settings, NoMeters(), QUERIED_PARTS, forked) as preparation:
        threads = Threads(settings.api.max_threads)
        index = OpenIndex(settings, stores, archives.current, preparation, surveys, threads)
        deciding = Deciding(settings, stores, metrics)
        topic_reading = TopicReading(settings)
        of_topics = (*topic_endpoints(topic_reading), *deciding_endpoints(deciding))
        endpoints = [
            *reading_endpoints(IndexReading(index), Comparing(index)),
            *cluster_endpoints(ClusterReading(stores), Linking(settings, stores, threads)),
            *(each if has_kafka else _without_kafka(each) for each in of_topics),
        ]
        try:
            with threads:
                async with server.serving(endpoints):
                    yield
        finally:
            await deciding.close()
            await topic_reading.close()
            if surveys is not None:
                await surveys.close()


def _open_archives(settings: Settings, compared: Policy) -> ReloadedArchives:
    """Open the archives of the policy that was compared; where none was, of the present one."""
    agreed = compared if compared.settings else policy(settings)
    return ReloadedArchives(settings, NoMeters(), agreed_archive_ids(agreed))


def _without_kafka(endpoint: Endpoint) -> Endpoint:
    return endpoint._replace(problems=(*endpoint.problems, HTTPStatus.NOT_IMPLEMENTED), handle=_refuse)


async def _refuse(_call: Call) -> Reply:
    raise Refused(
        HTTPStatus.NOT_IMPLEMENTED,
        "this needs Kafka, and the index of a directory (--state) has no topics: serve an index in Redis",
    )
