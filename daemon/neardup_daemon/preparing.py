"""How pages are read, fingerprinted, indexed and compared, as set: what needs no store."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from time import monotonic

from neardup_daemon.settings.settings import Settings
from neardup_stream.clusters.rules import Rule, anchored, components, is_firm, linked
from neardup_stream.fingerprints.simhash import SimhashConfig, is_kernel_compiled, load_kernel
from neardup_stream.fingerprints.sketch import SketchConfig
from neardup_stream.indexes.layout import IndexLayout
from neardup_stream.match import Match
from neardup_stream.meters import NoMeters, PipelineMeters
from neardup_stream.pipeline.decode import Decode
from neardup_stream.pipeline.extract import Extract
from neardup_stream.pipeline.fingerprint import Fingerprint
from neardup_stream.pipeline.frame_views import FrameViewer
from neardup_stream.pipeline.frames import WINDOW_PAGES, Frames
from neardup_stream.pipeline.guarded_preparation import GuardedPreparation
from neardup_stream.pipeline.kept_text import TextParts
from neardup_stream.pipeline.likeness import VerdictConfig
from neardup_stream.pipeline.parallel_preparation import ParallelPreparation
from neardup_stream.pipeline.preparation import OnRecord, Preparation, ReadsLandmarks
from neardup_stream.pipeline.retries import Retries
from neardup_stream.pipeline.scopes import ScopeOf, scope_by
from neardup_stream.pipeline.spread_preparation import SpreadPreparation
from neardup_stream.stores.frame_store import FrameStore
from neardup_stream.wire.pages import PageDecoder

__all__ = [
    "build_frames",
    "build_preparation",
    "build_viewer",
    "cluster_rule",
    "connecting",
    "index_layout",
    "open_parallel_preparation",
    "open_preparation",
    "open_spread_preparation",
    "simhash_config",
    "site_of",
    "sketch_config",
    "verdict_config",
]


def simhash_config(settings: Settings) -> SimhashConfig:
    """How pages are fingerprinted."""
    return SimhashConfig(window_tokens=settings.text.window_tokens, min_tokens=settings.verdict.min_tokens)


def sketch_config(settings: Settings) -> SketchConfig | None:
    """How pages are sketched; None where they are compared by simhash alone."""
    if settings.verdict.scheme == "simhash":
        return None
    return SketchConfig(
        shingle_tokens=settings.sketch.shingle_tokens,
        bins=settings.sketch.bins,
        code_bits=settings.sketch.code_bits,
        bands=settings.index.bands,
    )


def index_layout(settings: Settings) -> IndexLayout:
    """How the tables are laid out; without sketches there are no bands."""
    config = settings.index.config()
    return IndexLayout(config if sketch_config(settings) else replace(config, bands=0))


def verdict_config(settings: Settings) -> VerdictConfig:
    """When two pages are alike."""
    return VerdictConfig(
        sketch=sketch_config(settings),
        distance_bits=settings.index.distance_bits,
        near_resemblance=settings.verdict.near_resemblance,
        near_containment=settings.verdict.near_containment,
        contained_containment=settings.verdict.contained_containment,
        content_containment=settings.verdict.content_containment,
    )


def site_of(settings: Settings) -> ScopeOf | None:
    """Whose frame a page has; None where frames are left in."""
    scope = settings.frames.scope
    return None if scope == "off" or sketch_config(settings) is None else scope_by(scope)


def build_viewer(settings: Settings, preparation: ReadsLandmarks, *, most_lessons: float = 0) -> FrameViewer:
    """What takes frames out of pages, given the tables of their sites."""
    return FrameViewer(
        settings.frames.config(),
        preparation.lines_outside_landmarks,
        verdict_config(settings),
        most_lessons=most_lessons,
    )


def build_frames(
    settings: Settings,
    store: FrameStore,
    handle_key: bytes,
    retries: Retries,
    meters: PipelineMeters,
    preparation: ReadsLandmarks,
    *,
    most_lessons: float = 0,
) -> Frames | None:
    """What takes frames out of pages, see `FrameViewer`; None: they stay in."""
    if site_of(settings) is None:
        return None
    return Frames(
        store=store,
        viewer=build_viewer(settings, preparation, most_lessons=most_lessons),
        config=settings.frames.config(),
        handle_key=handle_key,
        retries=retries,
        meters=meters,
        now_seconds=monotonic,
        window_pages=0 if most_lessons else WINDOW_PAGES,
    )


def cluster_rule(settings: Settings) -> Rule | None:
    """What a page joins; None where no clusters are kept."""
    rules = {
        "linked": linked(settings.clusters.link_containment),
        "components": components,
        "anchored": anchored,
    }
    return rules.get(settings.clusters.rule)


def connecting(settings: Settings) -> Callable[[Match], bool] | None:
    """Which matches bring their pages into one cluster, whatever the order; None where none needs to."""
    least = settings.clusters.link_containment
    rules: dict[str, Callable[[Match], bool]] = {
        "linked": lambda match: is_firm(match, least),
        "components": lambda _match: True,
    }
    return rules.get(settings.clusters.rule)


def build_preparation(
    settings: Settings,
    meters: PipelineMeters,
    text_parts: TextParts = frozenset(),
    *,
    on_record: OnRecord = lambda _record: None,
) -> Preparation:
    """Everything that a page needs no store for; for an archive with what its parts keep of texts."""
    return Preparation(
        Decode(
            PageDecoder(
                settings.limits.config(),
                settings.page.fields.mapping(),
                frozenset(settings.pages.status),
                settings.page.preset,
            )
        ),
        Extract(settings.text.extraction, settings.limits.text()),
        Fingerprint(
            simhash_config(settings),
            sketch_config(settings),
            scope_by(settings.verdict.scope),
            site_of(settings),
            text_parts,
        ),
        meters,
        on_record,
    )


@asynccontextmanager
async def open_preparation(
    settings: Settings, meters: PipelineMeters, text_parts: TextParts = frozenset()
) -> AsyncIterator[GuardedPreparation]:
    """The same in a process that can be ended, for pages of strangers; ready once everything is compiled."""
    preparation = _guarded(settings, meters, text_parts)
    try:
        await _start(preparation)
        yield preparation
    finally:
        preparation.close()


@asynccontextmanager
async def open_parallel_preparation(
    settings: Settings, text_parts: TextParts, worker_count: int
) -> AsyncIterator[ParallelPreparation]:
    """The same in several processes, each of which prepares whole batches."""
    workers = [_guarded(settings, NoMeters(), text_parts) for _ in range(worker_count)]
    async with ParallelPreparation(workers) as preparation:
        await _start(workers[0])
        yield preparation


@asynccontextmanager
async def open_spread_preparation(
    settings: Settings, meters: PipelineMeters, text_parts: TextParts, worker_count: int
) -> AsyncIterator[SpreadPreparation]:
    """The same in several processes that share each batch; not ready yet, so that it loads beside others."""
    workers = [_guarded(settings, meters, text_parts) for _ in range(worker_count)]
    if not is_kernel_compiled():
        await asyncio.to_thread(load_kernel)  # compiled once, for all processes
    with SpreadPreparation(workers) as preparation:
        yield preparation


def _guarded(settings: Settings, meters: PipelineMeters, text_parts: TextParts) -> GuardedPreparation:
    build = partial(build_preparation, settings, text_parts=text_parts)
    build(meters)  # else what is wrong with the settings would end the other process
    return GuardedPreparation(build, settings.limits.worker(), meters)


async def _start(preparation: GuardedPreparation) -> None:
    await asyncio.to_thread(load_kernel)  # compiled once, for all processes
    await asyncio.to_thread(preparation.start)
