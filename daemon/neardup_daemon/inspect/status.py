"""Reads the state of an installation (index, consumer group and topics), for `status`."""

from collections.abc import Iterator
from typing import Final

import msgspec

from neardup_daemon.pages_topic import committed_of_group, lags_of_group, pages_snapshot
from neardup_daemon.redaction import redact
from neardup_daemon.settings.settings import Settings
from neardup_daemon.stored_index import open_stored_index
from neardup_daemon.terminal import counted, printable
from neardup_stream.errors import StreamUnavailable
from neardup_stream.streams.kafka.admin import group_members

__all__ = [
    "GroupStatus",
    "GroupUnavailable",
    "IndexStatus",
    "PartitionStatus",
    "Status",
    "readable",
    "take_status",
]

_MIB: Final = 1 << 20


class IndexStatus(msgspec.Struct, frozen=True, kw_only=True):
    """The index in Redis.

    Attributes:
        namespace: where it is.
        schema: names what shapes the stored bytes.
        created_by: the release that made it; empty if it does not say.
        pages: page records; all are counted where the index is laid out for few pages, else it is an
            estimate from a sample.
        pages_error: the standard error of that: by how much it is typically off; 0 where all were counted.
        expected_pages: what it is laid out for.
        used_bytes: memory of the fullest Redis primary.
        max_bytes: its `maxmemory`; 0 if none has a limit.
        fullest_primary: its `host:port`; empty for a server alone.
    """

    namespace: str
    schema: str
    created_by: str
    pages: int
    pages_error: int
    expected_pages: int
    used_bytes: int
    max_bytes: int
    fullest_primary: str


class PartitionStatus(msgspec.Struct, frozen=True, kw_only=True):
    """One partition of the pages topic.

    Attributes:
        number: of the partition.
        begin: the first offset that the topic still keeps.
        committed: the offset below which everything is finished; null if the group never committed.
        end: behind the last record.
        lag: records between the two; all that there are where nothing is committed.
    """

    number: int
    begin: int
    committed: int | None
    end: int
    lag: int


class GroupStatus(msgspec.Struct, frozen=True, kw_only=True):
    """The consumer group and what it reads.

    Attributes:
        group_id: its name.
        members: daemons that belong to it now.
        topic: the pages topic.
        partitions: of that topic.
        lag: of all partitions together.
    """

    group_id: str
    members: int
    topic: str
    partitions: list[PartitionStatus]
    lag: int


class GroupUnavailable(msgspec.Struct, frozen=True, kw_only=True):
    """Stands in the place of the group where Kafka does not answer.

    Attributes:
        error: what is wrong, with the remedy.
    """

    error: str


class Status(msgspec.Struct, frozen=True, kw_only=True):
    """All of it."""

    index: IndexStatus
    group: GroupStatus | GroupUnavailable


async def take_status(settings: Settings) -> Status:
    """Ask Redis and Kafka; nothing is written, and no group is joined.

    Raises:
        ConfigError: there is no index or no topic, or the settings differ from those of the index.
        StoreUnavailable: Redis does not answer.
    """
    index = await _index(settings)
    try:
        return Status(index=index, group=await _group(settings))
    except StreamUnavailable as error:
        return Status(index=index, group=GroupUnavailable(error=redact(str(error))))


async def _index(settings: Settings) -> IndexStatus:
    async with open_stored_index(settings, None, has_state_option=False) as stores:
        usage = await stores.usage.measure()
        return IndexStatus(
            namespace=settings.redis.namespace,
            schema=stores.namespace.schema_id,
            created_by=stores.namespace.created_by,
            pages=usage.records,
            pages_error=usage.records_error,
            expected_pages=(await stores.tables.settings_in_force()).index.expected_pages,
            used_bytes=usage.used_bytes,
            max_bytes=usage.max_bytes,
            fullest_primary=usage.fullest_primary,
        )


async def _group(settings: Settings) -> GroupStatus:
    kafka = settings.kafka
    async with pages_snapshot(settings) as pages:
        every = sorted(pages.ends)
    committed = await committed_of_group(settings, every)
    lags = lags_of_group(pages, committed)
    partitions = [
        PartitionStatus(
            number=one.number,
            begin=pages.beginnings[one],
            committed=committed.get(one),
            end=pages.ends[one],
            lag=lags[one],
        )
        for one in every
    ]
    return GroupStatus(
        group_id=kafka.group_id,
        members=len(await group_members(kafka.connection(), kafka.group_id)),
        topic=kafka.pages_topic,
        partitions=partitions,
        lag=sum(lags.values()),
    )


def readable(status: Status) -> str:
    """Return the same as text for a terminal, on one screen."""
    return "\n".join([*_index_lines(status.index), "", *_group_lines(status.group)])


def _index_lines(index: IndexStatus) -> Iterator[str]:
    maximum = f" of {index.max_bytes / _MIB:,.0f} MiB" if index.max_bytes else ""
    release = f", made by neardup-stream {index.created_by}" if index.created_by else ""
    yield f"index      {printable(index.namespace)} ({index.schema}{release})"
    share = index.pages / index.expected_pages
    pages = f"about {index.pages:,} ± {index.pages_error:,}" if index.pages_error else f"{index.pages:,}"
    yield f"pages      {pages} of {index.expected_pages:,} planned ({share:.0%})"
    place = f" at {index.fullest_primary}, the fullest primary" if index.fullest_primary else ""
    yield f"redis      {index.used_bytes / _MIB:,.0f} MiB used{maximum}{place}"


def _group_lines(group: GroupStatus | GroupUnavailable) -> Iterator[str]:
    if isinstance(group, GroupUnavailable):
        yield f"group      not known: {printable(group.error)}"
        return
    yield f"group      {printable(group.group_id)}, {counted(group.members, 'daemon')}"
    yield f"topic      {printable(group.topic)}, lag {counted(group.lag, 'record')}"
    yield ""
    yield f"{'partition':>9}  {'committed':>14}  {'end':>14}  {'lag':>14}"
    for one in group.partitions:
        committed = "never" if one.committed is None else f"{one.committed:,}"
        yield f"{one.number:>9}  {committed:>14}  {one.end:>14,}  {one.lag:>14,}"
