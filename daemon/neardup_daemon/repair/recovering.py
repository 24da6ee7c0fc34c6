"""Rebuild an index that lost decisions from the topics: for `recover`.

Kafka holds the truth, and Redis a view of it. So nothing that Redis still has is used: the pages topic is
processed again, as far as the group has committed, into keys of their own, without publishing events. Then
subscribers receive corrections through the events topic, where the new index differs from their state; and at
last the new index replaces the old one, whose keys are removed. Until the first correction the old one stays
unchanged; from then on no daemon starts on it. After a crash at any point `recover` begins again, with a
further index.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from time import time
from typing import NamedTuple

from aiokafka import OffsetAndMetadata

from neardup_daemon.index_schema import schema
from neardup_daemon.inspect.published_pages import PublishedPages
from neardup_daemon.kafka_wiring import message_publication, topic_snapshot
from neardup_daemon.logs import log_event
from neardup_daemon.loop_wiring import (
    asked_text_parts,
    build_consultation,
    build_loop,
    build_retries,
    loop_config,
)
from neardup_daemon.no_output import NoOutput
from neardup_daemon.pages_topic import committed_of_group, lags_of_group, pages_partitions, pages_snapshot
from neardup_daemon.policy import policy
from neardup_daemon.preparing import open_preparation, verdict_config
from neardup_daemon.repair.correcting import Publisher
from neardup_daemon.repair.extents import measure_extent, require_extent
from neardup_daemon.repair.lost_records import require_records
from neardup_daemon.settings.settings import Settings
from neardup_daemon.terminal import counted
from neardup_daemon.wiring import Stores, create_stores
from neardup_stream.errors import ConfigError
from neardup_stream.message import Partition
from neardup_stream.meters import NoMeters
from neardup_stream.pipeline.corrections import Corrections
from neardup_stream.pipeline.retries import Retries
from neardup_stream.pipeline.stages import Runtime
from neardup_stream.stores.redis.client import RedisClient
from neardup_stream.stores.redis.keys import all_keys, epochs_key, index_prefix, meta_key, recovering_key
from neardup_stream.stores.redis.leases import Lease
from neardup_stream.stores.redis.namespace import (
    begin_to_correct,
    check_policy,
    install,
    installed_schema_id,
    plan_successor,
)
from neardup_stream.stores.redis.rights import require_rights
from neardup_stream.stores.redis.servers import prepare_servers
from neardup_stream.streams.kafka.admin import commit_for_group, group_members
from neardup_stream.streams.kafka.partitions import topic_partition_of
from neardup_stream.streams.kafka.snapshot import TopicSnapshot
from neardup_stream.streams.kafka.snapshot_source import SnapshotSource

__all__ = ["Recovered", "recover_index"]

_logger = logging.getLogger(__name__)


class Recovered(NamedTuple):
    """The result of a recovery.

    Attributes:
        record_count: records of the pages topic that were judged again.
        page_count: living pages in the new index.
        cluster_count: clusters of two or more.
        event_count: corrections that were published.
        waiting_count: records behind those that the group has committed, which daemons judge once they run.
        lost: ids of pages that subscribers held in a cluster and of which no record was judged again.
        deleted_before: by partition number of the pages topic, the first offset that is kept, where earlier
            records are gone.
        events_deleted_before: the same of the events topic.
        is_tidy: whether no keys of former indexes are left; the user may not look for them without `scan`.
        former_keys: a pattern that matches those of the index that was replaced; None where none was known.
        unreadable_count: messages of the events topic that are no events.
    """

    record_count: int
    page_count: int
    cluster_count: int
    event_count: int
    waiting_count: int
    lost: list[str]
    deleted_before: dict[int, int]
    events_deleted_before: dict[int, int]
    is_tidy: bool
    former_keys: str | None
    unreadable_count: int


async def recover_index(
    settings: Settings, on_records: Callable[[int], None] | None, *, accepts_loss: bool
) -> Recovered:
    """Build the index of a namespace anew.

    Args:
        settings: those of the daemons, all of which must be stopped.
        on_records: called with the number of processed records.
        accepts_loss: whether pages may be lost that Redis still has and the pages topic no longer has.

    Raises:
        ConfigError: daemons or another recovery are running, the group has committed nothing, a topic is
            missing, or has fewer records than Redis has pages, a server refuses us, or Redis lost a part of
            the new index meanwhile.
        StreamUnavailable: Kafka cannot be reached.
        StoreUnavailable: Redis cannot be reached.
        DependencyLost: it stayed unavailable for longer than `pipeline.retry_deadline_seconds`.
    Cost: as reading the pages topic by one daemon, and twice the memory of the index until the end.
    """
    committed = await _committed(settings)
    async with RedisClient(settings.redis.config()) as client:
        await require_rights(client, settings.redis.namespace)
        await prepare_servers(client)
        lease = Lease(client, recovering_key(settings.redis.namespace), "'recover'")
        await lease.take()
        return await lease.hold(
            _recover(settings, client, lease, committed, on_records, accepts_loss=accepts_loss)
        )


async def _recover(
    settings: Settings,
    client: RedisClient,
    lease: Lease,
    committed: dict[Partition, int],
    on_records: Callable[[int], None] | None,
    *,
    accepts_loss: bool,
) -> Recovered:
    name = settings.redis.namespace
    async with pages_snapshot(settings) as pages:
        if not accepts_loss:
            await require_records(client, settings, committed, pages.beginnings)
        published, events_beginnings = await _read_events(settings)
        await _remove_others(client, name)  # what was left by recoveries that did not end
        agreed = policy(settings)
        await check_policy(client, name, agreed)
        namespace = await plan_successor(client, name, schema(settings), published.index)
        namespace = replace(namespace, version_floor=published.highest_version + 1)
        stores = replace(await create_stores(settings, client, namespace), policy=agreed)
        log_event(_logger, "recovery_started", index=namespace.token, schema=namespace.schema_id)
        retries = build_retries(settings, NoMeters())
        record_count = await _judge_again(settings, stores, pages, committed, on_records, retries)
        partitions = list(committed)
        extent = await measure_extent(stores, partitions, retries)
        require_whole = partial(require_extent, extent, stores, partitions, retries)
        corrections = Corrections(
            name, namespace.token, namespace.version_floor, int(time() * 1000), verdict_config(settings)
        )
        publisher = Publisher(settings, retries, stores, corrections, published)

        async def begin() -> None:
            await _commit(settings, stores, committed)  # refused where daemons have started meanwhile
            await begin_to_correct(client, name, namespace)

        await publisher.publish(begin, require_whole)
        await require_whole()
        former = await retries.retry(partial(installed_schema_id, client, name))
        await retries.retry(partial(install, client, name, schema(settings), namespace))
        await retries.retry(lease.take)  # the keys of another recovery are not to be removed
        is_tidy = await retries.retry(partial(_remove_others, client, name))
    return Recovered(
        record_count=record_count,
        page_count=publisher.page_count,
        cluster_count=publisher.cluster_count,
        event_count=publisher.event_count,
        waiting_count=sum(lags_of_group(pages, committed).values()),
        lost=publisher.lost,
        deleted_before={
            one.number: first for one, first in pages.beginnings.items() if first > 0 and committed.get(one)
        },
        events_deleted_before={one.number: first for one, first in events_beginnings.items() if first > 0},
        is_tidy=is_tidy,
        former_keys=f"{index_prefix(name, former)}*" if former else None,
        unreadable_count=published.unreadable_count,
    )


async def _committed(settings: Settings) -> dict[Partition, int]:
    """Return the committed offsets of the group, which must have no members meanwhile.

    Raises:
        ConfigError: there is no pages topic, daemons are running, or the group has committed nothing.
    """
    kafka = settings.kafka
    partitions = await pages_partitions(settings)
    if members := await group_members(kafka.connection(), kafka.group_id):
        raise ConfigError(
            f"group {kafka.group_id} has {counted(len(members), 'member')}: stop all daemons of"
            f" redis.namespace {settings.redis.namespace!r} first, and wait"
            " kafka.session_timeout_seconds after a kill"
        )
    committed = await committed_of_group(settings, partitions)
    if not committed:
        raise ConfigError(
            f"group {kafka.group_id!r} has committed no offset of topic {kafka.pages_topic!r}, so there is"
            " nothing to judge again: see that kafka.group_id is that of the daemons; if its offsets have"
            " expired, set them first"
        )
    return committed


async def _read_events(settings: Settings) -> tuple[PublishedPages, Mapping[Partition, int]]:
    """Return what subscribers hold by the events that are retained, and the first offsets of these."""
    published = PublishedPages(settings.redis.namespace)
    topic = settings.kafka.events_topic
    async with topic_snapshot(settings, topic) as events:
        async for records in events.records():
            published.feed(records)
        return published, events.beginnings


async def _judge_again(
    settings: Settings,
    stores: Stores,
    pages: TopicSnapshot,
    committed: dict[Partition, int],
    on_records: Callable[[int], None] | None,
    retries: Retries,
) -> int:
    """Take the committed records through the pipeline; how many there were."""
    meters = NoMeters()
    source = SnapshotSource(pages, committed, on_records)
    silent = NoOutput()
    # Events are not published here, so archives count only where they decide.
    decides = settings.archive.on_match == "skip"
    archives = None
    if decides:
        archives = await asyncio.to_thread(build_consultation, settings, meters, stores.policy)
    async with open_preparation(settings, meters, asked_text_parts(archives)) as preparation:
        loop = build_loop(
            settings,
            stores,
            source,
            message_publication(silent, silent),
            preparation,
            Runtime(loop_config(settings), retries, meters),
            archives=archives,
            now_seconds=lambda: source.timestamp_seconds,
        )
        await loop.run(asyncio.Event())
    await retries.retry(partial(stores.pages.clusters.trim, committed))
    await retries.retry(partial(stores.pages.clusters.tidy, stores.pages.records))
    return source.record_count


async def _commit(settings: Settings, stores: Stores, committed: dict[Partition, int]) -> None:
    """Note beside the group's offsets which index they are of now, also where nothing was read yet."""
    witnesses = await stores.epochs.witnesses(list(committed))
    offsets = {
        topic_partition_of(one): OffsetAndMetadata(offset, witnesses[one])
        for one, offset in committed.items()
    }
    await commit_for_group(settings.kafka.connection(), settings.kafka.group_id, offsets)


async def _remove_others(client: RedisClient, name: str) -> bool:
    """Remove the keys of all indexes but the installed one; return whether the user may."""
    installed = await installed_schema_id(client, name)
    if installed is None:
        return True  # which keys are of no use is not known
    kept = (meta_key(name), epochs_key(name), recovering_key(name), index_prefix(name, installed))
    try:
        await client.delete_matching(all_keys(name), kept)
    except ConfigError as error:
        log_event(_logger, "former_keys_kept", level=logging.WARNING, error=str(error))
        return False
    return True
