"""The composition root: the only place that knows which store and which streams are used.

Everything opened is closed in reverse. What changes stored bytes is gathered here into the schema.
"""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial

from neardup_daemon.clocks import StoreClock, require_same_time
from neardup_daemon.failpoints import with_failpoints
from neardup_daemon.loop_wiring import LoopStores, build_clusters
from neardup_daemon.policy import policy
from neardup_daemon.preparing import (
    index_layout,
    simhash_config,
    sketch_config,
)
from neardup_daemon.settings.settings import Settings
from neardup_stream.clusters.unclustered import Unclustered
from neardup_stream.errors import BadPage
from neardup_stream.events import Event
from neardup_stream.fingerprints.simhash import schema_fields
from neardup_stream.fingerprints.sketch import sketch_schema_fields
from neardup_stream.indexes.layout import ENTRY_FORMAT
from neardup_stream.indexes.permuted import PermutedIndex
from neardup_stream.message import Message, Record
from neardup_stream.meters import PipelineMeters
from neardup_stream.pipeline.deliver import Publication
from neardup_stream.pipeline.retries import Retries
from neardup_stream.pipeline.stores import PageStores
from neardup_stream.stores.cluster_store import ClusterStore
from neardup_stream.stores.guarded_clusters import GuardedClusters, create_index
from neardup_stream.stores.redis.client import RedisClient
from neardup_stream.stores.redis.cluster_keys import ClusterKeys
from neardup_stream.stores.redis.clusters import RedisClusters
from neardup_stream.stores.redis.config import RedisConfig
from neardup_stream.stores.redis.frames import RedisFrames
from neardup_stream.stores.redis.input_epochs import InputEpochs
from neardup_stream.stores.redis.keys import Keys
from neardup_stream.stores.redis.namespace import Namespace, enter_index, open_namespace
from neardup_stream.stores.redis.records import RedisRecords
from neardup_stream.stores.redis.rights import require_rights
from neardup_stream.stores.redis.servers import inspect_servers
from neardup_stream.stores.redis.sweep_rounds import RedisSweepRounds
from neardup_stream.stores.redis.tables import RedisTables
from neardup_stream.stores.redis.usage import RedisUsage
from neardup_stream.stores.sweep_rounds import SweepRounds
from neardup_stream.streams.kafka.config import (
    FirstStart,
    KafkaConnection,
    KafkaSinkConfig,
    KafkaSourceConfig,
)
from neardup_stream.streams.kafka.sink import KafkaSink
from neardup_stream.streams.kafka.source import KafkaSource
from neardup_stream.streams.kafka.start_offsets import InputHistory
from neardup_stream.streams.kafka.transactions import KafkaTransactions, KafkaTransactionsConfig
from neardup_stream.streams.protocol import Sink, Source
from neardup_stream.streams.transactions import Transactions
from neardup_stream.wire.dead_letters import dead_letter
from neardup_stream.wire.events import to_message

__all__ = [
    "KafkaStreams",
    "Stores",
    "build_stores",
    "create_stores",
    "kafka_connection",
    "kafka_sink",
    "kafka_source",
    "message_publication",
    "open_kafka",
    "open_stores",
    "redis_config",
    "schema",
]

