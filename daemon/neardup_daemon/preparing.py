"""Build, from the settings, what reads, fingerprints, indexes and compares pages and needs no store."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import ExitStack, asynccontextmanager, contextmanager, suppress
from dataclasses import replace
from functools import partial
from time import monotonic
from typing import Final

from neardup_daemon.settings.settings import Settings
from neardup_stream.archive.texts import TEXTS
from neardup_stream.clusters.rules import Rule, anchored, components, is_firm, linked
from neardup_stream.fingerprints.simhash import SimhashConfig, is_kernel_compiled, load_kernel
from neardup_stream.fingerprints.sketch import SketchConfig
from neardup_stream.indexes.layout import IndexLayout
from neardup_stream.match import Match
from neardup_stream.meters import NoMeters, PipelineMeters
from neardup_stream.pipeline.classification import VerdictConfig
from neardup_stream.pipeline.decode import Decode
from neardup_stream.pipeline.extract import Extract
from neardup_stream.pipeline.fingerprint import Fingerprint
from neardup_stream.pipeline.forked_parent import ForkedParent
from neardup_stream.pipeline.frame_views import FrameViewer
from neardup_stream.pipeline.frames import WINDOW_PAGES, Frames
from neardup_stream.pipeline.guarded_preparation import GuardedPreparation, fork_preparation
from neardup_stream.pipeline.kept_text import TextParts
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
    "forked_parent",
    "forked_parents",
    "index_layout",
    "open_preparation",
    "open_spread_preparation",
    "page_decoder",
    "simhash_config",
    "site_of",
    "sketch_config",
    "text_preparation",
    "verdict_config",
]


_MOST_FORKED: Final = 16
"""Each fork takes some 5 ms of start-up; further workers are started when the input is long enough."""


def simhash_config(settings: Settings) -> SimhashConfig:
    """Return how pages are fingerprinted."""
    return SimhashConfig(window_tokens=settings.text.window_tokens, min_tokens=settings.verdict.min_tokens)


def sketch_config(settings: Settings) -> SketchConfig | None:
    """Return how pages are sketched; None where they are compared by simhash alone."""
    if settings.verdict.scheme == "simhash":
        return None
    return SketchConfig(
        shingle_tokens=settings.sketch.shingle_tokens,
        bins=settings.sketch.bins,
        code_bits=settings.sketch.code_bits,
        bands=settings.index.bands,
    )


def index_layout(settings: Settings) -> IndexLayout:
    """Return how the tables are laid out; without sketches there are no bands."""
    config = settings.index.config()
    return IndexLayout(config if sketch_config(settings) else replace(config, bands=0))


def verdict_config(settings: Settings) -> VerdictConfig:
    """Return when two pages are alike."""
    return VerdictConfig(
        sketch=sketch_config(settings),
        distance_bits=settings.index.distance_bits,
        near_resemblance=settings.verdict.near_resemblance,
        near_containment=settings.verdict.near_containment,
        contained_containment=settings.verdict.contained_containment,
        content_containment=settings.verdict.content_containment,
    )


def site_of(settings: Settings) -> ScopeOf | None:
    """Return the function that returns the site of a page; None where frames are left in."""
    scope = settings.frames.scope
    return None if scope == "off" or sketch_config(settings) is None else scope_by(scope)


def build_viewer(settings: Settings, preparation: ReadsLandmarks, *, most_lessons: float = 0) -> FrameViewer:
    """Return what removes frames from pages, given the tables of their sites."""
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
    """Return what removes frames from pages, see `FrameViewer`; None where they are left in."""
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
    """Return which clusters a page joins; None where no clusters are kept."""
    rules = {
        "linked": linked(settings.clusters.link_containment),
        "components": components,
        "anchored": anchored,
    }
    return rules.get(settings.clusters.rule)


def connecting(settings: Settings) -> Callable[[Match], bool] | None:
    """Return which matches connect their pages, in any order; None where no match must."""
    least = settings.clusters.link_containment
    rules: dict[str, Callable[[Match], bool]] = {
        "linked": lambda match: is_firm(match, least),
        "components": lambda _match: True,
    }
    return rules.get(settings.clusters.rule)


def page_decoder(settings: Settings) -> PageDecoder:
    """Return what decodes bytes to pages."""
    return PageDecoder(
        settings.limits.config(),
        settings.page.fields.mapping(),
        frozenset(settings.pages.status),
        settings.page.preset,
    )


def build_preparation(
    settings: Settings,
    meters: PipelineMeters,
    text_parts: TextParts = frozenset(),
    *,
    on_record: OnRecord = lambda _record: None,
    in_columns: bool = False,
) -> Preparation:
    """Everything that a page needs no store for; for an archive with what its parts keep of texts."""
    return Preparation(
        Decode(page_decoder(settings)),
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
        in_columns=in_columns,
    )


@asynccontextmanager
async def open_preparation(
    settings: Settings,
    meters: PipelineMeters,
    text_parts: TextParts = frozenset(),
    forked: ForkedParent | None = None,
) -> AsyncIterator[GuardedPreparation]:
    """Open the same in a process that can be ended, for untrusted pages; ready once all is compiled."""
    preparation = _guarded(settings, meters, text_parts, forked)
    try:
        await _start(preparation)
        yield preparation
    finally:
        preparation.close()


@asynccontextmanager
async def open_spread_preparation(
    settings: Settings,
    meters: PipelineMeters,
    text_parts: TextParts,
    worker_count: int,
    forked: Sequence[ForkedParent] = (),
    *,
    in_columns: bool,
) -> AsyncIterator[SpreadPreparation]:
    """Open the same in several processes that share each batch; they load while the caller continues."""
    workers = [
        _guarded(settings, meters, text_parts, parent, in_columns=in_columns)
        for parent in _parents(forked, worker_count)
    ]
    if not is_kernel_compiled():
        await asyncio.to_thread(load_kernel)  # compiled once, for all processes
    with SpreadPreparation(workers) as preparation:
        yield preparation


@contextmanager
def text_preparation(settings: Settings) -> Iterator[GuardedPreparation]:
    """Open the same in one process for pages whose texts are wanted; it starts at the first request."""
    preparation = _guarded(settings, NoMeters(), frozenset({TEXTS}))
    try:
        yield preparation
    finally:
        preparation.close()


@contextmanager
def forked_parent(settings: Settings, text_parts: TextParts = frozenset()) -> Iterator[ForkedParent | None]:
    """Fork the process of `open_preparation`; call it while this process has one thread.

    None where the kernel of pages is not compiled yet: the caller compiles it while it serves its port.
    """
    if not is_kernel_compiled():
        yield None
        return
    with forked_parents(settings, 1, text_parts, in_columns=False) as parents:
        yield next(iter(parents), None)


@contextmanager
def forked_parents(
    settings: Settings, count: int, text_parts: TextParts = frozenset(), *, in_columns: bool
) -> Iterator[Sequence[ForkedParent]]:
    """Fork the processes of `open_spread_preparation`.

    Call it while this process has one thread. The kernel of pages is loaded before, so that no other process
    loads it. The first one begins to load the rest at once, while this process loads what it needs itself.
    """
    build = partial(build_preparation, settings, text_parts=text_parts, in_columns=in_columns)
    build(NoMeters())
    load_kernel()
    with ExitStack() as stack:
        parents: list[ForkedParent] = []
        with suppress(OSError):  # each that is missing is started as a program of its own
            for _ in range(min(count, _MOST_FORKED)):
                parents.append(fork_preparation(build, settings.limits.worker()))
                stack.callback(parents[-1].close)
                parents[0].load()
        yield parents


def _parents(forked: Sequence[ForkedParent], worker_count: int) -> Sequence[ForkedParent | None]:
    """Return what each worker is forked from; None for one that is started as a program of its own."""
    return (*forked, *[None] * worker_count)[:worker_count]


def _guarded(
    settings: Settings,
    meters: PipelineMeters,
    text_parts: TextParts,
    forked: ForkedParent | None = None,
    *,
    in_columns: bool = False,
) -> GuardedPreparation:
    build = partial(build_preparation, settings, text_parts=text_parts, in_columns=in_columns)
    build(meters)  # else what is wrong with the settings would end the other process
    return GuardedPreparation(build, settings.limits.worker(), meters, forked)


async def _start(preparation: GuardedPreparation) -> None:
    await asyncio.to_thread(load_kernel)  # compiled once, for all processes
    await asyncio.to_thread(preparation.start)
