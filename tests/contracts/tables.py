"""What every TableStore promises, as functions over a store."""

import asyncio

import numpy as np

from neardup_stream.stores.protocol import ProbeAnswer, ProbeLimits, TableEntries, TableMembers, TableStore

__all__ = ["TABLE_CLAIMS"]

REST_BYTES = 7
SAME_REST = 4
WIDE = 1000


def entries(
    *pages: tuple[int, int, int], low_bits: int = 16, leading_byte: int = 0xA5, suffix_bytes: int = REST_BYTES
) -> TableEntries:
    """Entries of one set of table 0: (rest, handle, version byte) each, ranges ignoring `low_bits`.

    Without low bits the rests are words: only equal ones match.
    """
    count = len(pages)
    rests, handles, version_bytes = np.array(pages, dtype=np.uint64).reshape(-1, 3).T
    below = np.uint64((1 << low_bits) - 1)
    return TableEntries(
        rows=np.arange(count, dtype=np.uint32),
        members=TableMembers(
            tables=np.zeros(count, dtype=np.uint8),
            leading_bytes=np.full(count, leading_byte, dtype=np.uint8),
            buckets=np.zeros(count, dtype=np.uint32),
            rests=rests,
            suffix_bytes=np.full(count, suffix_bytes if low_bits else 0, dtype=np.uint8),
            handles=handles,
            version_bytes=version_bytes.astype(np.uint8),
        ),
        lows=rests & ~below,
        highs=rests | below,
    )


def within(
    distance_bits: int, *, cap: int = 1, considered: int = WIDE, candidates: int = WIDE
) -> ProbeLimits:
    """Limits that do not bite, unless they are named; any two members are an oversized bucket."""
    return ProbeLimits(distance_bits, cap, considered, SAME_REST, candidates)


def found(answer: ProbeAnswer, probing: TableEntries) -> list[tuple[int, int, int, int]]:
    """(row, handle, version byte, distance) of each member, sorted."""
    distances = np.bitwise_count(answer.members.rests ^ probing.members.rests[answer.entries])
    columns = (
        probing.rows[answer.entries],
        answer.members.handles,
        answer.members.version_bytes,
        distances,
    )
    return sorted(zip(*(column.tolist() for column in columns), strict=True))


async def inserted(
    store: TableStore, probing: TableEntries, limits: ProbeLimits
) -> list[tuple[int, int, int, int]]:
    """What is found while inserting."""
    return found(await store.probe_and_insert(probing, limits), probing)


async def probed(
    store: TableStore, probing: TableEntries, limits: ProbeLimits
) -> list[tuple[int, int, int, int]]:
    """What is found without inserting."""
    return found(await store.probe(probing, limits), probing)


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
    """The last rest of a range is in it, with the highest handle and version; the next rest is not."""
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


async def of_an_oversized_bucket_so_many_are_considered_and_more_are_counted(store: TableStore) -> None:
    for limit in (1, 5, 40):
        stored = entries(*((rest, rest, 1) for rest in range(limit + 1)), leading_byte=limit)
        outcomes = []
        for count in range(limit - 1, limit + 2):
            await store.probe_and_insert(entries(*_members_of(stored)[:count], leading_byte=limit), within(0))
            answer = await store.probe(entries((0, 999, 1), leading_byte=limit), within(64, considered=limit))
            outcomes.append((len(answer.entries), answer.bucket_cap_hits, answer.truncated.tolist()))

        assert outcomes == [(limit - 1, 0, []), (limit, 0, []), (limit, 1, [0])]


async def far_members_of_an_oversized_bucket_are_considered_too(store: TableStore) -> None:
    far = [(0xFF00 + rest, rest, 1) for rest in range(5)]
    await store.probe_and_insert(entries(*far), within(0))
    probing = entries((0xFFFF, 999, 1), leading_byte=0xA5)

    capped = await store.probe(probing, within(0, considered=4))
    whole = await store.probe(probing, within(0, considered=5))

    assert (capped.bucket_cap_hits, capped.truncated.tolist()) == (1, [0])
    assert (whole.bucket_cap_hits, whole.truncated.tolist()) == (0, [])


