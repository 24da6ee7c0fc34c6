"""The loop: batches flow through eight stages at once, each batch in order.

    read ──► prepare ──► view ──► register ──► probe ──► verify ──► decide ──► deliver and commit

Each stage is a task with room for one batch before it, so while one batch waits for the store the next is
fingerprinted. What is under way is bounded in pages and bytes. An offset is committed only after every
message of every record below it was acknowledged; a step that finds its dependency away is repeated.
"""

import asyncio
import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from neardup_stream.errors import BadPage, ConfigError, Unavailable
from neardup_stream.message import Message, Partition, Record
from neardup_stream.meters import PipelineMeters
from neardup_stream.pipeline.arrival import Prepared
from neardup_stream.pipeline.batches import Batch, ComparedBatch, DecidedBatch, Part
from neardup_stream.pipeline.conclusion import Conclusion, conclude, without_partitions
from neardup_stream.pipeline.consulting import Consultation
from neardup_stream.pipeline.decision import RenderEvent
from neardup_stream.pipeline.delivered import delivered
from neardup_stream.pipeline.delivery import AtLeastOnce, BatchOutput, Delivery, ExactlyOnce, OutgoingMessage
from neardup_stream.pipeline.frames import Frames
from neardup_stream.pipeline.handoff import Handoff
from neardup_stream.pipeline.in_flight import InFlight, InFlightLimits
from neardup_stream.pipeline.judgement import ComparedRun, Judgement, ProbedRun, Run, cut_at_repeats
from neardup_stream.pipeline.offsets import later_offsets, next_offsets
from neardup_stream.pipeline.preparation import Prepares, timed
from neardup_stream.pipeline.reading_gate import ReadingGate
from neardup_stream.pipeline.retries import Retries
from neardup_stream.streams.protocol import EndOfStream, Sink, Source
from neardup_stream.streams.transactions import Transactions
from neardup_stream.traces import NoTracer, Tracer
from neardup_stream.wire.dead_letters import is_truncated

__all__ = ["Loop", "LoopConfig", "Publication"]

_logger = logging.getLogger(__name__)

_NO_TRACER = NoTracer()


def _is_read_on(_partition: Partition) -> bool:
    """A stream goes on where it was committed."""
    return False


@dataclass(frozen=True, slots=True)
class LoopConfig:
    """How the loop paces itself.

    Attributes:
        limits: what may be under way.
        commit_interval_seconds: longest time a finished batch waits for its commit.
        drain_seconds: how long what is under way may take to finish when partitions are given away.
        is_read_again: whether a partition is read from its start again by the next run, if this one is cut
            off, over a store that outlives it. Its rows are kept until the source has ended: so the next run
            publishes the same again.
    """

    limits: InFlightLimits = InFlightLimits()  # noqa: RUF009 - frozen, so one default serves all
    commit_interval_seconds: float = 1.0
    drain_seconds: float = 20.0
    is_read_again: Callable[[Partition], bool] = _is_read_on

    def __post_init__(self) -> None:
        """Refuse negative times.

        Raises:
            ConfigError: a time is negative.
        """
        if self.commit_interval_seconds < 0 or self.drain_seconds < 0:
            raise ConfigError("pipeline.commit_interval_seconds and drain_seconds must not be negative")


class Publication(NamedTuple):
    """Where messages go and what they look like there."""

    events: Sink
    dead_letters: Sink
    render_event: RenderEvent
    render_dead_letter: Callable[[Record, BadPage], Message]


