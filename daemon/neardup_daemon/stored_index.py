"""Open an existing index without writing, for commands that inspect or repair it."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

from neardup_daemon.index_schema import schema
from neardup_daemon.loop_wiring import build_retries
from neardup_daemon.redis_url import redis_url
from neardup_daemon.settings.settings import Settings
from neardup_daemon.table_settings import StoredLayouts, stored_layouts
from neardup_daemon.wiring import Stores, open_tables, redis_config
from neardup_stream.errors import ConfigError, StoreUnavailable
from neardup_stream.meters import NoMeters
from neardup_stream.stores.guarded_clusters import REMEDY
from neardup_stream.stores.redis.client import RedisClient
from neardup_stream.stores.redis.namespace import Namespace, read_namespace

__all__ = ["NoIndex", "described_index", "open_stored_index"]


class NoIndex(ConfigError):  # noqa: N818 - a statement about what was found
    """Nothing is stored under the namespace."""


@asynccontextmanager
async def open_stored_index(
    settings: Settings, state_dir: Path | None, *, has_state_option: bool = True, is_walked: bool = False
) -> AsyncIterator[Stores]:
    """Open what a daemon, or `dedup`, has stored.

    Args:
        settings: those it was stored with.
        state_dir: what `dedup --state` keeps; None for the Redis in the settings.
        has_state_option: whether the command has `--state`, for what its errors advise.
        is_walked: whether the command rests on all of it: refused where the index of daemons lost what was
            decided, also if it does so before the block ends.

    Raises:
        NoIndex: nothing is stored there.
        ConfigError: it was stored with other settings, or is lost.
        StoreUnavailable: Redis is unavailable; a command does not wait for it.
        CorruptData: what is stored is not ours.
    """
    state = ", or --state for what 'dedup --state' keeps" if has_state_option else ""
    async with AsyncExitStack() as stack:
        url = await stack.enter_async_context(redis_url(settings, state_dir))
        try:
            client = await stack.enter_async_context(RedisClient(redis_config(settings, url)))
        except StoreUnavailable as error:
            raise StoreUnavailable(f"{error}; set --redis-url{state}") from error
        layouts, namespace = await described_index(client, settings)
        if namespace is None:
            remedy = (
                "name the directory of a 'dedup --state', and set redis.namespace as there"
                if state_dir
                else f"set --redis-url and --redis-namespace{state}."
                f" If the index of a daemon is not there any more, {REMEDY}"
            )
            raise NoIndex(
                f"nothing is stored under redis.namespace {settings.redis.namespace!r} in"
                f" {state_dir or settings.redis.url}; {remedy}"
            )
        stores = await open_tables(layouts, client, namespace)
        is_watched = is_walked and state_dir is None
        if is_watched:
            await stores.require_index()
        yield stores
        if is_watched:  # what an emptied index holds no more was read as if it had never been
            await build_retries(settings, NoMeters()).retry(stores.require_index)


async def described_index(client: RedisClient, settings: Settings) -> tuple[StoredLayouts, Namespace | None]:
    """Return how the index that a client reaches is laid out, and which it is; None if there is none yet.

    Raises:
        ConfigError: it was stored with other settings.
        StoreUnavailable: Redis is unavailable.
        CorruptData: what is stored is not ours.
    """
    layouts = await stored_layouts(client, settings)
    found = await read_namespace(client, settings.redis.namespace, schema(layouts.base))
    return layouts, None if found is None or found.is_being_created else found