_LONGEST_HEARTBEAT_SECONDS = 3.0
"""How soon, at the latest, a member of the group hears of a rebalance."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stores(LoopStores):
    """The stores of one namespace, open.

    Attributes:
        cluster_store: what is decided is kept there, with clusters or without.
        namespace: what was founded there.
        epochs: what is remembered of inputs.
        usage: how full Redis is.
        sweep_rounds: shares the sweep among daemons.
        server_name: product and version; empty if unknown.
    """

    cluster_store: ClusterStore
    namespace: Namespace
    epochs: InputEpochs
    usage: RedisUsage
    sweep_rounds: SweepRounds
    server_name: str = ""


def schema(settings: Settings) -> dict[str, str | int]:
    """Everything that changes stored bytes, by name: daemons that share a namespace must agree on it."""
    layout = index_layout(settings)
    return {
        **schema_fields(simhash_config(settings)),
        **sketch_schema_fields(sketch_config(settings)),
        "extraction": settings.text.extraction,
        "blocks": settings.index.blocks,
        "distance_bits": settings.index.distance_bits,
        "scope": settings.verdict.scope,
        "entry_format": ENTRY_FORMAT,
        "bucket_bits": layout.bucket_bits,
        "slot_bits": layout.slot_bits,
        "shards": settings.index.shards,
    }


@asynccontextmanager
async def open_stores(settings: Settings, redis_url: str, retries: Retries) -> AsyncIterator[Stores]:
    """Reach Redis, check that it can be trusted, and enter the namespace.

    Args:
        settings: layout and namespace.
        redis_url: of the server, which may be an embedded one.
        retries: the retry policy while it is unavailable.

    Raises:
        DependencyLost: it stayed unavailable.
        ConfigError: it refuses us, may evict pages, has another time than this host, or holds an index of
            another schema.
    """
    config = redis_config(settings, redis_url)
    async with AsyncExitStack() as stack:
        client = await retries.retry(lambda: stack.enter_async_context(RedisClient(config)))
        await retries.retry(partial(require_rights, client, settings.redis.namespace))
        facts = await retries.retry(partial(inspect_servers, client))
        for seconds in facts.clock_seconds:
            require_same_time(seconds)
        clock = StoreClock(next(iter(facts.clock_seconds), None))
        agreed = policy(settings)
        namespace = await retries.retry(
            partial(open_namespace, client, settings.redis.namespace, schema(settings), agreed)
        )
        clusters = RedisClusters(client, _cluster_keys(settings, namespace))
        namespace = await retries.retry(
            partial(enter_index, client, settings.redis.namespace, namespace, clusters)
        )
        stores = build_stores(settings, client, namespace)
        yield replace(stores, clock=clock, server_name=facts.name, policy=agreed)


def redis_config(settings: Settings, redis_url: str) -> RedisConfig:
    """Return how to connect to a server; an embedded one needs no login."""
    redis = settings.redis
    if redis_url == redis.url:
        return redis.config()
    return RedisConfig(redis_url, redis.socket_timeout_seconds, redis.retries)


async def create_stores(settings: Settings, client: RedisClient, namespace: Namespace) -> Stores:
    """The stores of a new index, with its token stored."""
    await create_index(RedisClusters(client, _cluster_keys(settings, namespace)), namespace.token)
    return build_stores(settings, client, namespace)


def build_stores(settings: Settings, client: RedisClient, namespace: Namespace) -> Stores:
    """The stores of a namespace over an open client."""
    layout = index_layout(settings)
    keys = Keys(
        namespace=settings.redis.namespace,
        schema_id=namespace.schema_id,
        shard_bits=layout.shard_bits,
        table_count=layout.table_count,
        bucket_bits=layout.key_bucket_bits,
        slot_bits=layout.slot_bits,
    )
    points = settings.failpoints.points()
    index = with_failpoints("index", PermutedIndex(RedisTables(client, keys), layout), points)
    records = with_failpoints("records", RedisRecords(client, keys), points)
    cluster_keys = _cluster_keys(settings, namespace)
    cluster_store = _cluster_store(settings, client, cluster_keys, namespace)
    clusters = build_clusters(settings, cluster_store, records)
    decider = with_failpoints("clusters", clusters or Unclustered(cluster_store), points)
    judged = PageStores(index, records, decider, namespace.handle_key, namespace.version_floor)
    epochs = InputEpochs(client, settings.redis.namespace, cluster_store, cluster_keys, namespace.token)
    frames = with_failpoints("frames", RedisFrames(client, keys), points)
    return Stores(
        judged=judged,
        frames=frames,
        clusters=clusters,
        index=namespace.index,
        cluster_store=cluster_store,
        namespace=namespace,
        epochs=epochs,
        usage=RedisUsage(client, keys),
        sweep_rounds=RedisSweepRounds(client, settings.redis.namespace, namespace.schema_id),
    )


def _cluster_keys(settings: Settings, namespace: Namespace) -> ClusterKeys:
    layout = index_layout(settings)
    return ClusterKeys(
        namespace=settings.redis.namespace,
        schema_id=namespace.schema_id,
        slot_bits=layout.cluster_slot_bits,
    )


def _cluster_store(
    settings: Settings, client: RedisClient, keys: ClusterKeys, namespace: Namespace
) -> ClusterStore:
    store: ClusterStore = RedisClusters(client, keys)
    if namespace.is_created:
        store = GuardedClusters(store, namespace.token)
    return with_failpoints("cluster_store", store, settings.failpoints.points())


@dataclass(frozen=True, slots=True)
class KafkaStreams:
    """The three topics, open.

    Attributes:
        source: pages.
        events: where events go.
        dead_letters: where dead letters go.
        transactions: send in the place of these two, for exactly-once delivery; None for at-least-once.
    """

    source: Source
    events: Sink
    dead_letters: Sink
    transactions: Transactions | None


def kafka_connection(settings: Settings) -> KafkaConnection:
    """Where the brokers are."""
    return settings.kafka.connection()


def kafka_source(settings: Settings, topic: str, group_id: str, first_start: FirstStart) -> KafkaSource:
    """A reader of one topic; `async with` opens it."""
    return KafkaSource(_source_config(settings, topic, group_id, first_start))


def _pages_source(settings: Settings, history: InputHistory, meters: PipelineMeters) -> KafkaSource:
    kafka = settings.kafka
    config = _source_config(settings, kafka.pages_topic, kafka.group_id, kafka.first_start)
    config = replace(config, input_epoch=kafka.input_epoch, group_instance_id=kafka.group_instance_id)
    return KafkaSource(config, history, meters)


def _source_config(
    settings: Settings, topic: str, group_id: str, first_start: FirstStart
) -> KafkaSourceConfig:
    kafka = settings.kafka
    return KafkaSourceConfig(
        connection=kafka_connection(settings),
        topics=(topic,),
        max_expanded_bytes=settings.limits.max_expanded_bytes,
        group_id=group_id,
        first_start=first_start,
        out_of_range=kafka.out_of_range,
        session_timeout_seconds=kafka.session_timeout_seconds,
        heartbeat_interval_seconds=min(_LONGEST_HEARTBEAT_SECONDS, kafka.session_timeout_seconds / 4),
        max_poll_interval_seconds=kafka.max_poll_interval_seconds,
        drain_seconds=settings.pipeline.drain_seconds,
    )


def kafka_sink(settings: Settings, topic: str) -> KafkaSink:
    """A writer to one topic; `async with` opens it."""
    return KafkaSink(_sink_config(settings, topic))


def _sink_config(settings: Settings, topic: str) -> KafkaSinkConfig:
    return KafkaSinkConfig(
        connection=kafka_connection(settings), topic=topic, compression=settings.kafka.compression
    )


@asynccontextmanager
async def open_kafka(
    settings: Settings, history: InputHistory, retries: Retries, meters: PipelineMeters
) -> AsyncIterator[KafkaStreams]:
    """Reach the brokers; a topic that does not exist ends the attempt.

    Args:
        settings: topics and policies.
        history: what was finished of the pages before.
        retries: the retry policy while they are unavailable.
        meters: counts commits that came too late.

    Raises:
        DependencyLost: they stayed unavailable.
        ConfigError: a topic is missing or contradicts what was finished, or we may not use it.
    """
    kafka = settings.kafka
    async with AsyncExitStack() as stack:
        events = await retries.retry(
            lambda: stack.enter_async_context(kafka_sink(settings, kafka.events_topic))
        )
        dead_letters = await retries.retry(
            lambda: stack.enter_async_context(kafka_sink(settings, kafka.dead_letters_topic))
        )
        transactions = None
        if kafka.delivery == "exactly_once":
            transactions = await stack.enter_async_context(
                _transactions(settings, history, events, dead_letters)
            )
        source = await retries.retry(
            lambda: stack.enter_async_context(_pages_source(settings, history, meters))
        )
        points = settings.failpoints.points()
        yield KafkaStreams(
            with_failpoints("source", source, points),
            with_failpoints("events", events, points),
            with_failpoints("dead_letters", dead_letters, points),
            transactions and with_failpoints("transactions", transactions, points),
        )


def _transactions(
    settings: Settings, history: InputHistory, events: KafkaSink, dead_letters: KafkaSink
) -> KafkaTransactions:
    return KafkaTransactions(
        KafkaTransactionsConfig(
            events=_sink_config(settings, settings.kafka.events_topic),
            dead_letters=_sink_config(settings, settings.kafka.dead_letters_topic),
            group_id=settings.kafka.group_id,
            largest_event_bytes=events.max_message_bytes,
            largest_dead_letter_bytes=dead_letters.max_message_bytes,
        ),
        history,
    )


def message_publication(
    events: Sink, dead_letters: Sink, transactions: Transactions | None = None
) -> Publication:
    """Events as CloudEvents in binary mode, dead letters with their original key, value and headers."""

    def render_dead_letter(record: Record, error: BadPage) -> Message:
        return dead_letter(record, error, dead_letters.max_message_bytes)

    def render_event(event: Event) -> Message:
        return to_message(event, events.max_message_bytes)

    return Publication(events, dead_letters, render_event, render_dead_letter, transactions)
