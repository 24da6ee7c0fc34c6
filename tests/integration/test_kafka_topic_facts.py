"""Topics are made, and described as the broker has them."""

import asyncio
from collections.abc import Mapping

import pytest

from neardup_stream.errors import ConfigError, StreamUnavailable
from neardup_stream.streams.kafka.admin import TopicFacts, create_topic, describe_topics, group_members
from neardup_stream.streams.kafka.config import KafkaConnection
from tests.kafka_topics import WAIT_SECONDS
from tests.servers.kafka import KafkaBroker, start_kafka


async def test_topics_are_made_and_described(kafka_broker: KafkaBroker, topic_prefix: str) -> None:
    connection = KafkaConnection(bootstrap_servers=kafka_broker.bootstrap_servers)
    name, absent = f"{topic_prefix}-new", f"{topic_prefix}-absent"

    assert await create_topic(
        connection, name, 3, {"max.message.bytes": "12345", "cleanup.policy": "compact"}
    )
    assert not await create_topic(connection, name, 3)
    with pytest.raises(ConfigError, match="illegal"):
        await create_topic(connection, "an illegal name", 1)

    async with asyncio.timeout(WAIT_SECONDS):
        while (facts := await describe_topics(connection, [name, absent]))[name] is None:
            pass
    assert facts == {name: TopicFacts(3, 12345, "compact"), absent: None}


@pytest.mark.parametrize(
    ("configs", "kept_ms", "deletes_after_ms"),
    [
        ({"cleanup.policy": "delete", "retention.ms": "60000"}, 60_000, 60_000),
        ({"cleanup.policy": "delete", "retention.ms": "-1"}, None, None),
        ({"cleanup.policy": "delete", "retention.ms": "-1", "retention.bytes": "1000000"}, None, 0),
        ({"cleanup.policy": "compact,delete", "retention.ms": "60000"}, None, 60_000),
    ],
    ids=["by-time", "never", "by-size", "compacted-too"],
)
async def test_when_a_topic_deletes_records_is_described(
    kafka_broker: KafkaBroker,
    topic_prefix: str,
    configs: Mapping[str, str],
    kept_ms: int | None,
    deletes_after_ms: int | None,
) -> None:
    kafka_broker.create_topic(topic_prefix, configs=configs)
    connection = KafkaConnection(bootstrap_servers=kafka_broker.bootstrap_servers)

    facts = (await describe_topics(connection, [topic_prefix]))[topic_prefix]

    assert facts is not None
    assert (facts.kept_ms, facts.deletes_after_ms) == (kept_ms, deletes_after_ms)


async def test_the_first_group_of_a_new_cluster_is_described_once_it_has_a_coordinator() -> None:
    with start_kafka(is_brief=True) as broker:
        connection = KafkaConnection(bootstrap_servers=broker.bootstrap_servers)

        with pytest.raises(StreamUnavailable):
            await group_members(connection, "first", waits_for_coordinator=False)
        assert await group_members(connection, "first") == []
