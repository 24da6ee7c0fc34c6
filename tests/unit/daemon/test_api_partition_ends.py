"""Which records were published, as far as brokers say."""

import asyncio
from collections.abc import Mapping

import pytest
from neardup_daemon.query_api.partition_ends import PartitionEnds

from neardup_stream.errors import StreamUnavailable


class Topic:
    """The ends of a topic with one partition, and how often they are read."""

    def __init__(self, end: int) -> None:
        self.end = end
        self.reading_count = 0

    async def read_ends(self) -> Mapping[int, int]:
        self.reading_count += 1
        await asyncio.sleep(0)
        return {0: self.end}


@pytest.mark.parametrize(("partition", "offset", "may_have"), [(0, 2, True), (0, 3, False), (1, 0, False)])
async def test_a_record_is_there_if_its_partition_ends_behind_it(
    partition: int, offset: int, *, may_have: bool
) -> None:
    assert await PartitionEnds(Topic(3).read_ends).may_have(partition, offset) == may_have


async def test_requests_at_the_same_time_share_a_reading_and_known_records_need_none() -> None:
    topic = Topic(3)
    ends = PartitionEnds(topic.read_ends)

    await asyncio.gather(*(ends.may_have(0, offset) for offset in range(3, 20)))
    await ends.may_have(0, 2)

    assert topic.reading_count == 1


async def test_where_brokers_do_not_say_any_record_may_be_there() -> None:
    async def read_ends() -> Mapping[int, int]:
        raise StreamUnavailable("no broker answers", "timeout")

    assert await PartitionEnds(read_ends).may_have(0, 10**9)
