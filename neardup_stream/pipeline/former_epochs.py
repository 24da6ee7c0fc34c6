"""Delivers what former epochs of a topic have decided and perhaps not sent, before the new epoch is read.

Those events may name merges that subscribers need, and no daemon reads their records again. They are sent at
least once, with their ids and bytes, also where delivery is exactly once: a former epoch has no committed
offset any more that says which of them were sent.
"""

import logging
from collections.abc import Mapping, Sequence

from neardup_stream.clusters.placements import Decided
from neardup_stream.message import Partition, Position
from neardup_stream.pipeline.arrival import Prepared
from neardup_stream.pipeline.batch import Decisions
from neardup_stream.pipeline.conclusion import conclude
from neardup_stream.pipeline.stores import PageStores
from neardup_stream.streams.protocol import Sink

__all__ = ["FormerEpochs"]

_logger = logging.getLogger(__name__)


class FormerEpochs:
    """Ends former epochs, and delivers their decision records.

    Args:
        stores: page records, and decision records.
        events: where events are sent.
    """

    def __init__(self, stores: PageStores, events: Sink) -> None:
        self._stores = stores
        self._events = events

    async def deliver(self, partitions: Sequence[Partition]) -> None:
        """Deliver and trim what is left of lower epochs of the topics of these partitions. Safe to repeat.

        Raises:
            Unavailable: not everything was sent and trimmed; call again.
            CorruptData: a decision record is not what this program writes.
        """
        clusters = self._stores.clusters
        for partition, end in (await clusters.end_former_epochs(partitions)).items():
            await self._deliver(partition, await clusters.stored_records(partition))
            await clusters.trim({partition: end})

    async def _deliver(self, partition: Partition, records: Mapping[Position, Decided]) -> None:
        """Do what the deliver stage does with decided records."""
        conclusion = conclude(Prepared([], [], [], 0), [Decisions(positions=list(records), decided=records)])
        await conclusion.follow_up.apply(self._stores)
        await self._events.send([each.message for each in conclusion.events])
        fields = {
            "input": partition.input_id,
            "partition": partition.number,
            "records": len(records),
            "events": len(conclusion.events),
        }
        _logger.info("former_epoch_delivered", extra={"fields": fields})
