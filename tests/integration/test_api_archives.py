"""The query API of a daemon agrees on archives with the policy that the daemon compared."""

from pathlib import Path

import pytest
from msgspec.structs import replace
from neardup_daemon.loop_wiring import build_retries
from neardup_daemon.query_api.metrics import ApiMetrics
from neardup_daemon.query_api.opening import serving_queries
from neardup_daemon.query_api.server import ApiServer
from neardup_daemon.settings.settings import Settings
from neardup_daemon.telemetry.metric_registry import MetricRegistry
from neardup_daemon.wiring import open_stores

from neardup_stream.errors import ConfigError
from neardup_stream.meters import NoMeters
from tests.archives import frozen_page
from tests.servers.redis import RedisServer
from tests.unit.daemon.frozen_archives import freeze


async def test_an_archive_that_is_replaced_after_the_policy_was_compared_is_refused(
    redis_server: RedisServer, namespace: str, tmp_path: Path
) -> None:
    path = tmp_path / "old.nda"
    freeze(path, frozen_page(1))
    overrides = [f"redis.url={redis_server.url}", f"redis.namespace={namespace}", "archive.on_match=skip"]
    settings = Settings.load(overrides=overrides)
    settings = replace(
        settings,
        archive=replace(settings.archive, files=(str(path),)),
        api=replace(settings.api, port=0),
    )
    retries = build_retries(settings, NoMeters(), lambda _error: None)
    async with open_stores(settings, redis_server.url, retries) as stores:
        path.unlink()
        freeze(path, frozen_page(2))
        metrics = ApiMetrics(MetricRegistry())

        with pytest.raises(ConfigError, match="was replaced meanwhile"):
            async with serving_queries(
                settings, stores, ApiServer(settings.api, metrics, None), metrics, forked=None
            ):
                pass
