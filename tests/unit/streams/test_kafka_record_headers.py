"""Records with too many headers are found before their headers are parsed."""

from collections.abc import Sequence

import pytest
from aiokafka.record.default_records import DefaultRecordBatchBuilder
from hypothesis import given
from hypothesis import strategies as st

from neardup_stream.streams.kafka.record_headers import has_many_headers, head_of

BATCH_HEADER_BYTES = 61
MOST = 3

Content = bytes | None
Headers = Sequence[tuple[str, Content]]

contents = st.none() | st.binary(max_size=200)
records = st.tuples(contents, contents, st.lists(st.tuples(st.text(max_size=3), contents), max_size=2 * MOST))


def packed(batch: Sequence[tuple[Content, Content, Headers]]) -> bytes:
    """Return the records of a batch without its own head."""
    builder = DefaultRecordBatchBuilder(2, 0, 0, -1, -1, -1, 1 << 24)
    for offset, (key, value, headers) in enumerate(batch):
        builder.append(offset, 1000 * offset, key, value, list(headers))
    return bytes(builder.build())[BATCH_HEADER_BYTES:]


@given(st.lists(records, min_size=1, max_size=5))
def test_a_record_above_the_limit_is_found_and_no_other(
    batch: list[tuple[Content, Content, Headers]],
) -> None:
    assert has_many_headers(packed(batch), MOST) == any(len(headers) > MOST for _, _, headers in batch)


@pytest.mark.parametrize("size_bytes", [0, 1, 70, 20_000])
def test_the_limit_itself_is_allowed(size_bytes: int) -> None:
    value = bytes(size_bytes)

    assert not has_many_headers(packed([(b"key", value, [("", b"")] * 256)]), 256)
    assert has_many_headers(packed([(b"key", value, [("", b"")] * 257)]), 256)


def test_a_record_above_the_limit_is_found_behind_a_long_one() -> None:
    above = [("", b"")] * (MOST + 1)

    assert has_many_headers(packed([(b"key", bytes(20_000), []), (b"key", b"value", above)]), MOST)


def test_a_key_of_any_negative_length_is_none_as_it_is_where_headers_are_parsed() -> None:
    """No client writes it; bytes that were skipped for it would hide how many headers there are."""
    whole = packed([(None, b"value", [("", b"")] * (MOST + 1))])
    none, two_below_none = b"\x01\x0avalue", b"\x03\x0avalue"

    assert whole.count(none) == 1
    assert has_many_headers(whole.replace(none, two_below_none), MOST)


@given(st.lists(records, min_size=1, max_size=5))
def test_heads_are_read_one_after_the_other(batch: list[tuple[Content, Content, Headers]]) -> None:
    buffer, at = packed(batch), 0
    for offset, (key, value, headers) in enumerate(batch):
        head = head_of(buffer, at)
        assert (head.key, head.value, head.header_count) == (key, value, len(headers))
        assert (head.time_delta, head.offset_delta) == (1000 * offset, offset)
        at = head.end
    assert at == len(buffer)


@given(st.binary(max_size=300))
def test_damaged_records_have_no_more_headers_than_they_have_room_for(damaged: bytes) -> None:
    assert not has_many_headers(damaged, len(damaged) // 2)
