"""What every RecordStore promises, as functions over a store."""

import asyncio

from neardup_stream.page import Handle
from neardup_stream.stores.protocol import (
    RankWrite,
    RecordAnswer,
    RecordChange,
    RecordDrop,
    RecordStore,
    all_records,
)

__all__ = ["RECORD_CLAIMS"]

LOW, NEXT_TO_LOW, HIGH = Handle(0), Handle(1), Handle(2**64 - 1)


def record(version_byte: int, rank: int = 0) -> bytes:
    """Return a header as writes of ranks know it, and something behind it."""
    return rank.to_bytes(6, "big") + bytes([version_byte]) + b"\x00body"


async def what_was_never_stored_is_none(store: RecordStore) -> None:
    assert await store.fetch([LOW, HIGH]) == [None, None]


async def a_first_value_is_stored_when_nothing_was_expected(store: RecordStore) -> None:
    answers = await store.replace([RecordChange(LOW, None, b"a\x00"), RecordChange(HIGH, None, b"b")])

    assert answers == [RecordAnswer(b"a\x00"), RecordAnswer(b"b")]
    assert await store.fetch([HIGH, LOW]) == [b"b", b"a\x00"]


async def a_value_that_was_not_expected_stays_and_is_returned(store: RecordStore) -> None:
    await store.replace([RecordChange(LOW, None, b"first")])

    assert await store.replace([RecordChange(LOW, None, b"second")]) == [RecordAnswer(b"first")]
    assert await store.replace([RecordChange(LOW, b"other", b"second")]) == [RecordAnswer(b"first")]
    assert await store.fetch([LOW]) == [b"first"]


async def an_expected_value_is_replaced(store: RecordStore) -> None:
    await store.replace([RecordChange(LOW, None, b"first")])

    assert await store.replace([RecordChange(LOW, b"first", b"second")]) == [RecordAnswer(b"second")]
    assert await store.fetch([LOW]) == [b"second"]


async def an_expected_value_that_is_absent_is_not_replaced(store: RecordStore) -> None:
    assert await store.replace([RecordChange(LOW, b"first", b"second")]) == [RecordAnswer(None)]
    assert await store.fetch([LOW]) == [None]


async def replacing_twice_is_replacing_once(store: RecordStore) -> None:
    change = RecordChange(LOW, None, b"first")

    answers = [await store.replace([change]), await store.replace([change])]

    assert answers == [[RecordAnswer(b"first")]] * 2


async def changes_of_one_handle_in_one_call_follow_each_other(store: RecordStore) -> None:
    answers = await store.replace([RecordChange(LOW, None, b"first"), RecordChange(LOW, b"first", b"second")])

    assert answers == [RecordAnswer(b"first"), RecordAnswer(b"second")]


async def a_write_of_a_rank_changes_nothing_else(store: RecordStore) -> None:
    await store.replace([RecordChange(LOW, None, record(version_byte=7)), RecordChange(HIGH, None, b"other")])

    await store.write_ranks([RankWrite(LOW, 7, rank=2**48 - 1)])

    assert await store.fetch([LOW, HIGH]) == [b"\xff" * 6 + record(version_byte=7)[6:], b"other"]


async def a_rank_of_another_version_changes_nothing(store: RecordStore) -> None:
    await store.replace([RecordChange(LOW, None, record(version_byte=7))])

    await store.write_ranks(
        [RankWrite(LOW, 6, rank=5), RankWrite(LOW, 8, rank=5), RankWrite(HIGH, 7, rank=5)]
    )

    assert await store.fetch([LOW, HIGH]) == [record(version_byte=7), None]


async def writing_a_rank_twice_is_writing_it_once(store: RecordStore) -> None:
    await store.replace([RecordChange(LOW, None, record(version_byte=255))])

    for _ in range(2):
        await store.write_ranks([RankWrite(LOW, 255, rank=5)])

    assert await store.fetch([LOW]) == [record(version_byte=255, rank=5)]


async def a_record_with_its_rank_is_another_value_to_its_writer(store: RecordStore) -> None:
    await store.replace([RecordChange(LOW, None, record(version_byte=1))])
    await store.write_ranks([RankWrite(LOW, 1, rank=5)])

    answers = await store.replace([RecordChange(LOW, record(version_byte=1), b"second")])

    assert answers == [RecordAnswer(record(version_byte=1, rank=5))]


