"""The names of buckets, one by one and packed."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from neardup_stream.errors import InvariantBroken
from neardup_stream.stores.redis.keys import Keys

TABLES = 12


def keys(bucket_bits: int) -> Keys:
    return Keys(
        namespace="nd",
        schema_id="5c",
        shard_bits=4,
        table_count=TABLES,
        bucket_bits=bucket_bits,
        slot_bits=2,
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
    return [(int(row[0]), row[1:].tobytes().lstrip(b"\0")) for row in rows]


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
