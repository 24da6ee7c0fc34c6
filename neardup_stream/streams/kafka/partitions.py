"""Convert partitions to those of Kafka's clients and to text."""

from aiokafka import TopicPartition

from neardup_stream.message import Partition, topic_of

__all__ = ["name_of", "topic_partition_of"]


def topic_partition_of(partition: Partition) -> TopicPartition:
    """Return the partition of an input's records, for any epoch."""
    return TopicPartition(topic_of(partition.input_id), partition.number)


def name_of(one: TopicPartition) -> str:
    """Return the name as in Kafka's own logs: topic, dash, number. Transactional ids end with it."""
    return f"{one.topic}-{one.partition}"
