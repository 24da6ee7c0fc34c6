"""What every ClusterStore promises of pages that age, as functions over a fresh store."""

from neardup_stream.page import Handle
from neardup_stream.stores.cluster_store import (
    AGED,
    DECIDED,
    SWEPT,
    Aged,
    CellAddress,
    ClusterStore,
    Transaction,
    partition_name,
)
from tests.contracts.cluster_cells import (
    FREE,
    HELD,
    HIGH,
    LOW,
    NEXT_RANK,
    PARTITION,
    appending,
    deciding,
    page,
    ranked,
    trim,
    value,
    writing,
)

__all__ = ["AGING_CLAIMS"]


async def a_row_that_is_trimmed_lets_its_page_age(store: ClusterStore) -> None:
    parts = appending(1, (0, LOW, 9), (1, HIGH, 9)), appending(3, rank=0)
    await store.commit(deciding(*parts, below=4, rank_count=2))

    assert await trim(store, 9) <= 2
    assert await store.due(3600, 10) == []
    assert await store.due(0, 10) == [Aged(1, LOW, 9), Aged(2, HIGH, 9)]


async def pages_that_began_to_age_together_stop_together(store: ClusterStore) -> None:
    places = [page(LOW), page(HIGH), page(Handle(7))]
    await store.commit(
        Transaction(
            floors={},
            expected={},
            writes={address: ranked(NEXT_RANK + number, FREE) for number, address in enumerate(places)}
            | {CellAddress(DECIDED, partition_name(PARTITION)): ranked(0, b"4")},
            appended=[
                appending(1, (0, LOW, 9), (1, HIGH, 9)),
                appending(2, (0, Handle(7), 9), rank=NEXT_RANK + 2),
            ],
            rank_count=3,
        )
    )
    await trim(store, 4)

    due = [await store.due(0, limit) for limit in (1, 2, 3)]
    await store.sweep(due[0][:1])
    untouched = await store.read(places)
    await store.sweep(due[0])

    together, last = [Aged(1, LOW, 9), Aged(2, HIGH, 9)], Aged(3, Handle(7), 9)
    assert due == [together, together, [*together, last]]
    assert untouched[0] == [ranked(number, FREE) for number in (1, 2, 3)]
    assert (await store.read(places))[0] == [None, None, ranked(3, FREE)]
    assert await store.due(0, 9) == [last]


async def a_page_that_nothing_holds_is_removed_when_it_is_old(store: ClusterStore) -> None:
    await store.commit(
        Transaction(
            floors={},
            expected={},
            writes={page(LOW): ranked(1, FREE), page(HIGH): ranked(2, HELD)},
        )
    )
    await store.age([Aged(1, LOW, 9), Aged(2, HIGH, 9)])
    young, due = await store.due(3600, 10), await store.due(0, 10)
    await store.sweep(due)
    await store.sweep(due)

    assert young == []
    assert due == [Aged(1, LOW, 9), Aged(2, HIGH, 9)]
    assert (await store.read([page(LOW), page(HIGH)]))[0] == [None, ranked(2, HELD)]
    assert await store.due(0, 10) == []


async def a_page_that_is_held_stays_whatever_holds_it(store: ClusterStore) -> None:
    """The lowest bit of the flags holds nothing, and every other one does."""
    cells = {page(Handle(flags)): ranked(1 + flags, bytes([flags])) for flags in (0, 1, 2, 4, 8, 16)}
    await store.commit(writing(*cells.items()))
    await store.age([Aged(1 + flags, Handle(flags), 9) for flags in (0, 1, 2, 4, 8, 16)])
    await store.sweep(await store.due(0, 10))

    assert (await store.read(list(cells)))[0] == [None, None, *list(cells.values())[2:]]


async def a_page_decided_anew_outlives_its_old_tombstone(store: ClusterStore) -> None:
    await store.commit(writing((page(LOW), ranked(2, FREE))))
    await store.age([Aged(1, LOW, 9)])
    await store.sweep(await store.due(0, 10))

    assert await value(store, page(LOW)) == ranked(2, FREE)


async def a_sweep_that_comes_late_leaves_the_others_alone(store: ClusterStore) -> None:
    await store.commit(writing((page(LOW), ranked(1, FREE)), (page(HIGH), ranked(2, FREE))))
    await store.age([Aged(1, LOW, 9), Aged(2, HIGH, 9)])
    await store.sweep([Aged(2, HIGH, 9)])

    assert await value(store, page(HIGH)) == ranked(2, FREE)
    assert await store.due(0, 1) == [Aged(1, LOW, 9)]


async def what_aged_since_it_was_read_may_not_be_swept_before_a_commit(store: ClusterStore) -> None:
    await store.age([Aged(1, LOW, 9)])
    aged_count = int(await value(store, AGED) or 0)
    await store.age([Aged(2, LOW, 9), Aged(3, LOW, 9)])
    due = await store.due(0, 10)

    answers = []
    for entry in due:
        await store.sweep([entry])
        answers.append(await store.commit(Transaction({}, {}, {}, aged_count=aged_count)))

    assert answers == [0, None, None]
    assert (await value(store, AGED), await value(store, SWEPT)) == (b"3", b"3")


async def a_row_that_is_trimmed_counts_as_aged(store: ClusterStore) -> None:
    await store.commit(deciding(appending(1, (0, LOW, 9)), appending(2, rank=0), rank_count=1))
    await trim(store, 9)

    assert await value(store, AGED) == b"1"


async def a_cell_that_aged_twice_outlives_what_follows_it(store: ClusterStore) -> None:
    await store.commit(writing((page(LOW), ranked(1, FREE))))
    await store.age([Aged(1, LOW, 9)])
    await store.age([Aged(1, LOW, 9)])
    await store.sweep((await store.due(0, 10))[:1])
    await store.commit(writing((page(LOW), ranked(2, FREE))))
    await store.sweep(await store.due(0, 10))

    assert await value(store, page(LOW)) == ranked(2, FREE)


AGING_CLAIMS = [
    a_row_that_is_trimmed_lets_its_page_age,
    pages_that_began_to_age_together_stop_together,
    a_page_that_nothing_holds_is_removed_when_it_is_old,
    a_page_that_is_held_stays_whatever_holds_it,
    a_page_decided_anew_outlives_its_old_tombstone,
    a_sweep_that_comes_late_leaves_the_others_alone,
    what_aged_since_it_was_read_may_not_be_swept_before_a_commit,
    a_row_that_is_trimmed_counts_as_aged,
    a_cell_that_aged_twice_outlives_what_follows_it,
]
