"""A whole pipeline in memory: the real code over the reference stores and streams."""

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import msgspec

from neardup_stream.clusters.clusters import ClusterConfig, Clusters
from neardup_stream.clusters.planning import PENDING_EDGES
from neardup_stream.clusters.rules import Rule, components
from neardup_stream.errors import BadPage
from neardup_stream.events import DuplicateFound
from neardup_stream.fingerprints.simhash import SimhashConfig
from neardup_stream.fingerprints.sketch import SketchConfig
from neardup_stream.frames.lines import FrameConfig
from neardup_stream.indexes.layout import IndexConfig, IndexLayout
from neardup_stream.indexes.permuted import PermutedIndex
from neardup_stream.indexes.protocol import Index
from neardup_stream.message import Message, Record
from neardup_stream.meters import NoMeters, Outcome, PipelineMeters
from neardup_stream.page import Handle
from neardup_stream.pipeline.archive_lookup import OpenArchive
from neardup_stream.pipeline.classification import VerdictConfig
from neardup_stream.pipeline.consult import Consultation
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
from neardup_stream.pipeline.preparation import OnRecord, Preparation
from neardup_stream.pipeline.reading_gate import ReadingGate
from neardup_stream.pipeline.retries import Retries, RetryPolicy
from neardup_stream.pipeline.scopes import EVERYTHING, scope_by
from neardup_stream.pipeline.short_path import ArrayStores
from neardup_stream.pipeline.short_placing import Placing
from neardup_stream.pipeline.stages import PageWork, Runtime, StoreWork
from neardup_stream.pipeline.stores import PageStores
from neardup_stream.stores.arrays.records import ArrayRecords
from neardup_stream.stores.arrays.tables import ArrayTables
from neardup_stream.stores.cluster_store import ClusterStore
from neardup_stream.stores.frame_store import FrameStore
from neardup_stream.stores.memory.clusters import MemoryClusters
from neardup_stream.stores.memory.frames import MemoryFrames
from neardup_stream.stores.memory.records import MemoryRecords
from neardup_stream.stores.protocol import RecordStore, TableStore
from neardup_stream.stores.table_layouts import TableLayouts
from neardup_stream.streams.memory.streams import MemorySink, MemorySource
from neardup_stream.streams.protocol import Source
from neardup_stream.text.limits import TextLimits
from neardup_stream.traces import NoTracer, Tracer
from neardup_stream.wire.dead_letters import dead_letter
from neardup_stream.wire.events import to_message
from neardup_stream.wire.pages import PageDecoder
from tests.doubles.tables import MemoryTables
from tests.doubles.transactions import MemoryTransactions
from tests.framed_pages import outside_landmarks

__all__ = ["QUICK", "CountingMeters", "Pipeline", "SlowFetches", "essay", "in_arrays", "page_json"]

QUICK = RetryPolicy(retry_deadline_seconds=10, first_pause_seconds=1e-4, longest_pause_seconds=1e-3)


class CountingMeters(NoMeters):
    """Keeps what a test wants to look at."""

    def __init__(self) -> None:
        self.outcomes: Counter[Outcome] = Counter()
        self.page_count = 0
        self.most_in_flight_pages = 0
        self.first_read = asyncio.Event()
        self.truncated_probe_count = 0
        self.archived_counts: list[tuple[int, int, int, int]] = []

    def pages(self, count: int, size_bytes: int) -> None:
        self.page_count += count

    def truncated_probes(self, count: int) -> None:
        """Count."""
        self.truncated_probe_count += count

    def archived(self, exact: int, near: int, candidates: int, sampled_keys: int) -> None:
        """Note."""
        self.archived_counts.append((exact, near, candidates, sampled_keys))

    def outcome(self, outcome: Outcome, count: int, reason: str = "") -> None:
        self.outcomes[outcome] += count

    def in_flight(self, pages: int, size_bytes: int) -> None:
        self.most_in_flight_pages = max(self.most_in_flight_pages, pages)
        self.first_read.set()


class SlowFetches(MemoryRecords):
    """Page records of which a fetch is answered only after everything else that runs has gone on."""

    async def fetch(self, handles: Sequence[Handle]) -> list[bytes | None]:
        """Return the records as they are then."""
        for _ in range(50):
            await asyncio.sleep(0)
        return await super().fetch(handles)


_USUAL_LIMITS = TextLimits()


