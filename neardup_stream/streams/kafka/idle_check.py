"""What it means that nothing comes: the topic is empty, the brokers are lost, or there is no such topic."""

import time

from aiokafka import AIOKafkaConsumer

from neardup_stream.streams.kafka.admin import require_topics
from neardup_stream.streams.kafka.config import KafkaSourceConfig
from neardup_stream.streams.kafka.consumer import last_answer_seconds
from neardup_stream.streams.kafka.diagnosis import explain
from neardup_stream.streams.kafka.errors import away

__all__ = ["Silence"]


class Silence:
    """Since when no broker has answered.

    Args:
        config: what is read, and how long an answer may take.
    """

    def __init__(self, config: KafkaSourceConfig) -> None:
        self._config = config
        self._heard_seconds = time.time()

    def broken(self) -> None:
        """A broker has answered just now."""
        self._heard_seconds = time.time()

    async def look_into(self, consumer: AIOKafkaConsumer) -> None:
        """Tell an empty topic, and a group that has nothing for us, from lost brokers or a deleted topic.

        Raises:
            StreamUnavailable: no broker has answered for longer than an answer may take.
            ConfigError: a topic is gone, or is not for us any more.
        """
        assignment = consumer.assignment()
        self._heard_seconds = max(self._heard_seconds, last_answer_seconds(consumer, assignment))
        silence = time.time() - self._heard_seconds
        if silence > self._config.connection.request_timeout_seconds:
            is_answered = await explain(self._config.connection, self._config.topics, "Read")
            if assignment or not is_answered:
                raise away("timeout", f"reading: no broker has answered for {silence:.0f} s")
            self.broken()
        if any(not consumer.partitions_for_topic(topic) for topic in self._config.topics):
            await require_topics(self._config.connection, self._config.topics, "Read")