async def the_limit_of_a_oversized_buckets_candidates_is_counted(store: TableStore) -> None:
    """Only what is reported counts towards it, so far members do not."""
    near = [(rest, 1 + rest, 1) for rest in (1, 2, 4, 8, 16)]
    far = [(0xFF00 + rest, 100 + rest, 1) for rest in range(50)]
    await store.probe_and_insert(entries(*near, *far), within(0))

    answers = [await store.probe(entries((0, 999, 1)), within(1, candidates=limit)) for limit in (4, 5, 6)]

    assert [len(answer.entries) for answer in answers] == [4, 5, 5]
    assert [(answer.bucket_cap_hits, answer.truncated.tolist()) for answer in answers] == [
        (1, [0]),
        (0, []),
        (0, []),
    ]


async def all_oversized_buckets_of_a_page_together_give_so_many_pages(store: TableStore) -> None:
    """Who is known from one oversized bucket may be reported of another; of smaller ranges every page is."""
    for leading_byte in (1, 2, 3):
        shared = ((rest, 1 + rest, 1) for rest in (1, 2, 4))
        own = ((rest, leading_byte * 100 + rest, 1) for rest in (8, 16))
        await store.probe_and_insert(entries(*shared, *own, leading_byte=leading_byte), within(0))
    await store.probe_and_insert(entries((1, 999, 1), leading_byte=4), within(0))
    probes = [entries((0, 0, 1), leading_byte=leading_byte) for leading_byte in (1, 2, 3, 4)]
    probing = TableEntries(
        rows=np.zeros(4, dtype=np.uint32),
        members=TableMembers(*map(np.concatenate, zip(*(each.members for each in probes), strict=True))),
        lows=np.concatenate([each.lows for each in probes]),
        highs=np.concatenate([each.highs for each in probes]),
    )

    answer = await store.probe(probing, within(1, candidates=6))

    reported = set(answer.members.handles.tolist())
    assert {2, 3, 5, 108, 116, 208, 999} == reported
    assert (answer.truncated.tolist(), answer.bucket_cap_hits) == ([1, 2], 2)


async def only_an_oversized_bucket_is_sampled(store: TableStore) -> None:
    """A range within the limit is reported whole, whatever its size and however equal its suffixes."""
    for low_bits, count in ((0, 50), (16, 50), (0, 5), (16, 5)):
        where = {"low_bits": low_bits, "leading_byte": low_bits + count}
        stored = entries(*((5, 1 + i, 1) for i in range(count)), **where)
        await store.probe_and_insert(stored, within(0, cap=WIDE))
        probing = entries((5, 0, 1), **where)

        answers = [
            await store.probe(probing, within(3, cap=cap, candidates=2))
            for cap in (count - 1, count, count + 1)
        ]

        assert [len(answer.entries) for answer in answers] == [2, count, count]
        assert [answer.truncated.tolist() for answer in answers] == [[0], [], []]


async def of_one_rest_the_lowest_members_of_a_range_are_considered(store: TableStore) -> None:
    """Of a word, those that came first."""
    for low_bits, last in ((16, [1, 2, 3, 4]), (0, [3, 4, 5, 6])):
        where = {"low_bits": low_bits, "leading_byte": low_bits}
        outcomes = []
        for handle in range(SAME_REST + 2, 0, -1):
            await store.probe_and_insert(entries((5, handle, 1), **where), within(0, cap=WIDE))
            probing = entries((5, 0, 1), **where)
            answer = await store.probe(probing, within(3))
            handles = sorted(answer.members.handles.tolist())
            outcomes.append((handles, answer.truncated.tolist(), answer.bucket_cap_hits))

        assert outcomes[:4] == [([6], [], 0), ([5, 6], [], 0), ([4, 5, 6], [], 0), ([3, 4, 5, 6], [], 0)]
        assert outcomes[5] == (last, [0], 0)


