"""The table of stages: what a batch passes through, in order, and which stages share a task of the loop.

    read ─► decode, extract ─► fingerprint ─► register ─► probe ─► verify ─► decide ─► deliver, commit

`decode` and `extract` are one call of the worker process, and `commit` follows `deliver` in its task. Every
name is that of a file, of its class, of a label of metrics and of a failpoint.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from neardup_stream.clusters.protocol import KnownVersion
from neardup_stream.message import Position
from neardup_stream.meters import PipelineMeters
from neardup_stream.pipeline.ahead_task import AheadTask
from neardup_stream.pipeline.batch import InFlightBatch, Run
from neardup_stream.pipeline.classification import VerdictConfig
from neardup_stream.pipeline.commit import Commit
from neardup_stream.pipeline.consult import Consultation
from neardup_stream.pipeline.decide import Decide
from neardup_stream.pipeline.deliver import Deliver, Publication
from neardup_stream.pipeline.delivery_guarantees import Delivery
from neardup_stream.pipeline.event_building import RenderEvent
from neardup_stream.pipeline.event_config import EventConfig
from neardup_stream.pipeline.fingerprint_content import FingerprintContent
from neardup_stream.pipeline.frames import Frames
from neardup_stream.pipeline.in_flight import InFlight
from neardup_stream.pipeline.loop_config import LoopConfig
from neardup_stream.pipeline.page_locks import PageLocks
from neardup_stream.pipeline.preparation import Prepares
from neardup_stream.pipeline.probe import Probe
from neardup_stream.pipeline.read import Read
from neardup_stream.pipeline.reading_gate import ReadingGate
from neardup_stream.pipeline.register import Register
from neardup_stream.pipeline.retries import Retries
from neardup_stream.pipeline.short_path import ArrayStores, LongPath, Publishing, ShortPath
from neardup_stream.pipeline.short_verify import ShortVerify
from neardup_stream.pipeline.stage_task import OnStage, Reports, StageStep, StageTask, batches, no_stage, runs
from neardup_stream.pipeline.stores import PageStores
from neardup_stream.pipeline.verify import Verify
from neardup_stream.streams.protocol import Source
from neardup_stream.traces import NoTracer, Tracer

__all__ = ["PageWork", "Runtime", "Stages", "StoreWork", "build_long_path", "build_stages"]

_NO_TRACER = NoTracer()

_Task = AheadTask | StageTask[InFlightBatch] | StageTask[Run]


class PageWork(NamedTuple):
    """What decode, extract and fingerprint work with.

    Attributes:
        preparation: runs decode and extract, and fingerprints whole texts; called in threads.
        frames: takes the frames of their sites out of pages; None leaves them in.
        archives: finds the matches of pages in frozen archives; None where there are none.
    """

    preparation: Prepares
    frames: Frames | None = None
    archives: Consultation | None = None


class StoreWork(NamedTuple):
    """What the stages from register to commit work with.

    Attributes:
        stores: page records, index and clusters.
        verdict: when two pages are alike.
        events: what is published.
        now_seconds: the wall clock, epoch seconds.
        in_arrays: the stores once more, where one process has them for itself and new pages take the short
            path; None where every page takes all stages.
    """

    stores: PageStores
    verdict: VerdictConfig
    events: EventConfig
    now_seconds: Callable[[], float]
    in_arrays: ArrayStores | None = None


class Runtime(NamedTuple):
    """How stages run, whatever they do.

    Attributes:
        config: how the loop paces itself.
        retries: while a dependency is unavailable.
        meters: receives counts and times.
        tracer: receives the spans of each batch.
        gate: delays reading while it is paused; None never does.
        on_stage: see `OnStage`.
    """

    config: LoopConfig
    retries: Retries
    meters: PipelineMeters
    tracer: Tracer = _NO_TRACER
    gate: ReadingGate | None = None
    on_stage: OnStage = no_stage


@dataclass(frozen=True, slots=True)
class Stages:
    """All stages, in order.

    Attributes:
        in_flight: counts what is between read and delivery.
        read: makes batches.
        tasks: take them from decode to decide.
        last: deliver and commit.
        commit: what `last` ends with.
    """

    in_flight: InFlight
    read: Read
    tasks: tuple[_Task, ...]
    last: StageTask[InFlightBatch]
    commit: Commit


def build_stages(
    source: Source,
    publication: Publication,
    delivery: Delivery,
    pages: PageWork,
    work: StoreWork,
    runtime: Runtime,
) -> Stages:
    """Return the stages of one loop.

    Args:
        source: opened by its owner.
        publication: where messages are sent.
        delivery: at least once, or exactly once.
        pages: what the stages before register work with.
        work: what the stages from register on work with.
        runtime: how they run.
    """
    stores, (config, retries, meters, *_) = work.stores, runtime
    in_flight, reports = InFlight(config.limits, meters), Reports(meters, runtime.on_stage)
    read = Read(source, in_flight, runtime.gate or ReadingGate(), retries, reports, runtime.tracer)
    fingerprint = FingerprintContent(pages.frames, pages.archives)
    letters = publication.render_dead_letter
    deliver = Deliver(delivery, letters, read.is_current, stores, pages.frames, retries, meters)
    commit = Commit(delivery, stores, in_flight, config, retries, meters)
    steps = (StageStep(("deliver",), deliver.run), StageStep(("commit",), commit.run, commit.is_due))
    prepare = StageStep(("decode", "extract"), _prepare(pages.preparation, meters))
    tasks: tuple[_Task, ...] = (
        AheadTask(StageTask((prepare,), batches, reports), pages.preparation.batches_at_once),
        StageTask((StageStep(("fingerprint",), fingerprint.run),), batches, reports),
        *_compare_and_decide(work, publication, runtime),
    )
    return Stages(in_flight, read, tasks, StageTask(steps, batches, reports), commit)


def build_long_path(
    work: StoreWork, render: RenderEvent, retries: Retries, meters: PipelineMeters
) -> LongPath:
    """Return the stages from register to decide, for any stores.

    Args:
        work: what they work with.
        render: makes the message of an event.
        retries: while the store is unavailable.
        meters: receives the times and counts.
    """
    stores, locks = work.stores, PageLocks()
    register = Register(stores, locks, retries, meters, work.now_seconds)
    probe = Probe(stores.index, retries, meters)
    verify = Verify(stores, work.verdict, locks, retries, meters)

    async def look_again(run: Run, known: Mapping[Position, KnownVersion]) -> None:
        await register.register(run, known)
        await probe.probe(run)
        await verify.verify(run)

    decide = Decide(stores, work.events, render, look_again, retries, meters)
    return LongPath(register, probe, verify, decide)


def _compare_and_decide(work: StoreWork, publication: Publication, runtime: Runtime) -> tuple[_Task, ...]:
    """Return the tasks of the stages from register to decide."""
    reports = Reports(runtime.meters, runtime.on_stage)
    path = build_long_path(work, publication.render_event, runtime.retries, runtime.meters)
    if work.in_arrays is not None:
        short = _short_path(work, work.in_arrays, publication, path, runtime.meters)
        step = StageStep(("register", "probe", "verify", "decide"), short.run)
        return (StageTask((step,), batches, reports),)
    return (
        StageTask((StageStep(("register",), path.register.run),), runs, reports),
        StageTask((StageStep(("probe",), path.probe.run),), runs, reports),
        StageTask((StageStep(("verify",), path.verify.run),), runs, reports),
        StageTask((StageStep(("decide",), path.decide.run),), batches, reports),
    )


def _short_path(
    work: StoreWork, stores: ArrayStores, publication: Publication, others: LongPath, meters: PipelineMeters
) -> ShortPath:
    """Return the stages from register to decide for pages that come for the first time."""
    verify = ShortVerify(
        stores.index, stores.records, work.verdict, meters, wants_containers=work.events.contained
    )
    return ShortPath(
        stores,
        verify,
        others,
        Publishing(work.events, publication.render_event),
        work.stores.handle_key,
        work.now_seconds,
        meters,
    )


def _prepare(preparation: Prepares, meters: PipelineMeters) -> Callable[[InFlightBatch], Awaitable[None]]:
    """Return what decodes and extracts a batch, and drops its raw records."""

    async def prepare(batch: InFlightBatch) -> None:
        batch.prepared = await asyncio.to_thread(preparation.prepare, batch.records)
        batch.records = ()
        meters.charset_fallbacks(batch.prepared.charset_fallbacks)

    return prepare
