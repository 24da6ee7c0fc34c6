"""Comparing a group with its topic before a daemon starts, on a real broker."""

import pytest

from neardup_stream.errors import ConfigError
from neardup_stream.message import Partition
from neardup_stream.streams.kafka.config import FirstStart, KafkaSourceConfig, OutOfRange
from neardup_stream.streams.kafka.start_offsets import NoHistory, check_offsets
from tests.integration.test_kafka_start_offsets import Remembered, two_finished_of_ten
from tests.kafka_topics import MakeTopic, Topic


def config_of(
    topic: Topic, *, first_start: FirstStart = "earliest", out_of_range: OutOfRange = "fail"
) -> KafkaSourceConfig:
    return KafkaSourceConfig(
        connection=topic.connection,
        topics=(topic.name,),
        group_id=f"{topic.name}-group",
        first_start=first_start,
        out_of_range=out_of_range,
    )


@pytest.mark.parametrize("first_start", ["earliest", "latest", "fail"])
async def test_a_group_without_offsets_is_refused_where_a_first_start_is(
    make_topic: MakeTopic, first_start: FirstStart
) -> None:
    config = config_of(make_topic(), first_start=first_start)

    await check_offsets(config, NoHistory(), 1, is_start=False)
    if first_start == "fail":
        with pytest.raises(ConfigError, match=r"no committed offset.*set kafka\.first_start"):
            await check_offsets(config, NoHistory(), 1, is_start=True)
    else:
        await check_offsets(config, NoHistory(), 1, is_start=True)


@pytest.mark.parametrize("policy", ["earliest", "latest", "fail"])
async def test_records_deleted_unread_are_refused_unless_a_policy_passes_them(
    make_topic: MakeTopic, policy: OutOfRange
) -> None:
    topic = await two_finished_of_ten(make_topic)
    config = config_of(topic, first_start="fail", out_of_range=policy)
    await topic.delete_before(2)
    await check_offsets(config, NoHistory(), 1, is_start=True)

    await topic.delete_before(3)

    await check_offsets(config, NoHistory(), 1, is_start=False)
    if policy == "fail":
        with pytest.raises(ConfigError, match=r"offset 2, which is not there.*set kafka\.out_of_range"):
            await check_offsets(config, NoHistory(), 1, is_start=True)
    else:
        await check_offsets(config, NoHistory(), 1, is_start=True)


async def test_a_start_below_what_was_finished_is_refused(make_topic: MakeTopic) -> None:
    topic = make_topic()
    await topic.fill([b"0", b"1"])
    history = Remembered({Partition(topic.name, 0): 2})

    await check_offsets(config_of(topic, first_start="latest"), history, 1, is_start=True)
    with pytest.raises(
        ConfigError, match="would begin, having no committed offset, at the earliest offset 0"
    ):
        await check_offsets(config_of(topic), history, 1, is_start=True)


@pytest.mark.parametrize("is_start", [True, False])
async def test_an_epoch_below_the_one_that_is_read_is_refused(make_topic: MakeTopic, is_start: bool) -> None:  # noqa: FBT001
    history = Remembered({}, highest_epoch=1)

    with pytest.raises(ConfigError, match=r"is read with kafka\.input_epoch = 1 already"):
        await check_offsets(config_of(make_topic()), history, 1, is_start=is_start)
