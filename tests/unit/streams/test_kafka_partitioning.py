"""Keys have the partitions that other clients choose for them."""

import pytest
from aiokafka.partitioner import DefaultPartitioner
from hypothesis import given
from hypothesis import strategies as st

from neardup_stream.message import Message
from neardup_stream.streams.kafka.config import Partitioner
from neardup_stream.streams.kafka.partitioning import murmur2, partition_of

PARTITIONS = range(1000)


@pytest.mark.parametrize(
    ("key", "hashed"),
    [
        (b"21", -973932308),
        (b"foobar", -790332482),
        (b"a-little-bit-long-string", -985981536),
        (b"a-little-bit-longer-string", -1486304829),
        (b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58897971),
        (b"abc", 479470107),
    ],
)
def test_keys_are_hashed_as_the_tests_of_javas_client_say(key: bytes, hashed: int) -> None:
    assert murmur2(key) == hashed % (1 << 32)


@given(st.binary(max_size=100))
def test_a_key_is_hashed_as_by_aiokafka(key: bytes) -> None:
    message = Message(key=key, value=None)

    assert partition_of(message, "murmur2", PARTITIONS) == DefaultPartitioner()(key, PARTITIONS, PARTITIONS)


@pytest.mark.parametrize("partitioner", ["murmur2", "crc32"])
def test_without_a_key_any_partition_is_right(partitioner: Partitioner) -> None:
    chosen = {partition_of(Message(key=None, value=b""), partitioner, PARTITIONS) for _ in range(100)}

    assert len(chosen) > 1
    assert chosen <= set(PARTITIONS)
