"""What is remembered of inputs: which epoch of a topic is read, and how far its partitions are finished.

A topic that was deleted and made anew counts its offsets from 0 again, and what is known of the old offsets
would be held against the new records. So the operator gives it another epoch, which makes it another input.
"""

from collections.abc import Sequence

from neardup_stream.errors import ConfigError
from neardup_stream.message import Partition
from neardup_stream.stores.cluster_store import TRIMMED, Cell, ClusterStore, partition_name
from neardup_stream.stores.redis_client import RedisClient, Script, ScriptCall

__all__ = ["InputEpochs", "epochs_key"]

_RAISE = Script.load("raise_input_epoch")


def epochs_key(namespace: str) -> str:
    """The hash of the epochs: topic → highest epoch ever read."""
    return f"{namespace}:epochs"


class InputEpochs:
    """Remembers, in Redis, what was read.

    Args:
        client: opened and closed by its owner.
        namespace: what the operator calls this index.
        clusters: holds the offsets below which everything is finished; none, where clusters are off.
    """

    def __init__(self, client: RedisClient, namespace: str, clusters: ClusterStore) -> None:
        self._client = client
        self._key = epochs_key(namespace)
        self._clusters = clusters

    async def enter(self, topic: str, epoch: int) -> None:
        """Be counted among the readers of this epoch, which ends every lower one.

        Raises:
            ConfigError: a higher epoch is read already.
            StoreUnavailable: the server is away; safe to repeat.
        """
        (highest,) = await self._client.run(_RAISE, [ScriptCall([self._key], [topic, epoch])])
        if highest > epoch:
            raise ConfigError(
                f"topic {topic} is read with kafka.input_epoch = {highest} already, and {epoch} here: "
                f"set it to {highest} in every daemon"
            )

    async def finished_below(self, partitions: Sequence[Partition]) -> dict[Partition, int]:
        """The offsets below which everything was delivered, committed and forgotten; 0 where unknown.

        Raises:
            StoreUnavailable: the server is away.
        """
        cells = [Cell(TRIMMED, partition_name(partition)) for partition in partitions]
        offsets, _ = await self._clusters.read(cells)
        return {partition: int(offset or 0) for partition, offset in zip(partitions, offsets, strict=True)}
