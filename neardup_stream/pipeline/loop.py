"""The loop: batches pass through the stages of `stages`, several at once, each stage one after the other.

Each task has room for one item before it, so while one batch waits for the store the next is fingerprinted.
What is in flight is bounded in pages and bytes. An offset is committed only after every message of every
record below it was acknowledged; a step that finds its dependency unavailable is retried.
"""

import asyncio
import logging
from itertools import pairwise

from neardup_stream.errors import Unavailable
from neardup_stream.pipeline.deliver import Publication
from neardup_stream.pipeline.delivery_guarantees import AtLeastOnce, Delivery
from neardup_stream.pipeline.exactly_once import ExactlyOnce
from neardup_stream.pipeline.former_epochs import FormerEpochs
from neardup_stream.pipeline.handoff import Handoff
from neardup_stream.pipeline.stage_task import Item
from neardup_stream.pipeline.stages import PageWork, Runtime, StoreWork, build_stages
from neardup_stream.streams.protocol import Source

__all__ = ["Loop"]

_logger = logging.getLogger(__name__)


class Loop:
    """Runs a source through the stages until it ends or `stop` is called.

    Args:
        source: opened by its owner.
        publication: where messages are sent; opened by its owner.
        pages: what the stages before register work with.
        work: what the stages from register on work with.
        runtime: how stages run.
    """

    def __init__(
        self, *, source: Source, publication: Publication, pages: PageWork, work: StoreWork, runtime: Runtime
    ) -> None:
        self._source = source
        self._runtime = runtime
        self._delivery: Delivery
        if publication.transactions is None:
            sinks = publication.events, publication.dead_letters
            self._delivery = AtLeastOnce(source, *sinks, runtime.retries)
        else:
            self._delivery = exactly_once = ExactlyOnce(publication.transactions)
            source.on_assign(exactly_once.take_over)
        source.on_begin(FormerEpochs(work.stores, publication.events).deliver)
        self._stages = build_stages(source, publication, self._delivery, pages, work, runtime)

    async def run(self, stop: asyncio.Event) -> None:
        """Read until the source ends or `stop` is set, then finish and commit everything read.

        Raises:
            ExceptionGroup: holding what ended a stage (DependencyLost, ConfigError, CorruptData, our bugs).
                What was not committed is read again next time.
        """
        self._source.on_revoke(self._drain)
        self._source.on_gap(self._finish_in_flight)
        self._stages.commit.start()
        async with asyncio.TaskGroup() as group:
            self._start(group, stop)
        if not stop.is_set():
            await self._stages.commit.tidy()

    async def end(self) -> None:
        """Trim the decision records that `run` keeps, of partitions that are read again.

        Call it once all of the source was read and every output is complete: then no run needs them.

        Raises:
            DependencyLost: the store stayed unavailable.
        """
        await self._stages.commit.end()

    def _start(self, group: asyncio.TaskGroup, stop: asyncio.Event) -> None:
        """Start a task for each row of the table, and the housekeeping beside them."""
        stages, meters = self._stages, self._runtime.meters
        into: Handoff[Item] = Handoff(("read",), stages.tasks[0].stages, meters)
        group.create_task(self._read(stop, into))
        for task, following in pairwise((*stages.tasks, stages.last)):
            out: Handoff[Item] = Handoff(task.stages, following.stages, meters)
            group.create_task(task.run(into, out))
            into = out
        tidying = group.create_task(stages.commit.tidy_after_commits())
        group.create_task(self._finish(into)).add_done_callback(lambda _: tidying.cancel())

    async def _read(self, stop: asyncio.Event, out: Handoff[Item]) -> None:
        while (batch := await self._stages.read.next_batch(stop)) is not None:
            await out.put(batch)
        await out.put(None)

    async def _finish(self, into: Handoff[Item]) -> None:
        """Run the last task; a batch is in flight until then."""
        while (item := await into.get()) is not None:
            for batch in self._stages.last.units(item):
                await self._stages.last.take(batch)
                batch.trace.end()
                batch.drop_runs()
                await self._stages.in_flight.remove(batch.record_count, batch.size_bytes)
        await self._stages.commit.commit_all()

    async def _finish_in_flight(self) -> None:
        """Deliver and commit what is in flight; the read that awaits this adds nothing meanwhile."""
        await self._stages.in_flight.wait_until_empty()
        await self._stages.commit.commit()

    async def _drain(self) -> None:
        """Finish what is in flight before partitions are revoked; at the deadline, leave it uncommitted.

        The next owner of the partitions reads again what was not committed.
        """
        self._stages.read.pause()
        try:
            async with asyncio.timeout(self._runtime.config.drain_seconds):
                await self._finish_in_flight()
        except (TimeoutError, Unavailable) as error:
            _logger.warning("drain_timed_out", extra={"fields": {"error": repr(error)}})
        finally:
            self._stages.read.end_membership()
            await self._delivery.on_revoked()
            self._stages.read.resume()
