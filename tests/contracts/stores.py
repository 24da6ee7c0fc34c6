"""What every RecordStore promises, as functions over a store."""

import asyncio

from neardup_stream.page import Handle
from neardup_stream.stores.protocol import RecordChange, RecordStore

__all__ = ["RECORD_CLAIMS"]

LOW, HIGH = Handle(0), Handle(2**64 - 1)


async def what_was_never_stored_is_none(store: RecordStore) -> None:
    assert await store.fetch([LOW, HIGH]) == [None, None]


async def a_first_value_is_stored_when_nothing_was_expected(store: RecordStore) -> None:
    stored = await store.replace([RecordChange(LOW, None, b"a\x00"), RecordChange(HIGH, None, b"b")])

    assert stored == [b"a\x00", b"b"]
    assert await store.fetch([HIGH, LOW]) == [b"b", b"a\x00"]


async def a_value_that_was_not_expected_stays_and_is_told(store: RecordStore) -> None:
    await store.replace([RecordChange(LOW, None, b"first")])

    assert await store.replace([RecordChange(LOW, None, b"second")]) == [b"first"]
    assert await store.replace([RecordChange(LOW, b"other", b"second")]) == [b"first"]
    assert await store.fetch([LOW]) == [b"first"]


async def an_expected_value_is_replaced(store: RecordStore) -> None:
    await store.replace([RecordChange(LOW, None, b"first")])

    assert await store.replace([RecordChange(LOW, b"first", b"second")]) == [b"second"]


async def an_expected_value_that_is_absent_is_not_replaced(store: RecordStore) -> None:
    assert await store.replace([RecordChange(LOW, b"first", b"second")]) == [None]
    assert await store.fetch([LOW]) == [None]


async def replacing_twice_is_replacing_once(store: RecordStore) -> None:
    change = RecordChange(LOW, None, b"first")

    assert [await store.replace([change]), await store.replace([change])] == [[b"first"], [b"first"]]


async def a_large_value_is_kept_whole(store: RecordStore) -> None:
    value = bytes(range(256)) * 64

    await store.replace([RecordChange(HIGH, None, value)])

    assert await store.fetch([HIGH]) == [value]


async def nothing_asked_is_nothing_answered(store: RecordStore) -> None:
    assert await store.fetch([]) == []
    assert await store.replace([]) == []


async def of_eight_writers_at_once_one_wins(store: RecordStore) -> None:
    answers = await asyncio.gather(
        *(store.replace([RecordChange(LOW, None, b"writer %d" % writer)]) for writer in range(8))
    )

    assert len({value for answer in answers for value in answer}) == 1


async def many_handles_come_back_in_order(store: RecordStore) -> None:
    handles = [Handle(i * 0x9E37_79B9_7F4A_7C15 % 2**64) for i in range(500)]
    await store.replace([RecordChange(handle, None, b"%d" % handle) for handle in handles[::2]])

    assert await store.fetch(handles) == [
        b"%d" % handle if row % 2 == 0 else None for row, handle in enumerate(handles)
    ]


RECORD_CLAIMS = [
    what_was_never_stored_is_none,
    a_first_value_is_stored_when_nothing_was_expected,
    a_value_that_was_not_expected_stays_and_is_told,
    an_expected_value_is_replaced,
    an_expected_value_that_is_absent_is_not_replaced,
    replacing_twice_is_replacing_once,
    a_large_value_is_kept_whole,
    nothing_asked_is_nothing_answered,
    of_eight_writers_at_once_one_wins,
    many_handles_come_back_in_order,
]
