"""Chunks: everything once, in order, a bounded number at a time."""

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from neardup_stream.chunks import in_chunks, in_runs


@given(st.lists(st.integers()), st.integers(1, 9))
def test_chunks_hold_every_item_in_order_and_only_the_last_is_short(items: list[int], size: int) -> None:
    chunks = list(in_chunks(iter(items), size))

    assert [item for chunk in chunks for item in chunk] == items
    assert all(len(chunk) == size for chunk in chunks[:-1])
    assert all(chunks)


@given(st.lists(st.integers(0, 9)), st.integers(0, 20))
def test_runs_hold_every_item_in_order_and_as_many_as_fit(sizes: list[int], most: int) -> None:
    runs = [sizes[start:end] for start, end in in_runs(np.array(sizes, dtype=np.int64), most)]

    assert [size for run in runs for size in run] == sizes
    assert all(sum(run) <= most or len(run) == 1 for run in runs)
    assert all(sum(run) + following[0] > most for run, following in pairwise(runs))
