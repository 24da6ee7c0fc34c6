"""What every TableStore promises, as functions over a store."""

import asyncio

import numpy as np

from neardup_stream.stores.protocol import TableStore
from tests.contracts.oversized_buckets import OVERSIZED_BUCKET_CLAIMS
from tests.contracts.table_entries import REST_BYTES, WIDE, entries, found, inserted, probed, within

__all__ = ["TABLE_CLAIMS"]


async def a_later_page_of_a_batch_finds_the_earlier(store: TableStore) -> None:
    assert await inserted(store, entries((0b1000, 1, 1), (0b1001, 2, 7)), within(3)) == [(1, 1, 1, 1)]


async def a_later_batch_finds_what_an_earlier_one_stored(store: TableStore) -> None:
    await store.probe_and_insert(entries((0b1000, 1, 255), (0b0111, 2, 0)), within(0))

    assert await inserted(store, entries((0b1000, 3, 1)), within(4)) == [(0, 1, 255, 0), (0, 2, 0, 4)]


async def the_distance_filter_is_inclusive(store: TableStore) -> None:
    stored = entries((0, 1, 1), (0b11, 2, 1), (0b111, 3, 1), (0b1111, 4, 1))
    await store.probe_and_insert(stored, within(0))

    answers = [await probed(store, entries((0, 9, 1)), within(distance_bits)) for distance_bits in range(5)]

    assert [[handle for _, handle, _, _ in answer] for answer in answers] == [
        [1],
        [1],
        [1, 2],
        [1, 2, 3],
        [1, 2, 3, 4],
    ]


async def a_page_never_finds_itself_in_any_version(store: TableStore) -> None:
    await store.probe_and_insert(entries((5, 1, 1)), within(3))

    assert await inserted(store, entries((5, 1, 1), (4, 1, 2)), within(3)) == []


async def two_equal_rests_find_each_other(store: TableStore) -> None:
    await store.probe_and_insert(entries((5, 1, 1), (5, 2, 1)), within(0))

    assert await inserted(store, entries((5, 1, 1), (5, 2, 1)), within(0)) == [(0, 2, 1, 0), (1, 1, 1, 0)]


async def inserting_again_changes_nothing(store: TableStore) -> None:
    for _ in range(3):
        await store.probe_and_insert(entries((5, 1, 1), (6, 2, 1)), within(3))

    assert await probed(store, entries((5, 9, 1)), within(3)) == [(0, 1, 1, 0), (0, 2, 1, 2)]


async def probing_stores_nothing(store: TableStore) -> None:
    await store.probe(entries((5, 1, 1), (5, 2, 1)), within(3))

    assert await probed(store, entries((5, 9, 1)), within(3)) == []


async def ranges_end_where_the_prefix_ends(store: TableStore) -> None:
    """The last suffix of a range is in it, with the highest handle and version; the next suffix is not."""
    last, after = (1 << 16) - 1, 1 << 16
    top = 2**64 - 1
    await store.probe_and_insert(entries((last, top, 255), (after, 2, 1)), within(0))

    assert await probed(store, entries((0, 9, 1)), within(56)) == [(0, top, 255, 16)]


async def the_highest_range_has_an_end_too(store: TableStore) -> None:
    rest = (1 << 8 * REST_BYTES) - 1
    await store.probe_and_insert(entries((rest, 1, 1)), within(0))

    assert await probed(store, entries((rest, 2, 1)), within(0)) == [(0, 1, 1, 0)]


async def leading_bytes_do_not_see_each_other(store: TableStore) -> None:
    await store.probe_and_insert(entries((5, 1, 1), leading_byte=0x00), within(3))

    assert await probed(store, entries((5, 2, 1), leading_byte=0xFF), within(3)) == []


async def handles_and_rests_keep_all_their_bits(store: TableStore) -> None:
    rest = 0x81_23_45_67_89_AB_00
    handle = 0xFEDC_BA98_7654_3211
    await store.probe_and_insert(entries((rest, handle, 1)), within(0))

    assert await probed(store, entries((rest ^ 1, 7, 1)), within(1)) == [(0, handle, 1, 1)]


async def rests_of_one_to_eight_bytes_are_kept_whole(store: TableStore) -> None:
    for suffix_bytes in range(1, 9):
        rest = (0x81 << 8 * (suffix_bytes - 1)) | 1
        where = {"suffix_bytes": suffix_bytes, "leading_byte": suffix_bytes, "low_bits": 1}
        await store.probe_and_insert(entries((rest, 1, 1), (rest ^ 2, 2, 1), **where), within(64))

        answer = await probed(store, entries((rest ^ 1, 3, 1), **where), within(1))

        assert answer == [(0, 1, 1, 1)]


async def a_range_of_one_rest_holds_equal_rests_only(store: TableStore) -> None:
    await store.probe_and_insert(entries((4, 1, 1), (5, 2, 1), (6, 3, 1), low_bits=0), within(9))

    assert await probed(store, entries((5, 9, 1), low_bits=0), within(9)) == [(0, 2, 1, 0)]


async def a_new_word_behind_a_known_one_is_stored(store: TableStore) -> None:
    await store.probe_and_insert(entries((4, 1, 1), low_bits=0), within(0))

    await store.probe_and_insert(entries((4, 2, 1), (5, 2, 1), (6, 2, 1), low_bits=0), within(0))

    assert await probed(store, entries((5, 9, 1), (6, 9, 1), low_bits=0), within(0)) == [
        (0, 2, 1, 0),
        (1, 2, 1, 0),
    ]


