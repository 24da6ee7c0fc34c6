"""Compare the committed offsets of the group with the index, for `check` and `verify`.

An index that was lost, or that went back to an earlier state, lacks what they say is finished.
"""

from collections.abc import AsyncIterator
from typing import Final

from neardup_daemon.index_schema import schema
from neardup_daemon.inspect.findings import Finding
from neardup_daemon.kafka_wiring import pages_source_config
from neardup_daemon.settings.settings import Settings
from neardup_daemon.stored_index import described_index
from neardup_daemon.wiring import open_tables
from neardup_stream.errors import NeardupError
from neardup_stream.hashing.handles import KEY_BYTES
from neardup_stream.stores.redis.client import RedisClient
from neardup_stream.stores.redis.namespace import Namespace, schema_id
from neardup_stream.streams.kafka.admin import describe_topics
from neardup_stream.streams.kafka.start_offsets import InputHistory, check_offsets

__all__ = ["check_committed", "require_agreement"]

_NO_HANDLES: Final = bytes(KEY_BYTES)


async def check_committed(settings: Settings) -> AsyncIterator[Finding]:
    """Yield whether a daemon could start at the committed offsets; nothing is written.

    Yields nothing where Kafka is unavailable or the topic is missing: other findings say so.
    """
    kafka = settings.kafka
    try:
        topics = await describe_topics(kafka.connection(), [kafka.pages_topic], "Read")
    except NeardupError:
        return
    facts = topics[kafka.pages_topic]
    if facts is None:
        return
    try:
        await require_agreement(settings, facts.partitions, is_start=True)
    except NeardupError as error:
        yield Finding("bad", f"index: {str(error).removeprefix('Redis: ')}")
    else:
        yield Finding("good", f"index: agrees with the committed offsets of group {kafka.group_id}")


async def require_agreement(settings: Settings, partitions: int, *, is_start: bool) -> None:
    """Return if the index has what the committed offsets say is finished.

    Args:
        settings: those of the daemons.
        partitions: how many the pages topic has.
        is_start: whether a daemon is to start: none of the records at the committed offsets may be deleted,
            unless `kafka.out_of_range` and `kafka.first_start` say where to start instead.

    Raises:
        ConfigError: the index lacks what they say is finished, a higher `kafka.input_epoch` is read already,
            or a start is refused.
        StoreUnavailable: Redis is unavailable.
        StreamUnavailable: Kafka is unavailable.
    """
    async with RedisClient(settings.redis.config()) as client:
        history = await _history(settings, client)
        config = pages_source_config(settings)
        await check_offsets(config, history, partitions, is_start=is_start)


async def _history(settings: Settings, client: RedisClient) -> InputHistory:
    """Return what the index knows of its inputs: nothing where there is no index.

    Raises:
        ConfigError: the index lost what was decided.
        StoreUnavailable: Redis is unavailable.
    """
    layouts, stored = await described_index(client, settings)
    unwritten = Namespace(schema_id(schema(layouts.base)), _NO_HANDLES)
    stores = await open_tables(layouts, client, stored or unwritten)
    await stores.require_index()
    return stores.epochs
