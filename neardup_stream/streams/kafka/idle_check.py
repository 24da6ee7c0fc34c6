"""Check why no records arrive: the topic is empty, the brokers are unavailable, or the topic is missing."""

from time import monotonic

from aiokafka import AIOKafkaConsumer

from neardup_stream.streams.kafka.admin import require_topics
from neardup_stream.streams.kafka.config import KafkaSourceConfig
from neardup_stream.streams.kafka.consumer import last_answer_seconds
from neardup_stream.streams.kafka.diagnosis import explain
from neardup_stream.streams.kafka.errors import unavailable

__all__ = ["IdleCheck"]


class IdleCheck:
    """The time since the last answer of a broker.

    Args:
        config: with the topics and the timeout.
    """

    def __init__(self, config: KafkaSourceConfig) -> None:
        self._config = config
        self._answer_seconds = 0.0
        self._heard_seconds = monotonic()

    def heard(self) -> None:
        """Reset the time: a broker has answered."""
        self._heard_seconds = monotonic()

    async def look_into(self, consumer: AIOKafkaConsumer) -> None:
        """Distinguish an empty topic, or no assigned partition, from unavailable brokers or a deleted topic.

        Raises:
            StreamUnavailable: no broker has answered within the timeout.
            ConfigError: a topic does not exist, or access is denied.
        """
        assignment = consumer.assignment()
        answer_seconds = last_answer_seconds(consumer, assignment)
        if answer_seconds != self._answer_seconds:  # whatever the clock does that it is read from
            self._answer_seconds = answer_seconds
            self._heard_seconds = monotonic()
        silence = monotonic() - self._heard_seconds
        if silence > self._config.connection.request_timeout_seconds:
            is_answered = await explain(self._config.connection, self._config.topics, "Read")
            if assignment or not is_answered:
                raise unavailable("timeout", f"reading: no broker has answered for {silence:.0f} s")
            self.heard()
        if any(not consumer.partitions_for_topic(topic) for topic in self._config.topics):
            await require_topics(self._config.connection, self._config.topics, "Read")
