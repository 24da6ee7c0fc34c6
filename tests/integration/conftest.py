"""What the tests of the Kafka streams and of the Redis stores share."""

from collections.abc import AsyncIterator

import pytest

from neardup_stream.stores.redis.client import RedisClient
from neardup_stream.stores.redis.config import RedisConfig
from tests.kafka_topics import MakeTopic, Topic
from tests.servers.kafka import KafkaBroker


@pytest.fixture
def make_topic(kafka_broker: KafkaBroker, topic_prefix: str) -> MakeTopic:
    count = iter(range(100))
    return lambda partitions=1, configs=None: Topic(
        kafka_broker, f"{topic_prefix}-{next(count)}", partitions, configs=configs
    )


@pytest.fixture(params=["redis_server", "valkey_server", "redis_cluster"])
async def client(request: pytest.FixtureRequest) -> AsyncIterator[RedisClient]:
    server = request.getfixturevalue(request.param)
    async with RedisClient(RedisConfig(server.url)) as client:
        yield client
