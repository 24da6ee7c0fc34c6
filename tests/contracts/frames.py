"""What every FrameStore promises, as functions over a store."""

import asyncio

from neardup_stream.stores.frame_store import FrameChange, FrameStore

__all__ = ["FRAME_CLAIMS"]

LOW, NEXT_TO_LOW, HIGH = 0, 1, 2**64 - 1


def packed(stamp: int, body: bytes = b"") -> bytes:
    """Return a table as stores know it: a stamp, and something behind it."""
    return stamp.to_bytes(8, "big") + body


def change(site: int, expected: int | None, new: bytes) -> FrameChange:
    """Return one that expects a stamp, or no table."""
    return FrameChange(site, b"" if expected is None else expected.to_bytes(8, "big"), new)


async def a_site_that_was_never_stored_is_none(store: FrameStore) -> None:
    assert await store.fetch([LOW, HIGH]) == [None, None]


async def a_first_table_is_stored_when_none_was_expected(store: FrameStore) -> None:
    answers = await store.replace(
        [change(LOW, None, packed(1, b"a\x00")), change(HIGH, None, packed(2, b"b"))]
    )

    assert answers == [None, None]
    assert await store.fetch([HIGH, LOW]) == [packed(2, b"b"), packed(1, b"a\x00")]


async def a_table_with_the_expected_stamp_is_replaced(store: FrameStore) -> None:
    await store.replace([change(LOW, None, packed(1, b"first"))])

    assert await store.replace([change(LOW, 1, packed(2, b"second"))]) == [None]
    assert await store.fetch([LOW]) == [packed(2, b"second")]


async def a_table_with_another_stamp_stays_and_is_returned(store: FrameStore) -> None:
    await store.replace([change(LOW, None, packed(1, b"first"))])

    assert await store.replace([change(LOW, None, packed(2))]) == [packed(1, b"first")]
    assert await store.replace([change(LOW, 3, packed(2))]) == [packed(1, b"first")]
    assert await store.fetch([LOW]) == [packed(1, b"first")]


async def an_expected_table_that_is_absent_is_not_written(store: FrameStore) -> None:
    assert await store.replace([change(LOW, 1, packed(2))]) == [b""]
    assert await store.fetch([LOW]) == [None]


async def a_repeated_change_changes_nothing(store: FrameStore) -> None:
    first, second = change(LOW, None, packed(1, b"a")), change(LOW, 1, packed(2, b"b"))

    answers = [await store.replace([each]) for each in (first, first, second, second)]

    assert answers == [[None]] * 4
    assert await store.fetch([LOW]) == [packed(2, b"b")]


async def a_change_that_is_repeated_after_another_write_is_refused(store: FrameStore) -> None:
    await store.replace([change(LOW, None, packed(1))])
    await store.replace([change(LOW, 1, packed(2))])

    assert await store.replace([change(LOW, None, packed(1))]) == [packed(2)]
    assert await store.fetch([LOW]) == [packed(2)]


async def changes_of_one_site_in_one_call_follow_each_other(store: FrameStore) -> None:
    assert await store.replace([change(LOW, None, packed(1)), change(LOW, 1, packed(2))]) == [None, None]
    assert await store.fetch([LOW]) == [packed(2)]


async def a_refused_change_does_not_keep_back_the_others_of_its_call(store: FrameStore) -> None:
    await store.replace([change(NEXT_TO_LOW, None, packed(1))])

    answers = await store.replace(
        [change(LOW, None, packed(2)), change(NEXT_TO_LOW, None, packed(3)), change(HIGH, None, packed(4))]
    )

    assert answers == [None, packed(1), None]
    assert await store.fetch([LOW, NEXT_TO_LOW, HIGH]) == [packed(2), packed(1), packed(4)]


async def a_removed_site_is_gone_and_begins_anew(store: FrameStore) -> None:
    await store.replace([change(LOW, None, packed(1)), change(NEXT_TO_LOW, None, packed(2))])

    assert [await store.remove(LOW), await store.remove(LOW)] == [True, False]
    assert await store.fetch([LOW, NEXT_TO_LOW]) == [None, packed(2)]
    assert await store.replace([change(LOW, None, packed(3))]) == [None]


async def a_large_table_is_kept_whole(store: FrameStore) -> None:
    table = packed(1, bytes(range(256)) * 1280)

    await store.replace([change(HIGH, None, table)])

    assert await store.fetch([HIGH]) == [table]


async def an_empty_call_has_an_empty_answer(store: FrameStore) -> None:
    assert await store.fetch([]) == []
    assert await store.replace([]) == []


async def of_eight_writers_at_once_one_wins(store: FrameStore) -> None:
    answers = await asyncio.gather(
        *(store.replace([change(LOW, None, packed(1 + writer))]) for writer in range(8))
    )

    (stored,) = await store.fetch([LOW])
    assert [answer for (answer,) in answers].count(None) == 1
    assert {answer for (answer,) in answers} == {None, stored}


async def many_sites_are_returned_in_order(store: FrameStore) -> None:
    sites = [i * 0x9E37_79B9_7F4A_7C15 % 2**64 for i in range(500)]
    await store.replace([change(site, None, packed(1 + row)) for row, site in enumerate(sites) if row % 2])

    assert await store.fetch(sites) == [packed(1 + row) if row % 2 else None for row in range(500)]


FRAME_CLAIMS = [
    a_site_that_was_never_stored_is_none,
    a_first_table_is_stored_when_none_was_expected,
    a_table_with_the_expected_stamp_is_replaced,
    a_table_with_another_stamp_stays_and_is_returned,
    an_expected_table_that_is_absent_is_not_written,
    a_repeated_change_changes_nothing,
    a_change_that_is_repeated_after_another_write_is_refused,
    changes_of_one_site_in_one_call_follow_each_other,
    a_refused_change_does_not_keep_back_the_others_of_its_call,
    a_removed_site_is_gone_and_begins_anew,
    a_large_table_is_kept_whole,
    an_empty_call_has_an_empty_answer,
    of_eight_writers_at_once_one_wins,
    many_sites_are_returned_in_order,
]
