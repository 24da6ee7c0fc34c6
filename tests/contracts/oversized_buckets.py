"""What every TableStore promises of buckets with many members, as functions over a store."""

import numpy as np

from neardup_stream.stores.protocol import TableEntries, TableMembers, TableStore
from tests.contracts.table_entries import SAME_REST, WIDE, entries, found, inserted, probed, within

__all__ = ["OVERSIZED_BUCKET_CLAIMS"]


async def of_an_oversized_bucket_so_many_are_considered_and_more_are_counted(store: TableStore) -> None:
    for limit in (1, 5, 40):
        stored = entries(*((suffix, suffix, 1) for suffix in range(limit + 1)), leading_byte=limit)
        outcomes = []
        for count in range(limit - 1, limit + 2):
            await store.probe_and_insert(entries(*_members_of(stored)[:count], leading_byte=limit), within(0))
            answer = await store.probe(entries((0, 999, 1), leading_byte=limit), within(64, considered=limit))
            outcomes.append((len(answer.entries), answer.bucket_cap_hits, answer.truncated.tolist()))

        assert outcomes == [(limit - 1, 0, []), (limit, 0, []), (limit, 1, [0])]


async def far_members_of_an_oversized_bucket_are_considered_too(store: TableStore) -> None:
    far = [(0xFF00 + suffix, suffix, 1) for suffix in range(5)]
    await store.probe_and_insert(entries(*far), within(0))
    probing = entries((0xFFFF, 999, 1), leading_byte=0xA5)

    capped = await store.probe(probing, within(0, considered=4))
    whole = await store.probe(probing, within(0, considered=5))

    assert (capped.bucket_cap_hits, capped.truncated.tolist()) == (1, [0])
    assert (whole.bucket_cap_hits, whole.truncated.tolist()) == (0, [])


async def the_limit_of_candidates_of_oversized_buckets_is_counted(store: TableStore) -> None:
    """Only what is reported counts towards it, so far members do not."""
    near = [(suffix, 1 + suffix, 1) for suffix in (1, 2, 4, 8, 16)]
    far = [(0xFF00 + suffix, 100 + suffix, 1) for suffix in range(50)]
    await store.probe_and_insert(entries(*near, *far), within(0))

    answers = [await store.probe(entries((0, 999, 1)), within(1, candidates=limit)) for limit in (4, 5, 6)]

    assert [len(answer.entries) for answer in answers] == [4, 5, 5]
    assert [(answer.bucket_cap_hits, answer.truncated.tolist()) for answer in answers] == [
        (1, [0]),
        (0, []),
        (0, []),
    ]


async def all_oversized_buckets_of_a_page_together_give_so_many_pages(store: TableStore) -> None:
    """A page reported of one oversized bucket may be reported of another; of smaller ranges every page is."""
    for leading_byte in (1, 2, 3):
        shared = ((suffix, 1 + suffix, 1) for suffix in (1, 2, 4))
        own = ((suffix, leading_byte * 100 + suffix, 1) for suffix in (8, 16))
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
    """So the bucket is known to be oversized; one page in eight enters it, and the oldest leaves."""
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


async def a_page_that_does_not_enter_an_oversized_bucket_is_reported(store: TableStore) -> None:
    oversized = entries(*((5, 1 + i, 1) for i in range(30)), low_bits=0)

    answer = await store.probe_and_insert(oversized, within(0, cap=4))

    assert answer.truncated.tolist() == list(range(5, 30))


async def a_word_from_which_all_went_begins_again(store: TableStore) -> None:
    stored = entries((5, 1, 1), (5, 2, 1), low_bits=0)
    await store.probe_and_insert(stored, within(0))

    await store.remove(stored.members)

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
    """More equal suffixes than may be considered: they are passed over, and that limit does not bite."""
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


def _members_of(stored: TableEntries) -> list[tuple[int, int, int]]:
    members = stored.members
    return list(
        zip(members.suffixes.tolist(), members.handles.tolist(), members.version_bytes.tolist(), strict=True)
    )


OVERSIZED_BUCKET_CLAIMS = [
    of_an_oversized_bucket_so_many_are_considered_and_more_are_counted,
    far_members_of_an_oversized_bucket_are_considered_too,
    the_limit_of_candidates_of_oversized_buckets_is_counted,
    all_oversized_buckets_of_a_page_together_give_so_many_pages,
    only_an_oversized_bucket_is_sampled,
    of_one_rest_the_lowest_members_of_a_range_are_considered,
    a_word_keeps_one_member_more_than_its_cap,
    a_page_that_does_not_enter_an_oversized_bucket_is_reported,
    a_word_from_which_all_went_begins_again,
    words_of_two_bytes_are_kept_whole,
    behind_many_equal_rests_the_next_is_found,
    many_equal_rests_that_are_too_far_truncate_nothing,
    ones_own_members_take_no_place,
]
