"""One life of a daemon: the real loop and the real sweeper, over stores and streams across a network."""

import asyncio
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any, cast
from zlib import crc32

from neardup_stream.clusters.clusters import ClusterConfig, Clusters
from neardup_stream.clusters.unclustered import Unclustered
from neardup_stream.errors import BadPage, StoreUnavailable
from neardup_stream.fingerprints.simhash import SimhashConfig
from neardup_stream.fingerprints.sketch import SketchConfig
from neardup_stream.frames.lines import FrameConfig
from neardup_stream.indexes.layout import IndexConfig, IndexLayout
from neardup_stream.indexes.permuted import PermutedIndex
from neardup_stream.message import Message, Record
from neardup_stream.meters import NoMeters
from neardup_stream.pipeline.classification import VerdictConfig
from neardup_stream.pipeline.consulting import Consultation
from neardup_stream.pipeline.decode import Decode
from neardup_stream.pipeline.deliver import Publication
from neardup_stream.pipeline.descriptions import Descriptions
from neardup_stream.pipeline.event_config import EventConfig
from neardup_stream.pipeline.extract import Extract
from neardup_stream.pipeline.fingerprint import Fingerprint
from neardup_stream.pipeline.former_versions import FormerVersions
from neardup_stream.pipeline.frame_views import FrameViewer
from neardup_stream.pipeline.frames import Frames
from neardup_stream.pipeline.in_flight import InFlightLimits
from neardup_stream.pipeline.loop import Loop
from neardup_stream.pipeline.loop_config import LoopConfig
from neardup_stream.pipeline.preparation import Preparation
from neardup_stream.pipeline.retention import RetentionConfig, Sweeper
from neardup_stream.pipeline.retries import Retries, RetryPolicy
from neardup_stream.pipeline.scopes import EVERYTHING, scope_by
from neardup_stream.pipeline.stages import PageWork, Runtime, StoreWork
from neardup_stream.pipeline.stores import PageStores
from neardup_stream.stores.cluster_store import RANK_BYTES
from neardup_stream.stores.guarded_clusters import INDEX, GuardedClusters
from neardup_stream.stores.memory.clusters import MemoryClusters
from neardup_stream.stores.memory.tables import MemoryTables
from neardup_stream.stores.redis.client import RedisClient
from neardup_stream.stores.redis.input_epochs import InputEpochs
from neardup_stream.stores.redis.keys import ClusterKeys
from neardup_stream.streams.kafka.start_offsets import InputHistory, NoHistory
from neardup_stream.traces import NoTracer
from neardup_stream.wire.dead_letters import dead_letter
from neardup_stream.wire.events import to_message
from neardup_stream.wire.pages import PageDecoder
from tests.framed_pages import outside_landmarks
from tests.schedules.archives import SKETCH, archives_at
from tests.schedules.broker import Broker
from tests.schedules.clock_jumps import Clocks
from tests.schedules.frame_faults import FaultyFrames
from tests.schedules.losses import LosingRecords
from tests.schedules.member import GroupMember, TopicSink, TopicTransactions
from tests.schedules.network import Network
from tests.schedules.spans import StrictTracer
from tests.schedules.story import FaultProfile, Story

__all__ = ["DEAD_LETTERS", "EVENTS", "Protocol", "Reading", "Shared", "Stores", "live"]

EVENTS, DEAD_LETTERS = "events", "dead letters"
_SWEEP_SECONDS = 9.0