async def what_is_removed_is_not_found(store: TableStore) -> None:
    stored = entries((5, 1, 1), (5, 2, 1), (6, 3, 1))
    await store.probe_and_insert(stored, within(0))

    await store.remove(stored.members.take(np.array([0, 2])))

    assert await probed(store, entries((5, 9, 1)), within(3)) == [(0, 2, 1, 0)]


async def removing_takes_the_exact_member_and_may_be_repeated(store: TableStore) -> None:
    for low_bits in (0, 16):
        where = {"low_bits": low_bits, "leading_byte": low_bits}
        await store.probe_and_insert(entries((5, 1, 1), (5, 1, 2), **where), within(0))

        await store.remove(entries((6, 1, 1), (5, 2, 1), (5, 1, 3), **where).members)

        assert await probed(store, entries((5, 9, 1), **where), within(3)) == [(0, 1, 1, 0), (0, 1, 2, 0)]

        for _ in range(2):
            await store.remove(entries((5, 1, 1), **where).members)

        assert await probed(store, entries((5, 9, 1), **where), within(3)) == [(0, 1, 2, 0)]


async def what_a_probe_found_can_be_removed_by_it(store: TableStore) -> None:
    await store.probe_and_insert(entries((5, 1, 1), (6, 2**64 - 1, 255), (0xFF, 3, 1)), within(0))
    answer = await store.probe(entries((4, 9, 1)), within(3))

    await store.remove(answer.members)

    assert await probed(store, entries((0xFF, 9, 1)), within(64)) == [(0, 3, 1, 0)]


async def many_members_are_removed_across_calls(store: TableStore) -> None:
    count = 900
    stored = entries(*((row << 16, row, 1) for row in range(count)))
    others = entries(*((row << 16, count + row, 1) for row in range(count)))
    await store.probe_and_insert(stored, within(0))

    assert len(await probed(store, others, within(0))) == count

    for _ in range(2):
        await store.remove(stored.members)

    assert await probed(store, others, within(0)) == []


async def an_empty_batch_is_an_empty_answer(store: TableStore) -> None:
    nothing = entries()
    answer = await store.probe_and_insert(nothing, within(3))

    assert (found(answer, nothing), answer.truncated.tolist(), answer.bucket_cap_hits) == ([], [], 0)
    await store.remove(nothing.members)


async def of_two_callers_at_once_at_least_one_finds_the_other(store: TableStore) -> None:
    for round_number in range(20):
        rest = round_number << 16
        answers = await asyncio.gather(
            store.probe_and_insert(entries((rest, 2 * round_number, 1)), within(3)),
            store.probe_and_insert(entries((rest, 2 * round_number + 1, 1)), within(3)),
        )

        assert sum(len(answer.entries) for answer in answers) >= 1


async def many_entries_keep_their_order_across_calls(store: TableStore) -> None:
    """More entries than one script call takes: every page finds all before it."""
    count = 900
    many = entries(*((row << 16, row, 1) for row in range(count)), (0, count, 1))

    assert await inserted(store, many, within(0)) == [(count, 0, 1, 0)]


async def pages_of_large_buckets_find_all_before_them(store: TableStore) -> None:
    """However few entries a script call may do where each of them meets many members."""
    count, others = 120, 500
    for low_bits in (0, 16):
        same = [(0, row, 1) for row in range(count)]
        between = [((row + 1) << 16 if low_bits else row + 1, 1000 + row, 1) for row in range(others)]
        many = entries(*same, *between, (0, count, 1), low_bits=low_bits, leading_byte=low_bits)

        pairs = {(row, handle) for row, handle, *_ in await inserted(store, many, within(0, cap=WIDE))}

        rows = [*range(count), count + others]
        assert pairs >= {(row, earlier) for number, row in enumerate(rows) for earlier in range(number)}
        assert {row for row, _ in pairs} <= set(rows)


TABLE_CLAIMS = [
    a_later_page_of_a_batch_finds_the_earlier,
    a_later_batch_finds_what_an_earlier_one_stored,
    the_distance_filter_is_inclusive,
    a_page_never_finds_itself_in_any_version,
    two_equal_rests_find_each_other,
    inserting_again_changes_nothing,
    probing_stores_nothing,
    ranges_end_where_the_prefix_ends,
    the_highest_range_has_an_end_too,
    leading_bytes_do_not_see_each_other,
    handles_and_rests_keep_all_their_bits,
    rests_of_one_to_eight_bytes_are_kept_whole,
    a_range_of_one_rest_holds_equal_rests_only,
    a_new_word_behind_a_known_one_is_stored,
    what_is_removed_is_not_found,
    removing_takes_the_exact_member_and_may_be_repeated,
    what_a_probe_found_can_be_removed_by_it,
    many_members_are_removed_across_calls,
    an_empty_batch_is_an_empty_answer,
    of_two_callers_at_once_at_least_one_finds_the_other,
    many_entries_keep_their_order_across_calls,
    pages_of_large_buckets_find_all_before_them,
    *OVERSIZED_BUCKET_CLAIMS,
]
