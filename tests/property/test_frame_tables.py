"""Laws of frame tables: what is stored is what was learned, however it was divided, and within bounds."""

from collections import Counter
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neardup_stream.errors import CorruptData
from neardup_stream.frames.table import MAX_PAGES, STAMP_BYTES, FrameTable, LineHashes, learn_tables

STAMP = bytes(range(1, 1 + STAMP_BYTES))
PLENTY = 65_536

hashes = st.integers(0, 2**32 - 1)
few_hashes = st.integers(0, 30)
pages = st.lists(st.lists(hashes | few_hashes, max_size=12), max_size=40)
few_tables = st.lists(st.lists(few_hashes, max_size=12), max_size=5)
many_pages = st.lists(st.lists(few_hashes, max_size=6), max_size=600)


def lines(of_page: Sequence[int]) -> LineHashes:
    return np.array(of_page, np.uint32)


def learned(of_pages: Sequence[Sequence[int]], max_lines: int = PLENTY) -> FrameTable:
    return FrameTable.empty().learn([lines(page) for page in of_pages], max_lines)


def contents(table: FrameTable) -> tuple[int, list[int], list[int]]:
    return table.page_count, table.hashes.tolist(), table.counts.tolist()


def assert_is_sound(table: FrameTable) -> None:
    assert 0 <= table.page_count <= MAX_PAGES
    assert (table.hashes.dtype, table.counts.dtype) == (np.dtype("<u4"), np.dtype("u1"))
    assert table.hashes.tolist() == sorted(set(table.hashes.tolist()))
    assert table.counts.size == table.hashes.size
    assert all(1 <= count <= table.page_count for count in table.counts.tolist())


@given(pages)
def test_a_table_counts_on_how_many_pages_each_line_was(of_pages: list[list[int]]) -> None:
    expected = Counter(line for page in of_pages for line in set(page))

    table = learned(of_pages)

    assert contents(table) == (len(of_pages), sorted(expected), [expected[line] for line in sorted(expected)])


@given(pages, st.lists(hashes | few_hashes))
def test_counts_of_lines_are_those_that_were_learned_and_0_of_others(
    of_pages: list[list[int]], asked: list[int]
) -> None:
    counts = learned(of_pages).counts_of(lines(asked))

    assert counts.dtype == np.int64
    assert counts.tolist() == [sum(line in page for page in of_pages) for line in asked]


@given(pages, st.lists(st.integers(0, 40)), st.permutations(range(40)))
def test_below_the_bounds_pages_teach_the_same_in_any_parts_and_any_order(
    of_pages: list[list[int]], cuts: list[int], order: list[int]
) -> None:
    shuffled = [of_pages[row] for row in order if row < len(of_pages)]
    table = FrameTable.empty()
    for start, end in zip([0, *sorted(cuts)], [*sorted(cuts), len(shuffled)], strict=True):
        table = table.learn([lines(page) for page in shuffled[start:end]], PLENTY)

    assert contents(table) == contents(learned(of_pages))


@given(pages, st.binary(min_size=STAMP_BYTES, max_size=STAMP_BYTES))
def test_a_packed_table_is_read_as_it_was(of_pages: list[list[int]], stamp: bytes) -> None:
    table = learned(of_pages)

    packed = table.pack(stamp)

    assert packed[:STAMP_BYTES] == stamp
    assert len(packed) == STAMP_BYTES + 2 + 5 * table.hashes.size
    assert contents(FrameTable.unpack(packed)) == contents(table)
    assert_is_sound(FrameTable.unpack(packed))


@given(pages, pages)
def test_a_table_that_was_stored_learns_as_if_it_had_not_been(
    before: list[list[int]], after: list[list[int]]
) -> None:
    stored = FrameTable.unpack(learned(before).pack(STAMP))

    table = stored.learn([lines(page) for page in after], PLENTY)

    assert contents(table) == contents(learned([*before, *after]))


@settings(max_examples=50)
@given(many_pages, st.integers(16, 40))
def test_a_table_stays_within_its_bounds_whatever_it_learns(
    of_pages: list[list[int]], max_lines: int
) -> None:
    table = FrameTable.empty()
    for start in range(0, len(of_pages), 100):
        table = table.learn([lines(page) for page in of_pages[start : start + 100]], max_lines)
        assert_is_sound(table)
        assert table.hashes.size <= max_lines


@given(st.integers(0, 600))
def test_a_line_of_every_page_is_counted_as_often_as_pages_are(page_count: int) -> None:
    table = learned([[7]] * page_count)

    assert table.counts_of(lines([7])).tolist() == [table.page_count]


@pytest.mark.parametrize(
    ("more", "expected"),
    [(1, (255, [1, 2], [255, 1])), (2, (129, [1], [129])), (127, (254, [1], [254]))],
    ids=["at-the-bound", "beyond-it", "at-once"],
)
def test_beyond_255_pages_all_counts_are_halved_first(
    more: int, expected: tuple[int, list[int], list[int]]
) -> None:
    table = learned([[1, 2]] + [[1]] * 253)
    assert contents(table) == (254, [1, 2], [254, 1])

    assert contents(table.learn([lines([1])] * more, PLENTY)) == expected


