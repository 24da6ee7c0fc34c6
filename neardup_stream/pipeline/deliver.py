"""The deliver stage: publish the events and dead letters of a batch.

First the page records learn the ranks of their versions, and the entries of former versions are removed from
the index. Last the lines of pages that nearly equal no other are counted for the frames of their sites.
"""

from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import NamedTuple

from neardup_stream.errors import BadPage
from neardup_stream.message import Message, Partition, Record
from neardup_stream.meters import PipelineMeters
from neardup_stream.pipeline.batch import InFlightBatch
from neardup_stream.pipeline.conclusion import Conclusion, conclude, without_partitions
from neardup_stream.pipeline.delivered_counts import delivered
from neardup_stream.pipeline.delivery_guarantees import BatchOutput, Delivery, OutgoingDeadLetter
from neardup_stream.pipeline.event_building import RenderEvent
from neardup_stream.pipeline.frames import Frames
from neardup_stream.pipeline.retries import Retries
from neardup_stream.pipeline.stores import PageStores
from neardup_stream.pipeline.timing import timed
from neardup_stream.streams.protocol import Sink
from neardup_stream.streams.transactions import Transactions
from neardup_stream.wire.dead_letters import is_truncated

__all__ = ["Deliver", "Publication"]


class Publication(NamedTuple):
    """Where messages are sent, and how they look there.

    Attributes:
        events: where events are sent.
        dead_letters: where dead letters are sent.
        render_event: makes the message of an event.
        render_dead_letter: makes the message of a record that can never become a page; called for each
            attempt to send it.
        transactions: opened by their owner, for exactly-once delivery; they send in the place of both sinks.
            None for at-least-once delivery.
    """

    events: Sink
    dead_letters: Sink
    render_event: RenderEvent
    render_dead_letter: Callable[[Record, BadPage], Message]
    transactions: Transactions | None = None


class Deliver:
    """Delivers batches, in order.

    Args:
        delivery: at least once, or exactly once.
        render_dead_letter: see `Publication`.
        is_current: whether the partitions of a batch have not been revoked since it was read.
        stores: page records and index.
        frames: learns the frames of sites; None where they are not taken out.
        retries: while the store is unavailable.
        meters: receives the times, and the outcomes of records once their messages are acknowledged.
    """

    def __init__(
        self,
        delivery: Delivery,
        render_dead_letter: Callable[[Record, BadPage], Message],
        is_current: Callable[[InFlightBatch], bool],
        stores: PageStores,
        frames: Frames | None,
        retries: Retries,
        meters: PipelineMeters,
    ) -> None:
        self._delivery = delivery
        self._render_dead_letter = render_dead_letter
        self._is_current = is_current
        self._stores = stores
        self._frames = frames
        self._retries = retries
        self._meters = meters

    async def run(self, batch: InFlightBatch) -> None:
        """Send what need not wait for the commit, and include the rest in the next commit.

        Raises:
            DependencyLost: a dependency stayed unavailable.
        """
        conclusion = batch.conclusion or conclude(batch.prepared, [run.decisions for run in batch.runs])
        with timed(self._meters, "follow_up"):
            await self._retries.retry(partial(conclusion.follow_up.apply, self._stores))
        output = self._output(batch, conclusion)
        with timed(self._meters, "deliver"):
            refused = await self._delivery.send(output)
        if self._is_current(batch):
            self._delivery.finish(output, refused)
        if self._frames is not None:
            await self._frames.learn(batch.prepared, conclusion.follow_up.lessons)

    def _output(self, batch: InFlightBatch, conclusion: Conclusion) -> BatchOutput:
        letters = [
            OutgoingDeadLetter(rejected.record.position, partial(self._render_dead_letter, *rejected))
            for rejected in batch.prepared.rejected
        ]
        return BatchOutput(
            record_count=batch.record_count,
            next_offsets=batch.next_offsets,
            events=conclusion.events,
            dead_letters=letters,
            acknowledged=partial(self._count, batch, conclusion, letters),
        )

    def _count(
        self,
        batch: InFlightBatch,
        conclusion: Conclusion,
        letters: Sequence[OutgoingDeadLetter],
        lost: Collection[Partition],
    ) -> None:
        """Report the outcomes of records, without those whose events the next owner sends."""
        rendered = [letter.rendered for letter in letters if letter.rendered is not None]
        self._meters.truncated_dead_letters(sum(map(is_truncated, rendered)))
        prepared = batch.prepared
        if lost:
            decisions = [run.decisions for run in batch.runs]
            prepared, decisions = without_partitions(prepared, decisions, lost)
            conclusion = conclude(prepared, decisions)
            records = prepared.records
            self._meters.pages(len(records), sum(each.size_bytes for each in records))
        else:
            self._meters.pages(batch.record_count, batch.size_bytes)
        for (outcome, reason), count in conclusion.outcomes.items():
            self._meters.outcome(outcome, count, reason)
        if conclusion.long_enough is not None:  # else a run over files, which counts nothing by site
            self._meters.delivered(delivered(prepared, conclusion.events, conclusion.long_enough))
