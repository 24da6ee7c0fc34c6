"""Ends the former epochs of topics: their decisions are refused from then on, and what they left is named.

A topic whose epoch was raised is read again as another input. Rows of the former epoch may hold events that
no daemon has sent, and no daemon reads their records again, so they are delivered first.
"""

from collections.abc import Sequence

from neardup_stream.clusters.rows import read_bounds
from neardup_stream.message import Partition
from neardup_stream.stores.cluster_store import ClusterStore, epochs_of, named_partition

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
    bounds = await read_bounds(store, former)
    return {one: each.ceiling for one, each in bounds.items() if not each.is_empty}
