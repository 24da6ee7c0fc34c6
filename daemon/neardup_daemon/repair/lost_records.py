"""Compare what an index still has with what is left of the pages topic, of which `recover` makes it anew."""

from collections.abc import Mapping
from typing import Final

from neardup_daemon.index_schema import schema
from neardup_daemon.settings.settings import Settings
from neardup_daemon.table_settings import stored_layouts
from neardup_daemon.wiring import open_tables
from neardup_stream.errors import ConfigError, CorruptData
from neardup_stream.message import Partition
from neardup_stream.stores.redis.client import RedisClient
from neardup_stream.stores.redis.namespace import read_namespace
from neardup_stream.stores.redis.usage import Usage

__all__ = ["require_records"]

_ERRORS: Final = 3
"""Standard errors by which an estimate may be too high."""


async def require_records(
    client: RedisClient,
    settings: Settings,
    committed: Mapping[Partition, int],
    beginnings: Mapping[Partition, int],
) -> None:
    """Return if the topic may have a record for every page record of the former index.

    A topic that retention has cut off has fewer, and the rest would be lost with that index. Pages are not
    counted where nothing says how it is laid out: it is lost altogether, or the settings have changed.

    Args:
        client: reaches Redis.
        settings: of the daemons.
        committed: offsets of the group, by partition.
        beginnings: first retained offsets, by partition.

    Raises:
        ConfigError: the topic has fewer.
        StoreUnavailable: Redis is unavailable.
    """
    left = sum(max(0, offset - beginnings[partition]) for partition, offset in committed.items())
    usage = await _usage(client, settings)
    if usage is None or usage.records - _ERRORS * usage.records_error <= left:
        return
    raise ConfigError(
        f"Redis still has {usage.records:,} page records, and topic {settings.kafka.pages_topic!r} only"
        f" {left:,} of the records that were committed: all other pages would be lost with the former index."
        " Make a copy of Redis (docs/operations.md, Backups), then give --accept-loss"
    )


async def _usage(client: RedisClient, settings: Settings) -> Usage | None:
    try:
        layouts = await stored_layouts(client, settings)
        namespace = await read_namespace(client, settings.redis.namespace, schema(layouts.base))
        if namespace is None:
            return None
        return await (await open_tables(layouts, client, namespace)).usage.measure()
    except (ConfigError, CorruptData):
        return None
