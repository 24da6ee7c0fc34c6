"""Say which Redis keeps an index: that of the settings, or a private one over a directory.

Apart from the daemon, whose clients of Kafka and metrics other commands need not load.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from neardup_daemon.embedded import EmbeddedServer
from neardup_daemon.settings.settings import Settings

__all__ = ["redis_url"]


@asynccontextmanager
async def redis_url(settings: Settings, state_dir: Path | None) -> AsyncIterator[str]:
    """Yield the URL of a Redis that serves while the block runs.

    Args:
        settings: have the URL of the shared one.
        state_dir: where a private one keeps its data; None for the shared one.

    Raises:
        ConfigError: the private one cannot be started, or another run is using its directory.
        CorruptData: what an earlier run left there is damaged.
        StreamUnavailable: there is no room for its socket, or in its directory.
    """
    if state_dir is None:
        yield settings.redis.url
        return
    async with EmbeddedServer(state_dir) as server:
        yield server.url
