"""What outlives every daemon of a schedule: topics, network and stores; and how daemons are put together."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from neardup_stream.clusters.clusters import ClusterConfig, Clusters
from neardup_stream.clusters.unclustered import Unclustered
from neardup_stream.fingerprints.simhash import SimhashConfig
from neardup_stream.fingerprints.sketch import SketchConfig
from neardup_stream.indexes.layout import IndexConfig, IndexLayout
from neardup_stream.message import Message
from neardup_stream.meters import NoMeters
from neardup_stream.pipeline.classification import VerdictConfig
from neardup_stream.pipeline.decode import Decode
from neardup_stream.pipeline.descriptions import Descriptions
from neardup_stream.pipeline.extract import Extract
from neardup_stream.pipeline.fingerprint import Fingerprint
from neardup_stream.pipeline.former_versions import FormerVersions
from neardup_stream.pipeline.preparation import Preparation
from neardup_stream.pipeline.scopes import EVERYTHING, scope_by
from neardup_stream.stores.cluster_store import RANK_BYTES
from neardup_stream.stores.guarded_clusters import INDEX, GuardedClusters
from neardup_stream.stores.memory.clusters import MemoryClusters
from neardup_stream.wire.events import to_message
from neardup_stream.wire.pages import PageDecoder
from tests.doubles.tables import MemoryTables
from tests.schedules.archives import SKETCH
from tests.schedules.broker import Broker
from tests.schedules.clock_jumps import Clocks
from tests.schedules.frame_faults import FaultyFrames
from tests.schedules.losses import LosingRecords
from tests.schedules.network import Network
from tests.schedules.story import FaultProfile, Story

__all__ = ["DEAD_LETTERS", "EVENTS", "Protocol", "Reading", "Shared", "Stores"]

EVENTS, DEAD_LETTERS = "events", "dead letters"


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
