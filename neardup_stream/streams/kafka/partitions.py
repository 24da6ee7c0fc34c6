"""Partitions as Kafka's clients call them, and as people do."""

from aiokafka import TopicPartition

from neardup_stream.message import Partition, topic_of

__all__ = ["name_of", "topic_partition_of"]


def topic_partition_of(partition: Partition) -> TopicPartition:
    """Where the records of an input are, whatever its epoch."""
    return TopicPartition(topic_of(partition.input_id), partition.number)


def name_of(one: TopicPartition) -> str:
    """As in Kafka's own logs: the topic, a dash and the number. Transactional ids end with it."""
    return f"{one.topic}-{one.partition}"
