"""Chunks: everything once, in order, a bounded number at a time."""

from hypothesis import given
from hypothesis import strategies as st

from neardup_stream.chunks import in_chunks


@given(st.lists(st.integers()), st.integers(1, 9))
def test_chunks_hold_every_item_in_order_and_only_the_last_is_short(items: list[int], size: int) -> None:
    chunks = list(in_chunks(iter(items), size))

    assert [item for chunk in chunks for item in chunk] == items
    assert all(len(chunk) == size for chunk in chunks[:-1])
    assert all(chunks)
