"""What every TableStore promises, as functions over a store."""

import asyncio

import numpy as np

from neardup_stream.stores.protocol import ProbeAnswer, TableEntries, TableStore

__all__ = ["TABLE_CLAIMS"]

REST_BYTES = 7
WIDE_CAP = 1000


def entries(*pages: tuple[int, int, int], low_bits: int = 16, leading_byte: int = 0xA5) -> TableEntries:
    """Entries of one bucket of table 0: (rest, handle, version byte) each, ranges ignoring `low_bits`."""
    rests = [rest for rest, _, _ in pages]
    below = (1 << low_bits) - 1
    return TableEntries(
        rows=np.arange(len(pages), dtype=np.uint32),
        tables=np.zeros(len(pages), dtype=np.uint8),
        leading_bytes=np.full(len(pages), leading_byte, dtype=np.uint8),
        buckets=np.zeros(len(pages), dtype=np.uint32),
        lows=_rows([rest & ~below for rest in rests]),
        highs=_rows([rest | below for rest in rests]),
        rests=_rows(rests),
        handles=np.array([handle for _, handle, _ in pages], dtype=np.uint64),
        version_bytes=np.array([version for _, _, version in pages], dtype=np.uint8),
    )


def _rows(rests: list[int]) -> np.ndarray[tuple[int, int], np.dtype[np.uint8]]:
    packed = b"".join(rest.to_bytes(REST_BYTES, "big") for rest in rests)
    return np.frombuffer(packed, dtype=np.uint8).reshape(-1, REST_BYTES)


def found(answer: ProbeAnswer) -> list[tuple[int, int, int, int]]:
    """(row, handle, version byte, distance) of each candidate, sorted."""
    columns = (answer.rows, answer.handles, answer.version_bytes, answer.distances_bits)
    return sorted(zip(*(column.tolist() for column in columns), strict=True))


async def a_later_page_of_a_batch_finds_the_earlier(store: TableStore) -> None:
    answer = await store.probe_and_insert(entries((0b1000, 1, 1), (0b1001, 2, 7)), 3, WIDE_CAP)

    assert found(answer) == [(1, 1, 1, 1)]


async def a_later_batch_finds_what_an_earlier_one_stored(store: TableStore) -> None:
    await store.probe_and_insert(entries((0b1000, 1, 255), (0b0111, 2, 0)), 0, WIDE_CAP)

    answer = await store.probe_and_insert(entries((0b1000, 3, 1)), 4, WIDE_CAP)

    assert found(answer) == [(0, 1, 255, 0), (0, 2, 0, 4)]


async def the_distance_filter_is_inclusive(store: TableStore) -> None:
    stored = entries((0, 1, 1), (0b11, 2, 1), (0b111, 3, 1), (0b1111, 4, 1))
    await store.probe_and_insert(stored, 0, WIDE_CAP)

    answers = [await store.probe(entries((0, 9, 1)), distance_bits, WIDE_CAP) for distance_bits in range(5)]

    assert [[handle for _, handle, _, _ in found(answer)] for answer in answers] == [
        [1],
        [1],
        [1, 2],
        [1, 2, 3],
        [1, 2, 3, 4],
    ]


async def a_page_never_finds_itself_in_any_version(store: TableStore) -> None:
    await store.probe_and_insert(entries((5, 1, 1)), 3, WIDE_CAP)

    answer = await store.probe_and_insert(entries((5, 1, 1), (4, 1, 2)), 3, WIDE_CAP)

    assert found(answer) == []


async def inserting_again_changes_nothing(store: TableStore) -> None:
    for _ in range(3):
        await store.probe_and_insert(entries((5, 1, 1), (6, 2, 1)), 3, WIDE_CAP)

    assert found(await store.probe(entries((5, 9, 1)), 3, WIDE_CAP)) == [(0, 1, 1, 0), (0, 2, 1, 2)]


async def probing_stores_nothing(store: TableStore) -> None:
    await store.probe(entries((5, 1, 1), (5, 2, 1)), 3, WIDE_CAP)

    assert found(await store.probe(entries((5, 9, 1)), 3, WIDE_CAP)) == []