@dataclass
class Pipeline:
    """Stores that outlive runs, so that a test can stop one loop and start another."""

    tables: TableStore = field(default_factory=MemoryTables)
    records: RecordStore = field(default_factory=MemoryRecords)
    events: MemorySink = field(default_factory=MemorySink)
    dead_letters: MemorySink = field(default_factory=MemorySink)
    meters: CountingMeters = field(default_factory=CountingMeters)
    event_config: EventConfig = field(default_factory=EventConfig)
    limits: InFlightLimits = field(
        default_factory=lambda: InFlightLimits(max_batch_pages=4, max_in_flight_pages=16)
    )
    statuses: frozenset[int] = frozenset()
    retry_policy: RetryPolicy = QUICK
    clusters: ClusterStore = field(default_factory=MemoryClusters)
    sketch: SketchConfig | None = field(default_factory=SketchConfig)
    rule: Rule = components
    tombstone_ttl_seconds: float = 600.0
    scope: str = EVERYTHING
    frame_store: FrameStore = field(default_factory=MemoryFrames)
    site: str | None = None
    now_seconds: float = 1_700_000_000
    commit_interval_seconds: float = 0
    archives: Callable[[], Sequence[OpenArchive]] | None = None
    skips_matches: bool = False
    has_short_path: bool = False
    layouts: TableLayouts = field(default_factory=TableLayouts)
    former: FormerVersions = field(default_factory=FormerVersions)  # of the last loop
    is_exactly_once: bool = field(default_factory=lambda: Pipeline.is_exactly_once_by_default)
    is_exactly_once_by_default: ClassVar[bool] = False

    @property
    def layout(self) -> IndexLayout:
        """How the tables are laid out."""
        return IndexLayout(IndexConfig(bands=self.sketch.bands if self.sketch else 0))

    def index(self) -> Index:
        """Return what every loop of this pipeline probes."""
        return PermutedIndex(self.tables, self.layout)

    @property
    def verdict(self) -> VerdictConfig:
        """When two pages are alike."""
        return VerdictConfig(self.sketch, self.layout.config.permuted.distance_bits)

    def preparation(
        self,
        meters: PipelineMeters | None = None,
        *,
        limits: TextLimits = _USUAL_LIMITS,
        on_record: OnRecord = lambda _record: None,
        in_columns: bool = False,
    ) -> Preparation:
        """Turns records into arrivals."""
        return Preparation(
            Decode(PageDecoder(statuses=self.statuses)),
            Extract("all_text", limits),
            Fingerprint(
                SimhashConfig(),
                self.sketch,
                scope_by(self.scope),
                None if self.site is None else scope_by(self.site),
            ),
            meters or self.meters,
            on_record,
            in_columns=in_columns,
        )

    def loop(
        self,
        source: Source,
        *,
        drain_seconds: float = 5,
        is_read_again: bool = False,
        meters: PipelineMeters | None = None,
        tracer: Tracer | None = None,
        gate: ReadingGate | None = None,
    ) -> Loop:
        """A loop over this pipeline's stores and sinks; `meters` take the place of the pipeline's own."""
        meters = meters or self.meters
        retries = Retries(self.retry_policy, meters, lambda _error: None)
        self.former = former = FormerVersions()
        return Loop(
            source=source,
            publication=Publication(
                self.events,
                self.dead_letters,
                to_message,
                self._render_dead_letter,
                self._transactions(source) if self.is_exactly_once else None,
            ),
            pages=PageWork(
                self.preparation(meters, in_columns=self.has_short_path),
                self._frames(retries),
                self.archives
                and Consultation(self.archives, self.verdict, 8, meters, skips_matches=self.skips_matches),
            ),
            work=StoreWork(
                PageStores(
                    self.index(),
                    self.records,
                    self.decider(former),
                    bytes(16),
                    former,
                    layouts=self.layouts,
                ),
                self.verdict,
                self.event_config,
                lambda: self.now_seconds,
                self._array_stores(former),
            ),
            runtime=Runtime(
                LoopConfig(
                    self.limits, self.commit_interval_seconds, drain_seconds, lambda _partition: is_read_again
                ),
                retries,
                meters,
                tracer or NoTracer(),
                gate,
            ),
        )

    def _array_stores(self, former: FormerVersions) -> ArrayStores | None:
        """Return the stores of `in_arrays`, for pages that come for the first time."""
        if not self.has_short_path:
            return None
        assert isinstance(self.records, ArrayRecords)
        assert isinstance(self.clusters, MemoryClusters)
        placing = Placing(self.clusters, Descriptions(self.records, former), self.rule, PENDING_EDGES)
        return ArrayStores(PermutedIndex(self.tables, self.layout), self.records, placing)

    def _frames(self, retries: Retries) -> Frames | None:
        """Takes frames out of pages where `site` says whose they are."""
        if self.site is None or self.sketch is None:
            return None
        config = FrameConfig()
        return Frames(
            store=self.frame_store,
            viewer=FrameViewer(config, outside_landmarks, self.verdict),
            config=config,
            handle_key=bytes(16),
            retries=retries,
            meters=self.meters,
            now_seconds=lambda: self.now_seconds,
        )

    def _transactions(self, source: Source) -> MemoryTransactions:
        assert isinstance(source, MemorySource)
        return MemoryTransactions(source, self.events, self.dead_letters)

    def decider(self, former: FormerVersions | None = None) -> Clusters:
        """Who decides in every loop of this pipeline."""
        return Clusters(
            self.clusters,
            Descriptions(self.records, former or FormerVersions()),
            self.rule,
            ClusterConfig(self.tombstone_ttl_seconds),
        )

    def pairs(self) -> list[tuple[str, list[str]]]:
        """Return each duplicate with the pages it matches, in the order of the events."""
        duplicates = [
            msgspec.json.decode(message.value or b"", type=DuplicateFound)
            for message in self.events.messages
            if b'"matches"' in (message.value or b"")
        ]
        return [(event.page.id, [match.id for match in event.matches]) for event in duplicates]

    def _render_dead_letter(self, record: Record, error: BadPage) -> Message:
        return dead_letter(record, error, self.dead_letters.max_message_bytes)


def in_arrays(**fields: Any) -> Pipeline:
    """A pipeline over stores in arrays, where pages that come for the first time take the short path."""
    sketch: SketchConfig | None = fields.setdefault("sketch", SketchConfig())
    records = ArrayRecords(4, sketch.sketch_bytes if sketch else 0, sketch.bands if sketch else 0)
    return Pipeline(tables=ArrayTables(), records=records, has_short_path=True, **fields)


def essay(topic: int, edits: Sequence[int] = ()) -> str:
    """200 words of one topic, none shared with another topic; some of them replaced."""
    words = [f"word{topic}x{number}" for number in range(200)]
    for place in edits:
        words[place] = f"edited{topic}x{place}"
    return " ".join(words)


def page_json(name: str, text: str, **fields: object) -> bytes:
    """Return a page as a crawler sends it."""
    return msgspec.json.encode({"url": f"https://example.com/{name}", "text": text, **fields})