async def a_word_keeps_one_member_more_than_its_cap(store: TableStore) -> None:
    """So it is known to be an oversized bucket; one page in eight enters it, and the oldest leaves."""
    for cap in (1, 3, 40):
        where = {"low_bits": 0, "leading_byte": cap}
        first = [(5, 8 * i + 1, 1) for i in range(cap + 1)]
        await store.probe_and_insert(entries(*first, **where), within(0, cap=cap))
        for handle in (*range(8000, 8016), 8008):
            await store.probe_and_insert(entries((5, handle, 2), **where), within(0, cap=cap))

        kept = await probed(store, entries((5, 0, 1), **where), within(0, cap=cap + 1))

        assert kept == sorted(
            [*((0, handle, 1, 0) for _, handle, _ in first[2:]), (0, 8000, 2, 0), (0, 8008, 2, 0)]
        )


async def a_page_that_an_oversized_bucket_does_not_take_in_is_told(store: TableStore) -> None:
    oversized = entries(*((5, 1 + i, 1) for i in range(30)), low_bits=0)

    answer = await store.probe_and_insert(oversized, within(0, cap=4))

    assert answer.truncated.tolist() == list(range(5, 30))


async def a_word_from_which_all_went_begins_again(store: TableStore) -> None:
    stored = entries((5, 1, 1), (5, 2, 1), low_bits=0)
    await store.probe_and_insert(stored, within(0))

    assert await store.remove(stored.members) == 2
    assert await inserted(store, entries((5, 3, 1), (5, 4, 1), low_bits=0), within(0)) == [(1, 3, 1, 0)]


async def words_of_two_bytes_are_kept_whole(store: TableStore) -> None:
    """Also those that read as numbers."""
    words = [0, 1, 0x00FF, 0x0100, 0x3030, 0x3130, 0x2D31, 0x3939, 0xFFFF]
    stored = entries(*((word, word, 1) for word in words), low_bits=0)

    assert await inserted(store, stored, within(0)) == []
    assert await probed(store, entries(*((word, 9, 9) for word in words), low_bits=0), within(0)) == [
        (row, word, 1, 0) for row, word in enumerate(words)
    ]


async def behind_many_equal_rests_the_next_is_found(store: TableStore) -> None:
    """More equal rests than may be considered: they are passed over, and that limit does not bite."""
    oversized = [(5, handle, 1) for handle in range(100, 200)]
    await store.probe_and_insert(entries(*oversized, (4, 1, 1), (6, 2, 1), (7, 3, 1)), within(0))

    probing = entries((7, 9, 1))
    answer = await store.probe(probing, within(1, considered=7))

    assert found(answer, probing) == [
        (0, 2, 1, 1),
        (0, 3, 1, 0),
        *((0, handle, 1, 1) for handle in range(100, 104)),
    ]
    assert (answer.bucket_cap_hits, answer.truncated.tolist()) == (0, [0])


async def many_equal_rests_that_are_too_far_truncate_nothing(store: TableStore) -> None:
    await store.probe_and_insert(entries(*((5, handle, 1) for handle in range(100))), within(0))

    answer = await store.probe(entries((5 ^ 0xFF, 999, 1)), within(3, considered=SAME_REST))

    assert (len(answer.entries), answer.bucket_cap_hits, answer.truncated.tolist()) == (0, 0, [])


async def ones_own_members_take_no_place(store: TableStore) -> None:
    """Whatever versions of the page itself are stored, it sees as many others."""
    for low_bits in (0, 16):
        where = {"low_bits": low_bits, "leading_byte": low_bits}
        own = [(5, 0, version) for version in range(40)]
        others = [(5, handle, 1) for handle in range(1, SAME_REST + 1)]
        await store.probe_and_insert(entries(*own, *others, **where), within(0, cap=WIDE))

        answer = await store.probe(entries((5, 0, 1), **where), within(3, considered=SAME_REST))

        assert answer.members.handles.tolist() == [1, 2, 3, 4]
        assert (answer.bucket_cap_hits, answer.truncated.tolist()) == (0, [])


