"""One life of a daemon: the real loop and the real sweeper, over stores and streams across a network."""

import asyncio
from collections.abc import Callable
from functools import partial
from typing import cast
from zlib import crc32

from neardup_stream.errors import BadPage, StoreUnavailable
from neardup_stream.frames.lines import FrameConfig
from neardup_stream.indexes.permuted import PermutedIndex
from neardup_stream.message import Message, Record
from neardup_stream.meters import NoMeters
from neardup_stream.pipeline.consult import Consultation
from neardup_stream.pipeline.deliver import Publication
from neardup_stream.pipeline.event_config import EventConfig
from neardup_stream.pipeline.former_versions import FormerVersions
from neardup_stream.pipeline.frame_views import FrameViewer
from neardup_stream.pipeline.frames import Frames
from neardup_stream.pipeline.in_flight import InFlightLimits
from neardup_stream.pipeline.loop import Loop
from neardup_stream.pipeline.loop_config import LoopConfig
from neardup_stream.pipeline.retention import RetentionConfig, Sweeper
from neardup_stream.pipeline.retries import Retries, RetryPolicy
from neardup_stream.pipeline.stages import PageWork, Runtime, StoreWork
from neardup_stream.pipeline.stores import PageStores
from neardup_stream.stores.redis.client import RedisClient
from neardup_stream.stores.redis.input_epochs import InputEpochs
from neardup_stream.stores.redis.keys import ClusterKeys
from neardup_stream.streams.kafka.start_offsets import InputHistory, NoHistory
from neardup_stream.traces import NoTracer
from neardup_stream.wire.dead_letters import dead_letter
from tests.framed_pages import outside_landmarks
from tests.schedules.archives import archives_at
from tests.schedules.clock_jumps import Clocks
from tests.schedules.member import GroupMember, TopicSink, TopicTransactions
from tests.schedules.shared import DEAD_LETTERS, EVENTS, Shared, Stores
from tests.schedules.spans import StrictTracer

__all__ = ["live"]

_SWEEP_SECONDS = 9.0


async def live(
    name: str, shared: Shared, stop: asyncio.Event, clocks: Clocks, *, is_stale: bool = False
) -> None:
    """Run one life of a daemon, until `stop` is set.

    Args:
        name: of this life.
        shared: with all others.
        stop: finish what is in flight, and leave.
        clocks: those that it sees.
        is_stale: whether it never reads a frame table again.
    """
    stores = _remote_stores(shared)
    member = GroupMember(name, shared.broker, shared.network, _history(shared, stores))
    retries = Retries(RetryPolicy(120.0, 0.1, 2.0), NoMeters(), lambda _: None)

    clocks = shared.protocol.clocks(clocks)
    frames = _frames(shared, stores, retries, is_stale=is_stale) if shared.fault_profile.has_frames else None
    loop = _loop(shared, stores, member, retries, clocks.store, frames, name)
    async with member, asyncio.TaskGroup() as group:
        sweeping = group.create_task(_sweep(shared, stores, retries, clocks))
        await loop.run(stop)
        sweeping.cancel()


def _remote_stores(shared: Shared) -> Stores:
    stores = shared.protocol.stores(shared.stores)
    to = partial(shared.network.to, error=StoreUnavailable)
    clusters = to(stores.clusters)
    if shared.fault_profile.losses:  # elsewhere its calls would only change which seed meets what
        clusters = shared.protocol.guard(clusters, shared.index)
    return Stores(to(stores.records), to(stores.tables), clusters, to(stores.frames))


def _history(shared: Shared, stores: Stores) -> InputHistory:
    """Return what compares notes beside offsets with the index; it asks nothing but the clusters here."""
    if not shared.fault_profile.losses:
        return NoHistory()
    keys = ClusterKeys(namespace="nd", schema_id="s", slot_bits=0)
    return InputEpochs(cast("RedisClient", None), "nd", stores.clusters, keys, shared.index)


def _frames(shared: Shared, stores: Stores, retries: Retries, *, is_stale: bool) -> Frames:
    reading, config = shared.reading, FrameConfig()
    assert reading.sketch is not None
    return Frames(
        store=stores.frames,
        viewer=FrameViewer(config, outside_landmarks, reading.verdict),
        config=config,
        handle_key=shared.handle_key,
        retries=retries,
        meters=NoMeters(),
        now_seconds=(lambda: 0.0) if is_stale else asyncio.get_running_loop().time,
    )


def _loop(
    shared: Shared,
    stores: Stores,
    member: GroupMember,
    retries: Retries,
    now_seconds: Callable[[], float],
    frames: Frames | None,
    name: str,
) -> Loop:
    reading = shared.reading
    protocol = shared.protocol
    broker, network, batch_pages = shared.broker, shared.network, shared.story.batch_pages
    former = FormerVersions()
    return Loop(
        source=protocol.source(member),
        pages=PageWork(
            reading.preparation,
            frames,
            _archives(shared, name) if shared.fault_profile.archive_use else None,
        ),
        work=StoreWork(
            PageStores(
                PermutedIndex(stores.tables, reading.layout),
                stores.records,
                shared.decider(stores, former),
                shared.handle_key,
                former,
            ),
            reading.verdict,
            EventConfig(index_token=shared.index),
            now_seconds,
        ),
        publication=Publication(
            protocol.events(TopicSink(EVENTS, broker, network)),
            TopicSink(DEAD_LETTERS, broker, network),
            protocol.render,
            _render_dead_letter,
            TopicTransactions((EVENTS, DEAD_LETTERS), broker, network)
            if shared.fault_profile.is_exactly_once
            else None,
        ),
        runtime=Runtime(
            LoopConfig(
                InFlightLimits(batch_pages, max_in_flight_pages=4 * batch_pages),
                commit_interval_seconds=shared.story.commit_interval_seconds,
                drain_seconds=3.0,
            ),
            retries,
            NoMeters(),
            StrictTracer() if shared.fault_profile.is_traced else NoTracer(),
        ),
    )


def _archives(shared: Shared, name: str) -> Consultation:
    """Return what asks the archives; each life looks for other ones at moments of its own."""
    lag_seconds = crc32(name.encode()) % 5
    return Consultation(
        lambda: archives_at(shared.story.archive_changes, shared.seconds - lag_seconds),
        shared.reading.verdict,
        8,
        NoMeters(),
        skips_matches=shared.fault_profile.archive_use == "skip",
    )


def _render_dead_letter(record: Record, error: BadPage) -> Message:
    return dead_letter(record, error, None)


async def _sweep(shared: Shared, stores: Stores, retries: Retries, clocks: Clocks) -> None:
    fault_profile = shared.fault_profile
    if fault_profile.page_seconds is None:
        return
    sweeper = Sweeper(
        records=stores.records,
        index=PermutedIndex(stores.tables, shared.reading.layout),
        clusters=shared.decider(stores),
        config=RetentionConfig(fault_profile.page_seconds, fault_profile.stub_seconds),
    )
    while True:
        await asyncio.sleep(_SWEEP_SECONDS)
        if clocks.is_trusted:
            await retries.retry(partial(sweeper.sweep, int(clocks.store())))
