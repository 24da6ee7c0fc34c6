"""The names of buckets, one by one and packed, and the one file that builds keys."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from neardup_stream.errors import InvariantBroken
from neardup_stream.stores.redis.keys import Keys, shard_tag
from tests.source_files import source_files

TABLES = 12


def keys(bucket_bits: int = 0, slot_bits: int = 2) -> Keys:
    return Keys(
        namespace="nd",
        schema_id="5c",
        shard_bits=4,
        table_count=TABLES,
        bucket_bits=bucket_bits,
        slot_bits=slot_bits,
    )


def packed(
    names: Keys, tables: list[int], leading_bytes: list[int], numbers: list[int]
) -> list[tuple[int, bytes]]:
    """Size and name of each."""
    rows = names.packed_buckets(
        np.array(tables, dtype=np.uint8),
        np.array(leading_bytes, dtype=np.uint8),
        np.array(numbers, dtype=np.uint32),
    )
    return [(int(row[0]), row[1:].tobytes().rstrip(b"\0")) for row in rows]


@given(
    bucket_bits=st.sampled_from([0, 3, 4, 7, 16]),
    buckets=st.lists(
        st.tuples(st.integers(0, TABLES - 1), st.integers(0, 255), st.integers(0, 2**16 - 1)), min_size=1
    ),
)
def test_a_packed_name_is_the_name(bucket_bits: int, buckets: list[tuple[int, int, int]]) -> None:
    names = keys(bucket_bits)
    tables, leading_bytes, numbers = (list(column) for column in zip(*buckets, strict=True))
    numbers = [number % 2**bucket_bits for number in numbers]

    expected = names.buckets(tables, leading_bytes, numbers)

    assert packed(names, tables, leading_bytes, numbers) == [(len(name), name.encode()) for name in expected]


def test_a_bucket_number_with_too_many_digits_is_refused() -> None:
    assert packed(keys(4), [0], [0], [15])[0][1].endswith(b":t0:00f")
    with pytest.raises(InvariantBroken, match="more than 1 hexadecimal digits"):
        packed(keys(4), [0], [0], [16])


@pytest.mark.parametrize("slot_bits", [0, 3, 4, 9])
def test_a_hash_of_records_has_one_name_alone_and_in_a_walk(slot_bits: int) -> None:
    names = keys(slot_bits=slot_bits)
    of_a_shard = range(5 << slot_bits, 6 << slot_bits)

    assert names.record_slots(of_a_shard) == [names.record_slot(slot) for slot in of_a_shard]
    assert names.record(of_a_shard[-1] << (60 - slot_bits)) == names.record_slot(of_a_shard[-1])


@given(
    slot_bits=st.sampled_from([0, 3, 4, 9, 20]),
    handles=st.lists(st.integers(0, 2**64 - 1)),
)
def test_a_hash_of_records_is_named_by_the_leading_bits_of_a_handle(
    slot_bits: int, handles: list[int]
) -> None:
    names = keys(slot_bits=slot_bits)
    digits = {0: 1, 3: 1, 4: 1, 9: 3, 20: 5}[slot_bits]

    expected = [
        f"nd:5c:{{{shard_tag(handle >> 60, 16)}}}:p{handle % 2**60 >> 60 - slot_bits:0{digits}x}"
        for handle in handles
    ]

    assert names.records(handles) == expected
    assert [names.record(handle) for handle in handles] == expected


def test_hashes_of_all_shards_are_named_where_a_shard_has_more_than_are_remembered() -> None:
    slot_bits = 17
    names = keys(slot_bits=slot_bits)
    slots = range(0, 16 << slot_bits, 11)

    found = names.records([slot << (60 - slot_bits) for slot in slots])

    tags = [shard_tag(shard, 16) for shard in range(16)]
    assert found == [f"nd:5c:{{{tags[slot >> slot_bits]}}}:p{slot % 2**slot_bits:05x}" for slot in slots]


KEY_OF_A_NAMESPACE = re.compile(r"f[\"'][^\"']*\{[^{}]*(namespace|schema_id)[^{}]*\}:\S")
"""An f-string that puts a colon and more behind the name of a namespace or schema."""


def test_keys_are_built_in_one_file() -> None:
    files = source_files(("neardup_stream", "daemon"))

    assert {file.path for file in files if KEY_OF_A_NAMESPACE.search(file.text)} == {
        "neardup_stream/stores/redis/keys.py"
    }