async def a_dropped_record_is_gone_and_leaves_its_floor(store: RecordStore) -> None:
    await store.replace([RecordChange(LOW, None, b"old")])

    assert await store.drop([RecordDrop(LOW, b"old", floor=3)]) == [True]
    assert await store.fetch([LOW]) == [None]
    assert await store.replace([RecordChange(NEXT_TO_LOW, None, b"new", floor=0)]) == [
        RecordAnswer(None, floor=3)
    ]
    assert await store.replace([RecordChange(NEXT_TO_LOW, None, b"new", floor=4)]) == [
        RecordAnswer(None, floor=3)
    ]
    assert await store.replace([RecordChange(NEXT_TO_LOW, None, b"new", floor=3)]) == [RecordAnswer(b"new")]


async def a_handle_whose_record_was_dropped_is_remembered(store: RecordStore) -> None:
    await store.replace([RecordChange(LOW, None, b"old")])
    await store.drop([RecordDrop(LOW, b"old", floor=3)])

    answer = RecordAnswer(None, floor=3, was_dropped=True)
    assert await store.replace([RecordChange(LOW, None, b"new", floor=3)]) == [answer]
    assert await store.replace([RecordChange(NEXT_TO_LOW, None, b"a", 3, was_dropped=True)]) == [
        RecordAnswer(None, floor=3)
    ]
    change = RecordChange(LOW, None, b"new", floor=3, was_dropped=True)
    assert await store.replace([change]) == [RecordAnswer(b"new")]
    assert await store.replace([change]) == [RecordAnswer(b"new")]


async def a_floor_that_was_answered_is_known(store: RecordStore) -> None:
    await store.replace([RecordChange(LOW, None, b"old")])
    await store.drop([RecordDrop(LOW, b"old", floor=3)])
    await store.replace([RecordChange(NEXT_TO_LOW, None, b"new")])

    assert (store.known_floor(LOW), store.known_floor(HIGH)) == (3, 0)


async def a_record_that_changed_is_not_dropped(store: RecordStore) -> None:
    await store.replace([RecordChange(LOW, None, b"new")])

    assert await store.drop([RecordDrop(LOW, b"old", floor=3)]) == [False]
    assert await store.fetch([LOW]) == [b"new"]
    assert await store.replace([RecordChange(NEXT_TO_LOW, None, b"first")]) == [RecordAnswer(b"first")]


async def dropping_twice_is_dropping_once(store: RecordStore) -> None:
    await store.replace([RecordChange(LOW, None, b"old")])
    drop = RecordDrop(LOW, b"old", floor=3)

    assert [await store.drop([drop]), await store.drop([drop])] == [[True], [True]]


async def a_lost_record_leaves_a_floor_as_if_it_was_dropped(store: RecordStore) -> None:
    drop = RecordDrop(LOW, None, floor=3)

    assert [await store.drop([drop]), await store.drop([drop])] == [[True], [True]]
    answer = RecordAnswer(None, floor=3, was_dropped=True)
    assert await store.replace([RecordChange(LOW, None, b"new", floor=3)]) == [answer]
    assert await store.replace([RecordChange(NEXT_TO_LOW, None, b"a", 3)]) == [RecordAnswer(b"a")]


async def a_lost_record_is_remembered_where_the_floor_is_high_enough(store: RecordStore) -> None:
    await store.replace([RecordChange(LOW, None, b"old")])
    await store.drop([RecordDrop(LOW, b"old", floor=3)])

    assert await store.drop([RecordDrop(NEXT_TO_LOW, None, floor=3)]) == [True]
    answer = RecordAnswer(None, floor=3, was_dropped=True)
    assert await store.replace([RecordChange(NEXT_TO_LOW, None, b"new", floor=3)]) == [answer]


async def a_record_that_was_lost_before_its_drop_is_remembered(store: RecordStore) -> None:
    await store.replace([RecordChange(LOW, None, b"old")])
    await store.drop([RecordDrop(LOW, b"old", floor=3)])

    assert await store.drop([RecordDrop(NEXT_TO_LOW, b"lost", floor=4)]) == [False]
    assert await store.replace([RecordChange(NEXT_TO_LOW, None, b"new")]) == [RecordAnswer(None, floor=3)]
    assert await store.drop([RecordDrop(NEXT_TO_LOW, b"lost", floor=3)]) == [True]
    answer = RecordAnswer(None, floor=3, was_dropped=True)
    assert await store.replace([RecordChange(NEXT_TO_LOW, None, b"new")]) == [answer]


async def a_record_that_came_again_is_not_dropped_as_lost(store: RecordStore) -> None:
    await store.replace([RecordChange(LOW, None, b"new")])

    assert await store.drop([RecordDrop(LOW, None, floor=3)]) == [False]
    assert await store.fetch([LOW]) == [b"new"]
    assert await store.replace([RecordChange(NEXT_TO_LOW, None, b"first")]) == [RecordAnswer(b"first")]


