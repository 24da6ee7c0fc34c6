"""Open an existing index without writing, for commands that inspect or repair it."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

from neardup_daemon.service import redis_url
from neardup_daemon.settings.settings import Settings
from neardup_daemon.wiring import Stores, build_stores, redis_config, schema
from neardup_stream.errors import ConfigError, StoreUnavailable
from neardup_stream.stores.redis.client import RedisClient
from neardup_stream.stores.redis.namespace import read_namespace

__all__ = ["open_stored_index"]


@asynccontextmanager
async def open_stored_index(
    settings: Settings, state_dir: Path | None, *, has_state_option: bool = True
) -> AsyncIterator[Stores]:
    """Open what a daemon, or `dedup`, has stored.

    Args:
        settings: those it was stored with.
        state_dir: what `dedup --state` keeps; None for the Redis in the settings.
        has_state_option: whether the command has `--state`, for what its errors advise.

    Raises:
        ConfigError: nothing is stored there, or it was stored with other settings.
        StoreUnavailable: Redis is unavailable; a command does not wait for it.
        CorruptData: what is stored is not ours.
    """
    state = ", or --state for what 'dedup --state' keeps" if has_state_option else ""
    async with AsyncExitStack() as stack:
        url = await stack.enter_async_context(
            redis_url(settings, embedded=state_dir is not None, state_dir=state_dir)
        )
        try:
            client = await stack.enter_async_context(RedisClient(redis_config(settings, url)))
        except StoreUnavailable as error:
            raise StoreUnavailable(f"{error}; set --redis-url{state}") from error
        namespace = await read_namespace(client, settings.redis.namespace, schema(settings))
        if namespace is None:
            raise ConfigError(
                f"nothing is stored under redis.namespace {settings.redis.namespace!r} in"
                f" {state_dir or settings.redis.url}; set --redis-url and --redis-namespace{state}"
            )
        yield build_stores(settings, client, namespace)
