"""Ends the former epochs of topics: their decisions are refused from then on, and what they left is named.

A topic whose epoch was raised is read again as another input. Rows of the former epoch may hold events that
no daemon has sent, and no daemon reads their records again, so they are delivered first.
"""

from collections.abc import Sequence

from neardup_stream.message import Partition
from neardup_stream.stores.cluster_cells import unpack_ceiling
from neardup_stream.stores.cluster_store import (
    DECIDED,
    TRIMMED,
    Cell,
    ClusterStore,
    epochs_of,
    named_partition,
    partition_name,
)

__all__ = ["end_former_epochs"]


async def end_former_epochs(store: ClusterStore, partitions: Sequence[Partition]) -> dict[Partition, int]:
    """Refuse further decisions in lower epochs of the topics of these partitions. Safe to repeat.

    Returns:
        The partitions of lower epochs whose rows are not trimmed, each with the offset below which its rows
        lie.

    Raises:
        StoreUnavailable: call again.
    Cost: nothing where every epoch is 0; else a round trip for each topic and two or more for all.
    """
    epochs = {epoch.partition: epoch.offset for one in partitions if (epoch := epochs_of(one)) is not None}
    raised = {topic: epoch for topic, epoch in epochs.items() if epoch}
    if not raised:
        return {}
    for topic, offset in raised.items():
        await store.trim(topic, offset)  # before looking: what is decided from now on is not in a lower one
    former = []
    for one in sorted(map(named_partition, await store.partitions())):
        epoch = epochs_of(one)
        if epoch is not None and epoch.offset < raised.get(epoch.partition, 0):
            former.append(one)
    return await _with_rows(store, former)


async def _with_rows(store: ClusterStore, partitions: Sequence[Partition]) -> dict[Partition, int]:
    names = list(map(partition_name, partitions))
    values, _ = await store.read([Cell(table, name) for name in names for table in (TRIMMED, DECIDED)])
    ends: dict[Partition, int] = {}
    for partition, floor, ceiling in zip(partitions, values[::2], values[1::2], strict=True):
        end = unpack_ceiling(ceiling)
        if int(floor or 0) < end:
            ends[partition] = end
    return ends