async def a_floor_never_falls(store: RecordStore) -> None:
    await store.replace([RecordChange(LOW, None, b"a"), RecordChange(NEXT_TO_LOW, None, b"b")])

    await store.drop([RecordDrop(LOW, b"a", floor=9), RecordDrop(NEXT_TO_LOW, b"b", floor=2)])

    answer = RecordAnswer(None, floor=9, was_dropped=True)
    assert await store.replace([RecordChange(LOW, None, b"new")]) == [answer]


async def a_floor_holds_for_its_whole_slot_and_no_other(store: RecordStore) -> None:
    await store.replace([RecordChange(LOW, None, b"old")])
    await store.drop([RecordDrop(LOW, b"old", floor=3)])

    answers = await store.replace([RecordChange(NEXT_TO_LOW, None, b"a"), RecordChange(HIGH, None, b"b")])

    assert answers == [RecordAnswer(None, floor=3), RecordAnswer(b"b")]


async def what_is_stored_may_be_replaced_whatever_the_floor(store: RecordStore) -> None:
    await store.replace([RecordChange(LOW, None, b"old"), RecordChange(NEXT_TO_LOW, None, b"first")])
    await store.drop([RecordDrop(LOW, b"old", floor=3)])

    answers = await store.replace([RecordChange(NEXT_TO_LOW, b"first", b"second")])

    assert answers == [RecordAnswer(b"second")]


async def a_walk_meets_every_record_once_and_no_floor(store: RecordStore) -> None:
    handles = [Handle(i * 0x9E37_79B9_7F4A_7C15 % 2**64) for i in range(100)]
    await store.replace([RecordChange(handle, None, b"%d" % handle) for handle in handles])
    await store.drop([RecordDrop(handles[0], b"%d" % handles[0], floor=3)])

    walked = [each async for part in all_records(store) for each in part.records]
    apart = [
        each for slot in range(store.slot_count) for each in (await store.walk(slot, slot_limit=1)).records
    ]

    assert sorted(walked) == sorted(apart)
    assert sorted(walked) == sorted((handle, b"%d" % handle) for handle in handles[1:])


async def a_large_value_is_kept_whole(store: RecordStore) -> None:
    value = bytes(range(256)) * 64

    await store.replace([RecordChange(HIGH, None, value)])

    assert await store.fetch([HIGH]) == [value]


async def nothing_asked_is_nothing_answered(store: RecordStore) -> None:
    assert await store.fetch([]) == []
    assert await store.replace([]) == []
    assert await store.drop([]) == []
    assert [part.records async for part in all_records(store) if part.records] == []
    await store.write_ranks([])


async def of_eight_writers_at_once_one_wins(store: RecordStore) -> None:
    answers = await asyncio.gather(
        *(store.replace([RecordChange(LOW, None, b"writer %d" % writer)]) for writer in range(8))
    )

    assert len({value for answer in answers for value in answer}) == 1


async def many_handles_are_returned_in_order(store: RecordStore) -> None:
    handles = [Handle(i * 0x9E37_79B9_7F4A_7C15 % 2**64) for i in range(500)]
    await store.replace([RecordChange(handle, None, b"%d" % handle) for handle in handles[::2]])

    assert await store.fetch(handles) == [
        b"%d" % handle if row % 2 == 0 else None for row, handle in enumerate(handles)
    ]


RECORD_CLAIMS = [
    what_was_never_stored_is_none,
    a_first_value_is_stored_when_nothing_was_expected,
    a_value_that_was_not_expected_stays_and_is_returned,
    an_expected_value_is_replaced,
    an_expected_value_that_is_absent_is_not_replaced,
    replacing_twice_is_replacing_once,
    changes_of_one_handle_in_one_call_follow_each_other,
    a_write_of_a_rank_changes_nothing_else,
    a_rank_of_another_version_changes_nothing,
    writing_a_rank_twice_is_writing_it_once,
    a_record_with_its_rank_is_another_value_to_its_writer,
    a_dropped_record_is_gone_and_leaves_its_floor,
    a_handle_whose_record_was_dropped_is_remembered,
    a_floor_that_was_answered_is_known,
    a_record_that_changed_is_not_dropped,
    dropping_twice_is_dropping_once,
    a_lost_record_leaves_a_floor_as_if_it_was_dropped,
    a_lost_record_is_remembered_where_the_floor_is_high_enough,
    a_record_that_was_lost_before_its_drop_is_remembered,
    a_record_that_came_again_is_not_dropped_as_lost,
    a_floor_never_falls,
    a_floor_holds_for_its_whole_slot_and_no_other,
    what_is_stored_may_be_replaced_whatever_the_floor,
    a_walk_meets_every_record_once_and_no_floor,
    a_large_value_is_kept_whole,
    nothing_asked_is_nothing_answered,
    of_eight_writers_at_once_one_wins,
    many_handles_are_returned_in_order,
]
