"""The composition root of the stores in Redis: the one place where the stores of an index are put together.

Everything opened is closed in reverse. What sets up, checks and repairs an index has clients of its own.
`kafka_wiring` opens the streams, `local_stores` the stores of a run that keeps nothing.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial

from neardup_daemon.clocks import StoreClock, require_same_time
from neardup_daemon.failpoints import with_failpoints
from neardup_daemon.index_schema import schema
from neardup_daemon.loop_wiring import LoopStores, build_clusters
from neardup_daemon.policy import policy
from neardup_daemon.preparing import index_layout
from neardup_daemon.settings.settings import Settings
from neardup_daemon.table_settings import StoredLayouts, stored_layouts
from neardup_daemon.tables import Tables
from neardup_stream.clusters.unclustered import Unclustered
from neardup_stream.indexes.switching import SwitchingIndex
from neardup_stream.pipeline.descriptions import Descriptions
from neardup_stream.pipeline.former_versions import FormerVersions
from neardup_stream.pipeline.retries import Retries
from neardup_stream.pipeline.stores import PageStores
from neardup_stream.stores.checked_sweep_rounds import CheckedSweepRounds, check_intact
from neardup_stream.stores.cluster_store import ClusterStore
from neardup_stream.stores.guarded_clusters import GuardedClusters, create_index, stored_layout
from neardup_stream.stores.redis.client import RedisClient
from neardup_stream.stores.redis.clusters import RedisClusters
from neardup_stream.stores.redis.config import RedisConfig
from neardup_stream.stores.redis.frames import RedisFrames
from neardup_stream.stores.redis.input_epochs import InputEpochs
from neardup_stream.stores.redis.keys import ClusterKeys
from neardup_stream.stores.redis.namespace import (
    Namespace,
    check_index,
    check_policy,
    enter_index,
    is_installed,
    open_namespace,
)
from neardup_stream.stores.redis.records import RedisRecords
from neardup_stream.stores.redis.rights import require_rights
from neardup_stream.stores.redis.servers import prepare_servers
from neardup_stream.stores.redis.sweep_rounds import RedisSweepRounds
from neardup_stream.stores.redis.usage import RedisUsage
from neardup_stream.stores.sweep_rounds import SweepRounds
from neardup_stream.stores.table_layouts import LayoutState, TableLayouts

__all__ = [
    "Stores",
    "create_stores",
    "open_stores",
    "open_tables",
    "redis_config",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Stores(LoopStores):
    """The stores of one namespace, open.

    Attributes:
        cluster_store: what is decided is kept there, with clusters or without.
        namespace: identity and secrets of the index there.
        tables: its layouts.
        epochs: of the inputs.
        usage: how full Redis is.
        sweep_rounds: shares the sweep among daemons.
        server_name: product and version; empty if unknown.
    """

    cluster_store: ClusterStore
    namespace: Namespace
    tables: Tables
    epochs: InputEpochs
    usage: RedisUsage
    sweep_rounds: SweepRounds
    server_name: str = ""

    async def require_index(self) -> None:
        """Return if the index is still there; one that no daemon of this release has entered has no token."""
        if self.namespace.is_created:
            await check_index(self.namespace, self.cluster_store)


@asynccontextmanager
async def open_stores(settings: Settings, redis_url: str, retries: Retries) -> AsyncIterator[Stores]:
    """Reach Redis, check that it can be trusted, and enter the namespace.

    Args:
        settings: layout and namespace.
        redis_url: of the server, which may be an embedded one.
        retries: repeats steps while it is unavailable.

    Raises:
        DependencyLost: it stayed unavailable.
        ConfigError: it refuses us, may evict pages, has another time than this host, or holds an index of
            another schema.
    """
    config = redis_config(settings, redis_url)
    async with AsyncExitStack() as stack:
        client = await retries.retry(lambda: stack.enter_async_context(RedisClient(config)))
        await retries.retry(partial(require_rights, client, settings.redis.namespace))
        facts = await retries.retry(partial(prepare_servers, client))
        for seconds in facts.clock_seconds:
            require_same_time(seconds)
        clock = StoreClock(next(iter(facts.clock_seconds), None))
        agreed = await asyncio.to_thread(policy, settings)
        layouts = await retries.retry(partial(stored_layouts, client, settings))
        namespace = await retries.retry(
            partial(open_namespace, client, settings.redis.namespace, schema(layouts.base), agreed)
        )
        clusters = _index_cells(layouts.base, client, namespace)
        namespace = await retries.retry(
            partial(enter_index, client, settings.redis.namespace, namespace, clusters)
        )
        stores = await retries.retry(partial(open_tables, layouts, client, namespace))
        rounds = CheckedSweepRounds(
            stores.sweep_rounds, partial(check_policy, client, settings.redis.namespace, agreed)
        )
        yield replace(stores, clock=clock, server_name=facts.name, policy=agreed, sweep_rounds=rounds)


def redis_config(settings: Settings, redis_url: str) -> RedisConfig:
    """Return how to connect to a server; an embedded one needs no login."""
    redis = settings.redis
    if redis_url == redis.url:
        return redis.config()
    return RedisConfig(redis_url, redis.socket_timeout_seconds, redis.retries)


async def create_stores(settings: Settings, client: RedisClient, namespace: Namespace) -> Stores:
    """Create the stores of a new index, with its token stored."""
    await create_index(_index_cells(settings, client, namespace), namespace.token)
    return _build_stores(StoredLayouts(settings, {}), LayoutState(), client, namespace)


async def open_tables(layouts: StoredLayouts, client: RedisClient, namespace: Namespace) -> Stores:
    """Return the stores of a namespace over an open client, in the state that is stored of its tables."""
    cells = _index_cells(layouts.base, client, namespace)
    return _build_stores(layouts, await stored_layout(cells, namespace.token), client, namespace)


def _build_stores(
    layouts: StoredLayouts, state: LayoutState, client: RedisClient, namespace: Namespace
) -> Stores:
    """Return the stores of a namespace over an open client.

    Args:
        layouts: of the index; its page records and clusters have that of its creation.
        state: of the layout of its tables.
        client: reaches the server or cluster.
        namespace: identity and secrets of the index.
    """
    settings = layouts.base
    points = settings.failpoints.points()
    cluster_keys = _cluster_keys(settings, namespace)
    cells = RedisClusters(client, cluster_keys)
    failing_cells = with_failpoints("cluster_store", cells, points)
    tables = Tables(client, cells, failing_cells, namespace, layouts, TableLayouts(state))
    keys = tables.keys(0)
    index = with_failpoints("index", SwitchingIndex(tables.state, tables.index), points)
    records = with_failpoints("records", RedisRecords(client, keys), points)
    guarded = GuardedClusters(cells, namespace.token, tables.state) if namespace.is_created else None
    cluster_store = with_failpoints("cluster_store", guarded or cells, points)
    former = FormerVersions()
    clusters = build_clusters(settings, cluster_store, Descriptions(records, former))
    decider = with_failpoints("clusters", clusters or Unclustered(cluster_store), points)
    pages = PageStores(
        index,
        records,
        decider,
        namespace.handle_key,
        former,
        namespace.version_floor,
        layouts=tables.state,
    )
    epochs = InputEpochs(client, settings.redis.namespace, cluster_store, cluster_keys, namespace.token)
    frames = with_failpoints("frames", RedisFrames(client, keys), points)
    rounds: SweepRounds = RedisSweepRounds(client, settings.redis.namespace, namespace.schema_id)
    if guarded:
        installed = partial(is_installed, client, settings.redis.namespace, namespace.token)
        rounds = CheckedSweepRounds(rounds, partial(check_intact, guarded, installed))
    return Stores(
        pages=pages,
        frames=frames,
        clusters=clusters,
        index_token=namespace.event_token,
        cluster_store=cluster_store,
        namespace=namespace,
        tables=tables,
        epochs=epochs,
        usage=RedisUsage(client, keys),
        sweep_rounds=rounds,
    )


def _index_cells(settings: Settings, client: RedisClient, namespace: Namespace) -> RedisClusters:
    """Return what is decided under a namespace, without the guard against its loss."""
    return RedisClusters(client, _cluster_keys(settings, namespace))


def _cluster_keys(settings: Settings, namespace: Namespace) -> ClusterKeys:
    layout = index_layout(settings)
    return ClusterKeys(
        namespace=settings.redis.namespace,
        schema_id=namespace.schema_id,
        slot_bits=layout.cluster_slot_bits,
    )
