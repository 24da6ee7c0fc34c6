import math

import numpy as np
import pytest

from neardup_stream.errors import ConfigError
from neardup_stream.fingerprints.min_sketch import MinSketch
from neardup_stream.fingerprints.resemblance import exact_overlap
from neardup_stream.hashing.ranks import ranks

IDS = np.arange(1000, dtype=np.uint64)


@pytest.mark.parametrize("size", [1, 999, 1000, 1001], ids=["one", "all-but-one", "all", "more-than-all"])
def test_a_sketch_is_the_smallest_ranks_in_order(size: int) -> None:
    sketch = MinSketch.of(IDS, size)

    assert sketch.ranks.tolist() == sorted(ranks(IDS, 0).tolist())[:size]


def test_the_estimate_is_exact_when_the_union_fits() -> None:
    first, second = IDS[:70], IDS[30:100]

    estimate = MinSketch.of(first, 100).resemblance(MinSketch.of(second, 100))

    assert estimate == exact_overlap(first, second).resemblance


def test_sketches_of_different_sizes_compare_as_the_smaller() -> None:
    first, second = IDS[:700], IDS[300:]

    mixed_sizes = MinSketch.of(first, 50).resemblance(MinSketch.of(second, 200))

    assert mixed_sizes == MinSketch.of(first, 50).resemblance(MinSketch.of(second, 50))


def test_two_empty_sets_are_not_comparable() -> None:
    assert math.isnan(MinSketch.of(IDS[:0], 10).resemblance(MinSketch.of(IDS[:0], 10)))


def test_an_empty_set_does_not_resemble_another() -> None:
    assert MinSketch.of(IDS[:0], 10).resemblance(MinSketch.of(IDS, 10)) == 0.0


def test_sketches_of_different_orders_are_refused() -> None:
    with pytest.raises(ConfigError, match="keys 1 and 2"):
        MinSketch.of(IDS, 10, key=1).resemblance(MinSketch.of(IDS, 10, key=2))


def test_a_sketch_of_nothing_is_refused() -> None:
    with pytest.raises(ConfigError, match="size of a sketch is 0"):
        MinSketch.of(IDS, 0)
