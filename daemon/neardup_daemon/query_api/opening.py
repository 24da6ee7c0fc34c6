"""Opens what the query API asks, over the stores of an index."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from prometheus_client import CollectorRegistry

from neardup_daemon.archives import ReloadedArchives
from neardup_daemon.policy import agreed_archive_ids, policy
from neardup_daemon.preparing import open_preparation
from neardup_daemon.query_api.asking import Asking, OpenIndex
from neardup_daemon.query_api.catalogue import deciding_endpoints, reading_endpoints
from neardup_daemon.query_api.deciding import Deciding
from neardup_daemon.query_api.metrics import ApiMetrics
from neardup_daemon.query_api.server import serve_api
from neardup_daemon.query_api.survey import Surveys
from neardup_daemon.settings.settings import Settings
from neardup_daemon.wiring import Stores
from neardup_stream.meters import NoMeters
from neardup_stream.pipeline.kept_text import PREFIXES

__all__ = ["serving_queries"]


@asynccontextmanager
async def serving_queries(
    settings: Settings, stores: Stores, metrics: ApiMetrics, registry: CollectorRegistry | None = None
) -> AsyncIterator[None]:
    """Serve the query API over an open index while the block runs.

    Args:
        settings: those of the index.
        stores: of the index.
        metrics: told each answer.
        registry: see `serve_api`.

    Raises:
        ConfigError: an archive or a port cannot be had.
        CorruptData: an archive is damaged.
    """
    agreed_ids = agreed_archive_ids(policy(settings))
    archives = await asyncio.to_thread(ReloadedArchives, settings, agreed_ids)
    surveys = Surveys(stores.clusters, stores.judged.records, settings) if stores.clusters else None
    async with open_preparation(settings, NoMeters(), frozenset({PREFIXES})) as preparation:
        asking = Asking(OpenIndex(settings, stores, archives.current, preparation, surveys))
        deciding = Deciding(settings, stores)
        endpoints = [*reading_endpoints(asking), *deciding_endpoints(deciding)]
        try:
            async with serve_api(settings.api, endpoints, metrics, registry):
                yield
        finally:
            await deciding.close()
            if surveys is not None:
                await surveys.close()
