"""Compare what an index still has with what is left of the pages topic, of which `recover` makes it anew."""

from collections.abc import Mapping
from time import time

from neardup_daemon.index_schema import schema
from neardup_daemon.settings.settings import Settings
from neardup_daemon.stored_index import described_index
from neardup_daemon.wiring import Stores, open_tables
from neardup_stream.errors import ConfigError, CorruptData
from neardup_stream.message import Partition
from neardup_stream.stores.page_record import PageRecord
from neardup_stream.stores.protocol import all_records
from neardup_stream.stores.redis.client import RedisClient
from neardup_stream.stores.redis.namespace import meta_loss

__all__ = ["require_records"]


async def require_records(
    client: RedisClient,
    settings: Settings,
    committed: Mapping[Partition, int],
    beginnings: Mapping[Partition, int],
) -> None:
    """Return if the topic may have a record for every page of the former index.

    A topic that retention has cut off has fewer, and the rest would be lost with that index. Pages are not
    counted where the settings have changed, or no index is there.

    Args:
        client: reaches Redis.
        settings: of the daemons.
        committed: offsets of the group, by partition.
        beginnings: first retained offsets, by partition.

    Raises:
        ConfigError: the topic has fewer, or records are gone and nothing says how the index is laid out.
        StoreUnavailable: Redis is unavailable.

    Cost: as walking all page records, where the topic has fewer than those.
    """
    left = sum(max(0, offset - beginnings[partition]) for partition, offset in committed.items())
    topic = f"topic {settings.kafka.pages_topic!r} has only {left:,} of the records that were committed"
    is_cut_off = any(beginnings[partition] for partition, offset in committed.items() if offset)
    if is_cut_off and await meta_loss(client, settings.redis.namespace, schema(settings)):
        raise ConfigError(
            f"{topic}, and Redis lost what describes an index that is still there: put it in its place from a"
            " copy of Redis if you have one; to make what is left anew, give --accept-loss"
        )
    stores = await _former(client, settings)
    if stores is None or (await stores.usage.measure()).most_records <= left:
        return
    if (count := await _page_count(stores, settings.retention.seconds)) > left:
        raise ConfigError(
            f"{topic}, and Redis still has {count:,} pages: the others would be lost with the former index."
            " Make a copy of Redis (docs/operations.md, Backups), then give --accept-loss"
        )


async def _former(client: RedisClient, settings: Settings) -> Stores | None:
    try:
        layouts, namespace = await described_index(client, settings)
    except (ConfigError, CorruptData):
        return None
    return None if namespace is None else await open_tables(layouts, client, namespace)


async def _page_count(stores: Stores, retention_seconds: float) -> int:
    """Return how many pages there are that are not due to expire; stubs of removed ones are none."""
    oldest = time() - retention_seconds if retention_seconds else 0
    count = 0
    async for walked in all_records(stores.pages.records):
        count += sum(_is_kept(packed, oldest) for _, packed in walked.records)
    return count


def _is_kept(packed: bytes, oldest: float) -> bool:
    try:
        record = PageRecord.unpack(packed)
    except CorruptData:  # of a page all the same
        return True
    return record.state != "gone" and record.seen_seconds >= oldest