def test_the_frame_of_an_earlier_design_is_forgotten_and_the_new_one_known() -> None:
    table = learned([[1]] * 255).learn([lines([2])] * 1000, PLENTY)

    assert table.counts_of(lines([1])) == 0
    assert table.counts_of(lines([2])) > table.page_count * 0.9


def test_of_too_many_lines_the_rarest_go_and_of_equally_rare_ones_the_older() -> None:
    table = learned([[1, 2, 3], [1, 2], [10, 11]], 5)
    assert table.hashes.tolist() == [1, 2, 3, 10, 11]

    table = table.learn([lines([20, 21])], 5)

    assert len(table.hashes) == 5
    assert {1, 2, 20, 21} < set(table.hashes.tolist())


def test_lines_of_one_page_are_kept_up_to_1024() -> None:
    table = learned([[*range(10)], [*range(2000)]])

    assert table.hashes.tolist() == [*range(10), *range(2000 - 1024, 2000)]


def test_the_lines_of_a_later_section_get_in_though_the_table_is_full_of_repeated_ones() -> None:
    table = learned([[*range(100)]] * 9, max_lines=80)

    for number in range(3):
        table = table.learn([lines([1000, 2000 + number])], 80)

    assert table.counts_of(lines([1000])).tolist() == [3]
    assert table.hashes.size == 80


@given(st.lists(st.lists(few_hashes, max_size=30), min_size=1, max_size=5), few_tables, st.integers(1, 40))
def test_beyond_the_bound_lines_stay_by_count_then_by_age_then_by_hash_with_room_for_the_latest(
    of_pages: list[list[int]], former: list[list[int]], max_lines: int
) -> None:
    table = learned(former, max_lines)
    now = Counter(line for page in of_pages for line in set(page))
    counts = Counter(dict(zip(table.hashes.tolist(), table.counts.tolist(), strict=True))) + now
    ranked = sorted(counts, key=lambda line: (counts[line], line in now, line))

    learned_now = table.learn([lines(page) for page in of_pages], max_lines)

    latest = max_lines // 8 if len(ranked) > max_lines else 0
    frequent, others = ranked[-(max_lines - latest) :], ranked[: -(max_lines - latest)]
    others.sort(key=lambda line: (line in now, counts[line], line))
    kept = sorted([*frequent, *others[len(others) - latest :]])
    assert contents(learned_now) == (len(former) + len(of_pages), kept, [counts[line] for line in kept])


@settings(max_examples=30)
@given(st.lists(st.tuples(few_tables, many_pages), max_size=4), st.integers(1, 40))
def test_sites_learn_together_what_each_learns_alone(
    sites: list[tuple[list[list[int]], list[list[int]]]], max_lines: int
) -> None:
    tables = [learned(former, max_lines) for former, _ in sites]
    taught = [[lines(page) for page in of_pages] for _, of_pages in sites]

    together = learn_tables(tables, taught, max_lines)

    alone = [table.learn(of_site, max_lines) for table, of_site in zip(tables, taught, strict=True)]
    assert list(map(contents, together)) == list(map(contents, alone))


def test_no_pages_teach_nothing() -> None:
    table = learned([[1]])

    assert contents(table.learn([], 16)) == contents(table)


def test_nothing_stored_is_the_empty_table() -> None:
    assert contents(FrameTable.unpack(None)) == contents(FrameTable.empty()) == (0, [], [])


@given(st.binary(max_size=60))
def test_bytes_are_a_sound_table_or_corrupt(stored: bytes) -> None:
    try:
        table = FrameTable.unpack(stored)
    except CorruptData:
        return
    assert_is_sound(table)
    assert table.pack(stored[:STAMP_BYTES]) == stored


@pytest.mark.parametrize(
    "stored",
    [
        pytest.param(b"", id="empty"),
        pytest.param(STAMP, id="only-a-stamp"),
        pytest.param(STAMP + bytes(2) + b"1234", id="half-a-line"),
        pytest.param(STAMP + bytes([1, 0]), id="too-many-pages"),
        pytest.param(STAMP + bytes([0, 2]) + bytes(8) + bytes([1, 1]), id="a-line-twice"),
        pytest.param(STAMP + bytes([0, 2]) + b"\2\0\0\0\1\0\0\0" + bytes([1, 1]), id="not-ascending"),
        pytest.param(STAMP + bytes([0, 2]) + bytes(4) + bytes([3]), id="more-than-the-pages"),
        pytest.param(STAMP + bytes([0, 2]) + bytes(4) + bytes([0]), id="on-no-page"),
    ],
)
def test_what_no_table_packs_to_is_corrupt(stored: bytes) -> None:
    with pytest.raises(CorruptData, match=f"frame table of {len(stored)} bytes"):
        FrameTable.unpack(stored)
