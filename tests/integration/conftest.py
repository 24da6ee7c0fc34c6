"""What the tests of the Kafka streams share."""

import pytest

from tests.kafka_topics import MakeTopic, Topic
from tests.servers.kafka import KafkaBroker


@pytest.fixture
def make_topic(kafka_broker: KafkaBroker, topic_prefix: str) -> MakeTopic:
    count = iter(range(100))
    return lambda partitions=1, configs=None: Topic(
        kafka_broker, f"{topic_prefix}-{next(count)}", partitions, configs=configs
    )