class Loop:
    """Runs a source through the pipeline until it ends or is told to stop.

    Args:
        source: opened by its owner.
        preparation: the CPU work of a batch; run in a thread.
        judgement: the stores' work.
        publication: opened by its owner.
        retries: patience with dependencies.
        config: pace.
        meters: told what became of every record, once its messages are acknowledged.
        transactions: opened by their owner, for exactly-once delivery; they then send in the place of the
            publication's sinks. None for at-least-once delivery.
        frames: takes the frames of their sites out of pages; None leaves them in.
        archives: asks frozen archives about pages; None where there are none.
        tracer: receives the spans of each batch.
        gate: delays reading while it is paused; None never does.
    """

    def __init__(
        self,
        *,
        source: Source,
        preparation: Prepares,
        judgement: Judgement,
        publication: Publication,
        retries: Retries,
        config: LoopConfig,
        meters: PipelineMeters,
        transactions: Transactions | None = None,
        frames: Frames | None = None,
        archives: Consultation | None = None,
        tracer: Tracer = _NO_TRACER,
        gate: ReadingGate | None = None,
    ) -> None:
        self._source = source
        self._preparation = preparation
        self._judgement = judgement
        self._publication = publication
        self._delivery: Delivery
        if transactions is None:
            self._delivery = AtLeastOnce(source, publication.events, publication.dead_letters, retries)
        else:
            self._delivery = exactly_once = ExactlyOnce(transactions)
            source.on_assign(exactly_once.take_over)
        self._frames = frames
        self._archives = archives
        self._tracer = tracer
        self._retries = retries
        self._config = config
        self._meters = meters
        self._in_flight = InFlight(config.limits, meters)
        self._gate = gate or ReadingGate()
        self._may_read = asyncio.Event()
        self._may_read.set()
        self._epoch = 0
        self._untrimmed: dict[Partition, int] = {}
        self._last_commit = 0.0
        self._committing = asyncio.Lock()
        self._has_committed = asyncio.Event()

    async def run(self, stop: asyncio.Event) -> None:
        """Read until the source ends or `stop` is set, then finish and commit everything read.

        Raises:
            ExceptionGroup: holding what ended a stage (DependencyLost, ConfigError, CorruptData, our bugs).
                What was not committed is read again next time.
        """
        self._source.on_revoke(self._drain)
        self._source.on_gap(self._finish)
        self._last_commit = _now_seconds()
        meters = self._meters
        read: Handoff[Batch] = Handoff("read", "prepare", meters)
        prepared: Handoff[tuple[Batch, Prepared]] = Handoff("prepare", "view", meters)
        viewed: Handoff[tuple[Batch, Prepared]] = Handoff("view", "register", meters)
        registered: Handoff[Part[Run]] = Handoff("register", "probe", meters)
        probed: Handoff[Part[ProbedRun]] = Handoff("probe", "verify", meters)
        compared: Handoff[ComparedBatch] = Handoff("verify", "decide", meters)
        decided: Handoff[DecidedBatch] = Handoff("decide", "deliver", meters)
        async with asyncio.TaskGroup() as stages:
            stages.create_task(self._read(stop, read))
            stages.create_task(self._prepare(read, prepared))
            stages.create_task(self._view(prepared, viewed))
            stages.create_task(self._register(viewed, registered))
            stages.create_task(self._probe(registered, probed))
            stages.create_task(self._compare(probed, compared))
            stages.create_task(self._decide(compared, decided))
            tidying = stages.create_task(self._tidy())
            stages.create_task(self._publish(decided)).add_done_callback(lambda _: tidying.cancel())
        if not stop.is_set():
            await self._retries.retry(lambda: self._trim(self._untrimmed))
            await self._judgement.tidy()

    async def _read(self, stop: asyncio.Event, out: Handoff[Batch]) -> None:
        while not stop.is_set():
            self._meters.activity("read", "waiting_for_output")
            await self._gate.wait(stop)
            await self._may_read.wait()
            pages, size_bytes = await self._in_flight.wait_for_room()
            self._meters.activity("read", "waiting_for_input")
            try:
                records = await self._retries.retry(partial(self._read_unless, stop, pages, size_bytes))
            except EndOfStream:
                break
            if records:
                size_bytes = sum(record.size_bytes for record in records)
                offsets, trace = next_offsets(records), self._tracer.begin(records)
                batch = Batch(records, len(records), size_bytes, offsets, self._epoch, trace)
                self._in_flight.add(len(records), batch.size_bytes)
                self._meters.read(records)
                del records  # the batch drops them as soon as they are prepared
                await out.put(batch)
        await out.put(None)

    async def _read_unless(self, stop: asyncio.Event, pages: int, size_bytes: int) -> Sequence[Record]:
        """The next records; none once asked to stop, even while the source is unavailable."""
        return () if stop.is_set() else await self._source.read(pages, size_bytes)

    async def _prepare(self, into: Handoff[Batch], out: Handoff[tuple[Batch, Prepared]]) -> None:
        while (batch := await into.get()) is not None:
            with batch.trace.stage("prepare"):
                prepared = await asyncio.to_thread(self._preparation.prepare, batch.records)
                self._meters.charset_fallbacks(prepared.charset_fallbacks)
            batch = batch._replace(records=())
            await out.put((batch, prepared))
        await out.put(None)

    async def _view(
        self, into: Handoff[tuple[Batch, Prepared]], out: Handoff[tuple[Batch, Prepared]]
    ) -> None:
        """A stage of its own: the process that prepares pages works on meanwhile."""
        while (item := await into.get()) is not None:
            batch, prepared = item
            with batch.trace.stage("view"):
                if self._frames is not None:
                    prepared = await self._frames.view(prepared)
                if self._archives is not None:
                    prepared = await asyncio.to_thread(self._archives.consult, prepared)
            await out.put((batch, prepared))
        await out.put(None)

    async def _register(self, into: Handoff[tuple[Batch, Prepared]], out: Handoff[Part[Run]]) -> None:
        while (item := await into.get()) is not None:
            batch, prepared = item
            for items in cut_at_repeats(prepared.items):
                with batch.trace.stage("register"):
                    run = await self._judgement.register(items)
                await out.put(Part(batch, prepared, run))
            await out.put(Part(batch, prepared, None))
        await out.put(None)

    async def _probe(self, into: Handoff[Part[Run]], out: Handoff[Part[ProbedRun]]) -> None:
        while (item := await into.get()) is not None:
            run = None
            if item.run is not None:
                with item.batch.trace.stage("probe"):
                    run = await self._judgement.probe(item.run)
            await out.put(Part(item.batch, item.prepared, run))
        await out.put(None)

    async def _compare(self, into: Handoff[Part[ProbedRun]], out: Handoff[ComparedBatch]) -> None:
        runs: list[ComparedRun] = []
        while (item := await into.get()) is not None:
            if item.run is not None:
                with item.batch.trace.stage("verify"):
                    runs.append(await self._judgement.compare(item.run))
            else:
                await out.put(ComparedBatch(item.batch, item.prepared, runs))
                runs = []
        await out.put(None)

    async def _decide(
        self,
        into: Handoff[ComparedBatch],
        out: Handoff[DecidedBatch],
    ) -> None:
        render = self._publication.render_event
        while (item := await into.get()) is not None:
            with item.batch.trace.stage("decide"):
                runs = await self._judgement.decide(item.runs, render)
            await out.put(DecidedBatch(item.batch, item.prepared, runs))
        await out.put(None)

    def _batch_output(self, item: DecidedBatch, conclusion: Conclusion) -> BatchOutput:
        batch, prepared, _ = item
        render = self._publication.render_dead_letter
        letters = [
            OutgoingMessage(rejected.record.position, render(rejected.record, rejected.error))
            for rejected in prepared.rejected
        ]
        self._meters.truncated_dead_letters(sum(is_truncated(letter.message) for letter in letters))
        return BatchOutput(
            record_count=batch.record_count,
            next_offsets=batch.next_offsets,
            events=conclusion.events,
            dead_letters=letters,
            acknowledged=partial(self._count, item, conclusion),
        )

    async def _publish(self, into: Handoff[DecidedBatch]) -> None:
        while (item := await into.get()) is not None:
            batch = item.batch
            with batch.trace.stage("deliver"):
                await self._deliver(item)
            batch.trace.end()
            await self._in_flight.remove(batch.record_count, batch.size_bytes)
        await self._retries.retry(self._commit)

    async def _deliver(self, item: DecidedBatch) -> None:
        batch, prepared, runs = item
        conclusion = conclude(prepared, runs)
        await self._judgement.follow_up(conclusion.follow_up)
        batch_output = self._batch_output(item, conclusion)
        with timed(self._meters, "deliver"):
            await self._delivery.send(batch_output)
        if batch.epoch == self._epoch:
            self._delivery.finish(batch_output)
        if self._frames is not None:
            await self._frames.learn(prepared, conclusion.follow_up.lessons)
        if self._is_commit_due(batch):
            await self._retries.retry(self._commit)

    def _is_commit_due(self, batch: Batch) -> bool:
        """Whether nothing else is under way, or the commit has waited for long enough, or for enough."""
        return (
            self._in_flight.pages == batch.record_count
            or _now_seconds() - self._last_commit >= self._config.commit_interval_seconds
            or self._delivery.held_count >= self._config.limits.max_in_flight_pages
        )

    def _count(self, item: DecidedBatch, conclusion: Conclusion, lost: Collection[Partition]) -> None:
        """Report what became of the records, without those whose events the next owner sends."""
        prepared = item.prepared
        if lost:
            prepared, runs = without_partitions(prepared, item.runs, lost)
            conclusion = conclude(prepared, runs)
        records = prepared.records
        self._meters.pages(len(records), sum(each.size_bytes for each in records))
        for (outcome, reason), count in conclusion.outcomes.items():
            self._meters.outcome(outcome, count, reason)
        self._meters.delivered(delivered(prepared, conclusion))

    async def _commit(self) -> None:
        """Commit what is finished, if anything is."""
        async with self._committing:
            with timed(self._meters, "commit"):
                committed = await self._delivery.commit()
            self._meters.committed(committed)
            self._untrimmed = later_offsets(self._untrimmed, committed)
            await self._trim(
                {one: end for one, end in self._untrimmed.items() if not self._config.is_read_again(one)}
            )
            self._last_commit = _now_seconds()
            self._has_committed.set()

    async def _tidy(self) -> None:
        """Keep house after commits, beside the stages: no commit waits for it."""
        while True:
            await self._has_committed.wait()
            self._has_committed.clear()
            await self._judgement.tidy()

    async def _trim(self, committed: Mapping[Partition, int]) -> None:
        """Forget the rows of what is committed."""
        if committed:
            with timed(self._meters, "trim"):
                await self._judgement.trim(committed)
            self._untrimmed = {one: end for one, end in self._untrimmed.items() if one not in committed}

    async def _finish(self) -> None:
        """Deliver and commit what is in flight; the read that awaits this adds nothing meanwhile."""
        await self._in_flight.wait_until_empty()
        await self._commit()

    async def _drain(self) -> None:
        """Finish what is under way before partitions are given away; at the deadline, leave it uncommitted.

        Whoever owns the partitions next reads again what was not committed.
        """
        self._may_read.clear()
        try:
            async with asyncio.timeout(self._config.drain_seconds):
                await self._finish()
        except (TimeoutError, Unavailable) as error:
            _logger.warning("drain_unfinished", extra={"fields": {"error": repr(error)}})
        finally:
            self._epoch += 1
            await self._delivery.on_revoked()
            self._may_read.set()


def _now_seconds() -> float:
    """By the clock of the running loop, which only grows."""
    return asyncio.get_running_loop().time()