@dataclass(frozen=True)
class Reading:
    """How pages are read, indexed and compared.

    Attributes:
        sketch: how sketches are made; None: pages are compared by simhash alone.
        has_frames: whether the frames of sites are taken out.
    """

    sketch: SketchConfig | None = None
    has_frames: bool = False

    @cached_property
    def layout(self) -> IndexLayout:
        """How the tables are laid out."""
        return IndexLayout(IndexConfig(shards=1, bands=self.sketch.bands if self.sketch else 0))

    @cached_property
    def verdict(self) -> VerdictConfig:
        """When two pages match."""
        return VerdictConfig(self.sketch, self.layout.config.permuted.distance_bits)

    @cached_property
    def preparation(self) -> Preparation:
        """Turns records into arrivals."""
        return Preparation(
            Decode(PageDecoder()),
            Extract("all_text"),
            Fingerprint(
                SimhashConfig(),
                self.sketch,
                scope_by(EVERYTHING),
                scope_by("host") if self.has_frames else None,
            ),
            NoMeters(),
        )


BY_SIMHASH = Reading()
BY_SKETCH = Reading(SKETCH)
WITHOUT_FRAMES = Reading(SKETCH, has_frames=True)


@dataclass(frozen=True, slots=True)
class Stores:
    """The stores, or what stands for them."""

    records: Any
    tables: Any
    clusters: Any
    frames: Any


def _as_it_is(part: Any) -> Any:
    return part


@dataclass(frozen=True)
class Protocol:
    """How a daemon is put together; a broken protocol has one part of its own.

    Attributes:
        stores: made of the shared ones, before calls to them cross the network.
        source: made of the member.
        events: made of the sink.
        render: an event's bytes.
        guard: made of the cluster store and the token of the index.
        clocks: made of those that a daemon sees.
        sabotage: around the whole run.
    """

    stores: Callable[[Stores], Stores] = _as_it_is
    source: Callable[[Any], Any] = _as_it_is
    events: Callable[[Any], Any] = _as_it_is
    render: Callable[[Any], Message] = to_message
    guard: Callable[[Any, str], Any] = GuardedClusters
    clocks: Callable[[Clocks], Clocks] = _as_it_is
    sabotage: Callable[[], AbstractContextManager[object]] = nullcontext


@dataclass
class Shared:
    """What outlives every daemon.

    Attributes:
        broker: all topics, and the group.
        network: the way to everything.
        now_seconds: the true time.
        start_seconds: the time at which the story begins.
        fault_profile: what the story was drawn from.
        story: what happens.
        protocol: how daemons are put together.
        stores: empty at first.
    """

    broker: Broker
    network: Network
    now_seconds: Callable[[], float]
    start_seconds: float
    fault_profile: FaultProfile
    story: Story
    protocol: Protocol
    stores: Stores = field(init=False)
    index: str = field(default="", init=False)
    handle_key: bytes = field(default=bytes(16), init=False)

    def __post_init__(self) -> None:
        """Make the first index."""
        self.make_index(1)

    def make_index(self, number: int) -> None:
        """Stores that are empty but for the token of an index."""
        self.index, self.handle_key = f"{number:028x}", bytes([number - 1]) * 16
        clusters = MemoryClusters(self.now_seconds)
        clusters._tables[INDEX.table] = {INDEX.field: bytes(RANK_BYTES) + self.index.encode()}
        records = LosingRecords(self.now_seconds, self.fault_profile.page_seconds)
        self.stores = Stores(records, MemoryTables(), clusters, FaultyFrames(self.now_seconds))

    @property
    def seconds(self) -> float:
        """Since the story began."""
        return self.now_seconds() - self.start_seconds

    @property
    def reading(self) -> Reading:
        """How pages are read."""
        if self.fault_profile.has_frames:
            return WITHOUT_FRAMES
        return BY_SKETCH if self.fault_profile.archive_use else BY_SIMHASH

    def decider(self, stores: Stores, former: FormerVersions | None = None) -> Clusters | Unclustered:
        """Who decides, over these stores."""
        if not self.fault_profile.has_clusters:
            return Unclustered(stores.clusters)
        return Clusters(
            stores.clusters,
            Descriptions(stores.records, former or FormerVersions()),
            config=ClusterConfig(self.fault_profile.tombstone_ttl_seconds),
            jitter=lambda: 0.5,
        )


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
                former=former,
            ),
            reading.verdict,
            EventConfig(index=shared.index),
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
