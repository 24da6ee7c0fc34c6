"""Know how large a message a topic accepts, which its operator may change at any time."""

from neardup_stream.streams.kafka.admin import require_topics
from neardup_stream.streams.kafka.config import KafkaSinkConfig
from neardup_stream.streams.kafka.producers import largest_message_bytes

__all__ = ["TopicLimit"]


class TopicLimit:
    """The size limit of one topic, as last read; before the first `read`, that of our requests.

    Args:
        config: names the topic, and limits our requests.
    """

    def __init__(self, config: KafkaSinkConfig) -> None:
        self.config = config
        self._request_bytes = config.max_request_bytes

    @property
    def max_message_bytes(self) -> int:
        """Return the limit of the topic minus the overhead of a message."""
        return largest_message_bytes(self._request_bytes)

    async def read(self) -> None:
        """Read the limit of the topic, or find out that it is gone.

        Raises:
            StreamUnavailable: the cluster cannot be reached.
            ConfigError: the topic does not exist, or may not be written.
        """
        config = self.config
        facts = await require_topics(config.connection, [config.topic], "Write")
        limit_bytes = facts[config.topic].max_message_bytes
        self._request_bytes = min(config.max_request_bytes, limit_bytes or config.max_request_bytes)
