"""Look up where the partitions of a topic end."""

from collections.abc import Mapping

from aiokafka import AIOKafkaConsumer, TopicPartition

from neardup_stream.streams.kafka.admin import require_topics
from neardup_stream.streams.kafka.config import KafkaConnection
from neardup_stream.streams.kafka.consumer import close_consumer
from neardup_stream.streams.kafka.errors import kafka_errors
from neardup_stream.streams.kafka.starting import start_client

__all__ = ["topic_ends"]


async def topic_ends(connection: KafkaConnection, topic: str) -> Mapping[int, int]:
    """Return the offset behind the last record of each partition, committed or not.

    Raises:
        StreamUnavailable: the cluster cannot be reached.
        ConfigError: the topic does not exist, or may not be described.
    """
    facts = (await require_topics(connection, [topic], right="Describe"))[topic]
    consumer = AIOKafkaConsumer(**connection.client_options(), group_id=None)
    try:
        with kafka_errors(f"reading {topic}", right="Describe"):
            await start_client(consumer)
            ends = await consumer.end_offsets(
                [TopicPartition(topic, each) for each in range(facts.partitions)]
            )
    finally:
        await close_consumer(consumer)
    return {one.partition: offset for one, offset in ends.items()}
