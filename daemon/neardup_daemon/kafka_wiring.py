"""The composition root of Kafka: the one place where source and sinks of the daemon are put together.

Everything opened is closed in reverse. What checks and repairs has clients of its own.
"""

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace

from neardup_daemon.failpoints import with_failpoints
from neardup_daemon.settings.settings import Settings
from neardup_stream.errors import BadPage
from neardup_stream.events import Event
from neardup_stream.message import Message, Record
from neardup_stream.meters import PipelineMeters
from neardup_stream.pipeline.deliver import Publication
from neardup_stream.pipeline.retries import Retries
from neardup_stream.streams.kafka.config import (
    DEFAULT_MAX_REQUEST_BYTES,
    FirstStart,
    KafkaSinkConfig,
    KafkaSourceConfig,
)
from neardup_stream.streams.kafka.producers import request_bytes_for
from neardup_stream.streams.kafka.sink import KafkaSink
from neardup_stream.streams.kafka.snapshot import TopicSnapshot, open_snapshot
from neardup_stream.streams.kafka.source import KafkaSource
from neardup_stream.streams.kafka.start_offsets import InputHistory
from neardup_stream.streams.kafka.transactions import KafkaTransactions, KafkaTransactionsConfig
from neardup_stream.streams.protocol import Sink, Source
from neardup_stream.streams.transactions import Transactions
from neardup_stream.wire.dead_letters import dead_letter
from neardup_stream.wire.events import to_message

__all__ = [
    "SENT_BYTES",
    "KafkaStreams",
    "kafka_sink",
    "kafka_source",
    "kept_records_source",
    "message_publication",
    "open_kafka",
    "pages_source_config",
    "topic_snapshot",
]

SENT_BYTES = 8 << 20
"""How much a command sends at once: all of it has `kafka.request_timeout_seconds`."""

_LONGEST_HEARTBEAT_SECONDS = 3.0
"""How soon, at the latest, a member of the group hears of a rebalance."""


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


def kafka_source(settings: Settings, topic: str, group_id: str, first_start: FirstStart) -> KafkaSource:
    """Return a reader of one topic; `async with` opens it."""
    return KafkaSource(_source_config(settings, topic, group_id, first_start))


def kept_records_source(settings: Settings, topic: str, group_id: str) -> KafkaSource:
    """Return a reader of what a topic keeps: what was deleted unread is passed, with a warning in the log."""
    config = _source_config(settings, topic, group_id, "earliest")
    return KafkaSource(replace(config, out_of_range="earliest"))


def pages_source_config(settings: Settings) -> KafkaSourceConfig:
    """Return how daemons read the pages topic."""
    kafka = settings.kafka
    config = _source_config(settings, kafka.pages_topic, kafka.group_id, kafka.first_start)
    return replace(config, input_epoch=kafka.input_epoch, group_instance_id=kafka.group_instance_id)


def _source_config(
    settings: Settings, topic: str, group_id: str, first_start: FirstStart
) -> KafkaSourceConfig:
    kafka = settings.kafka
    return KafkaSourceConfig(
        connection=kafka.connection(),
        topics=(topic,),
        max_expanded_bytes=settings.limits.max_expanded_bytes,
        max_headers=settings.limits.max_headers,
        group_id=group_id,
        first_start=first_start,
        out_of_range=kafka.out_of_range,
        session_timeout_seconds=kafka.session_timeout_seconds,
        heartbeat_interval_seconds=min(_LONGEST_HEARTBEAT_SECONDS, kafka.session_timeout_seconds / 4),
        max_poll_interval_seconds=kafka.max_poll_interval_seconds,
        drain_seconds=settings.pipeline.drain_seconds,
    )


def topic_snapshot(
    settings: Settings, topic: str, input_id: str = "", *, latest: int | None = None
) -> AbstractAsyncContextManager[TopicSnapshot]:
    """Open a topic as it is now, see `open_snapshot`; the id of the input is the topic's name by default."""
    return open_snapshot(
        settings.kafka.connection(),
        topic,
        input_id or topic,
        latest=latest,
        max_expanded_bytes=settings.limits.max_expanded_bytes,
        max_headers=settings.limits.max_headers,
    )


def kafka_sink(settings: Settings, topic: str) -> KafkaSink:
    """Return a writer to one topic; `async with` opens it."""
    return KafkaSink(_sink_config(settings, topic))


def _sink_config(settings: Settings, topic: str) -> KafkaSinkConfig:
    kafka = settings.kafka
    return KafkaSinkConfig(
        connection=kafka.connection(),
        topic=topic,
        compression=kafka.compression,
        partitioner=kafka.partitioner if topic == kafka.pages_topic else "murmur2",
        max_request_bytes=_max_request_bytes(settings),
    )


def _max_request_bytes(settings: Settings) -> int:
    """Return the largest message to any topic: a topic that takes the largest page gets it whole."""
    return max(DEFAULT_MAX_REQUEST_BYTES, request_bytes_for(settings.limits.record_bytes()))


@asynccontextmanager
async def open_kafka(
    settings: Settings, history: InputHistory, retries: Retries, meters: PipelineMeters
) -> AsyncIterator[KafkaStreams]:
    """Reach the brokers; a topic that does not exist ends the attempt.

    Args:
        settings: topics and policies.
        history: what was finished of the pages before.
        retries: repeats steps while they are unavailable.
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
            lambda: stack.enter_async_context(KafkaSource(pages_source_config(settings), history, meters))
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
            # Of the sinks, because these limits are those by which messages are built.
            events=events.limit,
            dead_letters=dead_letters.limit,
            group_id=settings.kafka.group_id,
        ),
        history,
    )


def message_publication(
    events: Sink, dead_letters: Sink, transactions: Transactions | None = None
) -> Publication:
    """Return sinks: events as CloudEvents in binary mode, dead letters with the original record."""

    def render_dead_letter(record: Record, error: BadPage) -> Message:
        return dead_letter(record, error, dead_letters.max_message_bytes)

    def render_event(event: Event) -> Message:
        return to_message(event, events.max_message_bytes)

    return Publication(events, dead_letters, render_event, render_dead_letter, transactions)
