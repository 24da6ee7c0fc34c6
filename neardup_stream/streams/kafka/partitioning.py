"""Choose the partition of a message as the programs do that fill its topic."""

import random
import zlib
from collections.abc import Sequence

from aiokafka.partitioner import DefaultPartitioner

from neardup_stream.message import Message
from neardup_stream.streams.kafka.config import Partitioner

__all__ = ["partition_of"]

_murmur2 = DefaultPartitioner()


def partition_of(message: Message, partitioner: Partitioner, partitions: Sequence[int]) -> int:
    """Return the partition that the message names, or else that of its key; a random one without a key.

    Args:
        message: to send; a partition that it names and the topic lacks does not count.
        partitioner: by which keys are hashed.
        partitions: of the topic, ascending from 0.
    """
    if message.partition is not None and message.partition in partitions:
        return message.partition
    if partitioner == "murmur2":
        return int(_murmur2(message.key, partitions, partitions))
    if not message.key:
        return random.choice(partitions)  # noqa: S311 - spread, not secret
    return partitions[zlib.crc32(message.key) % len(partitions)]