async def what_is_removed_is_not_found(store: TableStore) -> None:
    stored = entries((5, 1, 1), (5, 2, 1), (6, 3, 1))
    await store.probe_and_insert(stored, within(0))

    assert await store.remove(stored.members.take(np.array([0, 2]))) == 2
    assert await probed(store, entries((5, 9, 1)), within(3)) == [(0, 2, 1, 0)]


async def removing_takes_the_exact_member_and_may_be_repeated(store: TableStore) -> None:
    for low_bits in (0, 16):
        where = {"low_bits": low_bits, "leading_byte": low_bits}
        await store.probe_and_insert(entries((5, 1, 1), (5, 1, 2), **where), within(0))
        absent = entries((6, 1, 1), (5, 2, 1), (5, 1, 3), **where).members

        assert await store.remove(absent) == 0
        assert [await store.remove(entries((5, 1, 1), **where).members) for _ in range(2)] == [1, 0]
        assert await probed(store, entries((5, 9, 1), **where), within(3)) == [(0, 1, 2, 0)]


async def what_a_probe_found_can_be_removed_by_it(store: TableStore) -> None:
    await store.probe_and_insert(entries((5, 1, 1), (6, 2**64 - 1, 255), (0xFF, 3, 1)), within(0))
    answer = await store.probe(entries((4, 9, 1)), within(3))

    assert await store.remove(answer.members) == 2
    assert await probed(store, entries((0xFF, 9, 1)), within(64)) == [(0, 3, 1, 0)]


async def many_members_are_removed_across_calls(store: TableStore) -> None:
    stored = entries(*((row << 16, row, 1) for row in range(900)))
    await store.probe_and_insert(stored, within(0))

    assert [await store.remove(stored.members) for _ in range(2)] == [900, 0]


async def an_empty_batch_is_an_empty_answer(store: TableStore) -> None:
    nothing = entries()
    answer = await store.probe_and_insert(nothing, within(3))

    assert (found(answer, nothing), answer.truncated.tolist(), answer.bucket_cap_hits) == ([], [], 0)
    assert await store.remove(nothing.members) == 0


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


def _members_of(stored: TableEntries) -> list[tuple[int, int, int]]:
    members = stored.members
    return list(
        zip(members.rests.tolist(), members.handles.tolist(), members.version_bytes.tolist(), strict=True)
    )


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
    of_an_oversized_bucket_so_many_are_considered_and_more_are_counted,
    far_members_of_an_oversized_bucket_are_considered_too,
    the_limit_of_a_oversized_buckets_candidates_is_counted,
    all_oversized_buckets_of_a_page_together_give_so_many_pages,
    only_an_oversized_bucket_is_sampled,
    of_one_rest_the_lowest_members_of_a_range_are_considered,
    a_word_keeps_one_member_more_than_its_cap,
    a_page_that_an_oversized_bucket_does_not_take_in_is_told,
    a_word_from_which_all_went_begins_again,
    words_of_two_bytes_are_kept_whole,
    behind_many_equal_rests_the_next_is_found,
    many_equal_rests_that_are_too_far_truncate_nothing,
    ones_own_members_take_no_place,
    what_is_removed_is_not_found,
    removing_takes_the_exact_member_and_may_be_repeated,
    what_a_probe_found_can_be_removed_by_it,
    many_members_are_removed_across_calls,
    an_empty_batch_is_an_empty_answer,
    of_two_callers_at_once_at_least_one_finds_the_other,
    many_entries_keep_their_order_across_calls,
    pages_of_large_buckets_find_all_before_them,
]