async def ranges_end_where_the_prefix_ends(store: TableStore) -> None:
    """The last rest of a range is in it, with the highest handle and version; the next rest is not."""
    last, after = (1 << 16) - 1, 1 << 16
    top = 2**64 - 1
    await store.probe_and_insert(entries((last, top, 255), (after, 2, 1)), 0, WIDE_CAP)

    answer = await store.probe(entries((0, 9, 1)), 56, WIDE_CAP)

    assert found(answer) == [(0, top, 255, 16)]


async def the_highest_range_has_an_end_too(store: TableStore) -> None:
    rest = (1 << 8 * REST_BYTES) - 1
    await store.probe_and_insert(entries((rest, 1, 1)), 0, WIDE_CAP)

    assert found(await store.probe(entries((rest, 2, 1)), 0, WIDE_CAP)) == [(0, 1, 1, 0)]


async def leading_bytes_do_not_see_each_other(store: TableStore) -> None:
    await store.probe_and_insert(entries((5, 1, 1), leading_byte=0x00), 3, WIDE_CAP)

    assert found(await store.probe(entries((5, 2, 1), leading_byte=0xFF), 3, WIDE_CAP)) == []


async def handles_and_rests_keep_all_their_bits(store: TableStore) -> None:
    rest = 0x81_23_45_67_89_AB_00
    handle = 0xFEDC_BA98_7654_3211
    await store.probe_and_insert(entries((rest, handle, 1)), 0, WIDE_CAP)

    assert found(await store.probe(entries((rest ^ 1, 7, 1)), 1, WIDE_CAP)) == [(0, handle, 1, 1)]


async def the_cap_limits_what_is_read_and_is_counted(store: TableStore) -> None:
    cap = 5
    counts = []
    for handle in range(cap + 2):
        answer = await store.probe_and_insert(entries((5, handle, 1)), 3, cap)
        counts.append((len(answer.rows), answer.bucket_cap_hits))

    assert counts == [(0, 0), (1, 0), (2, 0), (3, 0), (4, 0), (5, 0), (5, 1)]


async def an_empty_batch_is_an_empty_answer(store: TableStore) -> None:
    answer = await store.probe_and_insert(entries(), 3, WIDE_CAP)

    assert (found(answer), answer.bucket_cap_hits) == ([], 0)


async def of_two_callers_at_once_at_least_one_finds_the_other(store: TableStore) -> None:
    for round_number in range(20):
        rest = round_number << 16
        answers = await asyncio.gather(
            store.probe_and_insert(entries((rest, 2 * round_number, 1)), 3, WIDE_CAP),
            store.probe_and_insert(entries((rest, 2 * round_number + 1, 1)), 3, WIDE_CAP),
        )

        assert sum(len(answer.rows) for answer in answers) >= 1


async def many_entries_keep_their_order_across_calls(store: TableStore) -> None:
    """More entries than one script call takes: every page finds all before it."""
    count = 900
    answer = await store.probe_and_insert(
        entries(*((row << 16, row, 1) for row in range(count)), (0, count, 1)), 0, WIDE_CAP
    )

    assert found(answer) == [(count, 0, 1, 0)]


TABLE_CLAIMS = [
    a_later_page_of_a_batch_finds_the_earlier,
    a_later_batch_finds_what_an_earlier_one_stored,
    the_distance_filter_is_inclusive,
    a_page_never_finds_itself_in_any_version,
    inserting_again_changes_nothing,
    probing_stores_nothing,
    ranges_end_where_the_prefix_ends,
    the_highest_range_has_an_end_too,
    leading_bytes_do_not_see_each_other,
    handles_and_rests_keep_all_their_bits,
    the_cap_limits_what_is_read_and_is_counted,
    an_empty_batch_is_an_empty_answer,
    of_two_callers_at_once_at_least_one_finds_the_other,
    many_entries_keep_their_order_across_calls,
]
