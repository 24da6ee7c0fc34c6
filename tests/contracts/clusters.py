"""What every ClusterStore promises, as functions over a fresh store."""

import asyncio
from itertools import pairwise

from neardup_stream.message import Partition, Position
from neardup_stream.page import Handle
from neardup_stream.stores.cluster_store import (
    ABSORBED,
    AGED,
    CLUSTERS,
    DECIDED,
    PAGES,
    PROVISIONAL_RANK,
    ROWS_AT_ONCE,
    SWEPT,
    TRIMMED,
    Aged,
    Cell,
    ClusterStore,
    Member,
    MemberRange,
    Transaction,
    partition_name,
    row_cell,
)

__all__ = ["CLUSTER_STORE_CLAIMS"]

PARTITION = Partition("pages", 3)
LOW, HIGH = Handle(0), Handle(2**64 - 1)
NEXT_RANK = PROVISIONAL_RANK + 1
FREE, HELD = b"\x01", b"\x03"
"""The flags of cells that nothing holds, and that something holds."""


def page(handle: Handle) -> Cell:
    return Cell(PAGES, handle.to_bytes(8, "big"))


def cluster(number: int) -> bytes:
    return number.to_bytes(12, "big")


def ranked(rank: int, rest: bytes = b"") -> bytes:
    return rank.to_bytes(6, "big") + rest


def writing(*writes: tuple[Cell, bytes | None], rank_count: int = 0) -> Transaction:
    """Writes without any condition."""
    return Transaction(floors={}, expected={}, writes=dict(writes), rank_count=rank_count)


def row(offset: int, handle: Handle, rank: int = NEXT_RANK, content: bytes = b"row") -> tuple[Cell, bytes]:
    return row_cell(Position(PARTITION, offset)), ranked(rank, handle.to_bytes(8, "big") + content)


async def value(store: ClusterStore, cell: Cell) -> bytes | None:
    (found,), _ = await store.read([cell])
    return found


async def members(store: ClusterStore, key: bytes, limit: int = 1000) -> list[tuple[int, int]]:
    _, (found,) = await store.read([], [MemberRange(key, limit)])
    return [(member.rank, member.handle) for member in found]


async def what_was_never_written_is_none(store: ClusterStore) -> None:
    read = await store.read([page(LOW), Cell(CLUSTERS, cluster(1))], [MemberRange(cluster(1), 9)])

    assert read == ([None, None], [[]])
    assert await store.read([]) == ([], [])


async def cells_come_back_in_the_order_they_are_asked(store: ClusterStore) -> None:
    cells = [page(Handle(i << 56)) for i in range(256)]
    await store.commit(writing(*((cell, ranked(7, cell.field)) for cell in cells)))

    values, _ = await store.read(cells[::-1])

    assert values == [ranked(7, cell.field) for cell in reversed(cells)]


async def a_value_keeps_every_byte(store: ClusterStore) -> None:
    content = ranked(1, bytes(range(256)) * 8)
    await store.commit(writing((page(HIGH), content)))

    assert await value(store, page(HIGH)) == content


async def a_cell_that_moved_stops_the_whole_commit(store: ClusterStore) -> None:
    await store.commit(writing((page(LOW), ranked(1))))
    late = Transaction(
        floors={},
        expected={page(HIGH): None, page(LOW): ranked(2)},
        writes={page(HIGH): ranked(9)},
        joined=[Member(cluster(1), 9, HIGH)],
        rank_count=3,
    )

    assert await store.commit(late) is None
    assert await value(store, page(HIGH)) is None
    assert await members(store, cluster(1)) == []
    assert await store.commit(writing((page(HIGH), ranked(NEXT_RANK)), rank_count=1)) == 0


async def an_expected_absence_that_is_filled_stops_it_too(store: ClusterStore) -> None:
    await store.commit(writing((page(LOW), ranked(1))))

    assert await store.commit(Transaction({}, {page(LOW): None}, {page(LOW): ranked(2)})) is None
    assert await store.commit(Transaction({}, {page(LOW): ranked(1)}, {page(LOW): ranked(2)})) == 0


async def a_commit_that_is_repeated_changes_nothing(store: ClusterStore) -> None:
    cell, content = row(5, LOW)
    first = Transaction({PARTITION: 5}, {cell: None}, {cell: content}, rank_count=1)

    assert [await store.commit(first), await store.commit(first)] == [0, None]
    assert await value(store, cell) == ranked(1, content[6:])


async def ranks_follow_the_order_of_commits(store: ClusterStore) -> None:
    bases = [await store.commit(writing(rank_count=count)) for count in (2, 0, 3, 1)]

    assert bases == [0, 2, 2, 5]


async def a_provisional_rank_becomes_one_that_the_commit_took(store: ClusterStore) -> None:
    await store.commit(writing(rank_count=300))
    await store.commit(
        Transaction(
            floors={},
            expected={},
            writes={
                page(LOW): ranked(PROVISIONAL_RANK + 1, b"x"),
                page(HIGH): ranked(PROVISIONAL_RANK + 2, b"y"),
            },
            joined=[Member(cluster(1), PROVISIONAL_RANK + 2, HIGH), Member(cluster(1), 4, LOW)],
            rank_count=2,
        )
    )

    assert await value(store, page(LOW)) == ranked(301, b"x")
    assert await value(store, page(HIGH)) == ranked(302, b"y")
    assert await members(store, cluster(1)) == [(4, LOW), (302, HIGH)]


async def a_cell_without_a_value_is_removed(store: ClusterStore) -> None:
    await store.commit(writing((page(LOW), ranked(1))))
    await store.commit(writing((page(LOW), None)))

    assert await value(store, page(LOW)) is None


async def members_come_in_order_of_rank_and_only_their_own(store: ClusterStore) -> None:
    joined = [Member(cluster(1), rank, Handle(rank * 7)) for rank in (300, 2, 70_000, 255, 256)]
    others = [Member(cluster(0), 1, HIGH), Member(cluster(2), 1, LOW)]
    await store.commit(Transaction({}, {}, {}, joined=[*joined, *others]))

    assert await members(store, cluster(1)) == [(rank, rank * 7) for rank in (2, 255, 256, 300, 70_000)]
    assert await members(store, cluster(1), 2) == [(2, 14), (255, 255 * 7)]


async def members_are_read_on_behind_a_member(store: ClusterStore) -> None:
    joined = [Member(cluster(1), rank, Handle(rank)) for rank in (3, 255, 256, 70_000)]
    inner = Member(cluster(1), 256, Handle(7), 2)
    await store.commit(Transaction({}, {}, {}, joined=[*joined, inner, Member(cluster(2), 1, LOW)]))

    _, (rest,) = await store.read([], [MemberRange(cluster(1), 9, joined[1])])
    _, (last,) = await store.read([], [MemberRange(cluster(1), 1, inner)])

    assert rest == [inner, joined[2], joined[3]]
    assert last in ([joined[2]], [joined[3]])
    assert (await store.read([], [MemberRange(cluster(1), 9, joined[3])]))[1] == [[]]


async def a_set_that_is_a_member_leaves_like_a_page(store: ClusterStore) -> None:
    inner = Member(cluster(1), NEXT_RANK, HIGH, 2**32 - 1)
    await store.commit(Transaction({}, {}, {}, joined=[inner, Member(cluster(1), 9, HIGH)], rank_count=1))
    _, (found,) = await store.read([], [MemberRange(cluster(1), 9)])
    await store.commit(Transaction({}, {}, {}, left=[inner._replace(rank=1)]))

    assert found == [inner._replace(rank=1), Member(cluster(1), 9, HIGH)]
    assert await members(store, cluster(1)) == [(9, HIGH)]


def counted(count: int, content: bytes = b"cell") -> bytes:
    return ranked(4, count.to_bytes(4, "big") + content)


CLUSTER = Cell(CLUSTERS, cluster(1))


async def commits_that_only_add_to_a_count_do_not_stop_each_other(store: ClusterStore) -> None:
    await store.commit(writing((CLUSTER, counted(7))))
    adding = Transaction({}, {}, {}, counted={CLUSTER: (counted(7), 3)}, rank_count=1)

    bases = [await store.commit(adding) for _ in range(3)]

    assert bases == [0, 1, 2]
    assert await value(store, CLUSTER) == counted(16)


async def a_count_of_what_has_changed_is_refused(store: ClusterStore) -> None:
    absent = await store.commit(Transaction({}, {}, {}, counted={CLUSTER: (counted(7), 1)}))
    await store.commit(writing((CLUSTER, counted(7, b"else"))))
    changed = await store.commit(Transaction({}, {}, {}, counted={CLUSTER: (counted(7), 0)}))

    assert (absent, changed) == (None, None)
    assert await value(store, CLUSTER) == counted(7, b"else")


async def a_count_that_is_only_expected_stays(store: ClusterStore) -> None:
    await store.commit(writing((CLUSTER, counted(9))))

    assert await store.commit(Transaction({}, {}, {}, counted={CLUSTER: (counted(7), 0)})) == 0
    assert await value(store, CLUSTER) == counted(9)


async def while_a_turn_is_taken_only_its_commit_gets_through(store: ClusterStore) -> None:
    ours, theirs = b"ours", b"theirs"
    taken = [await store.take_turn(token, 60) for token in (ours, ours, theirs)]
    tokens = [b"", theirs, ours, b"", theirs]

    answers = [await store.commit(Transaction({}, {}, {}, turn=token)) for token in tokens]

    assert taken == [True, True, False]
    assert answers == [None, None, 0, 0, 0]
    assert await store.take_turn(theirs, 60)


async def the_keys_of_absorbed_clusters_are_found(store: ClusterStore) -> None:
    keys = {cluster(number) for number in range(3)}
    await store.commit(writing(*((Cell(ABSORBED, key), ranked(0)) for key in keys)))
    found = set()
    while some := await store.absorbed():
        found.update(some)
        await store.commit(writing(*((Cell(ABSORBED, key), None) for key in some)))

    assert found == keys


async def a_member_leaves_alone(store: ClusterStore) -> None:
    await store.commit(
        Transaction({}, {}, {}, joined=[Member(cluster(1), 1, LOW), Member(cluster(1), 2, HIGH)])
    )
    await store.commit(Transaction({}, {}, {}, left=[Member(cluster(1), 1, LOW)]))

    assert await members(store, cluster(1)) == [(2, HIGH)]


async def a_member_may_leave_and_join_with_another_rank_at_once(store: ClusterStore) -> None:
    await store.commit(Transaction({}, {}, {}, joined=[Member(cluster(1), 5, LOW)]))
    await store.commit(
        Transaction(
            {},
            {},
            {},
            joined=[Member(cluster(1), NEXT_RANK, LOW)],
            left=[Member(cluster(1), 5, LOW)],
            rank_count=1,
        )
    )

    assert await members(store, cluster(1)) == [(1, LOW)]


async def a_trim_takes_rows_below_its_offset_only(store: ClusterStore) -> None:
    await store.commit(writing(*(row(offset, LOW) for offset in (8, 9, 10, 100)), rank_count=1))
    await store.trim(PARTITION, 10)

    cells = [row(offset, LOW)[0] for offset in (8, 9, 10, 100)]
    values, _ = await store.read(cells)
    assert [found is not None for found in values] == [False, False, True, True]


async def a_trim_of_many_rows_is_many_small_ones(store: ClusterStore) -> None:
    offsets = range(4 * ROWS_AT_ONCE)
    await store.commit(writing(*(row(offset, Handle(offset + 1), rank=offset + 1) for offset in offsets)))
    end = offsets[-1]

    counts, cursor, calls = [len(offsets)], 0, 0
    while cursor or not calls:
        cursor, calls = await store.trim(PARTITION, end, cursor), calls + 1
        values, _ = await store.read([row_cell(Position(PARTITION, offset)) for offset in offsets])
        counts.append(sum(value is not None for value in values))

    assert counts[-1] == 1
    assert all(before - after <= 2 * ROWS_AT_ONCE for before, after in pairwise(counts))
    assert len(await store.due(0, len(offsets))) == end


async def trimmed_offsets_never_fall(store: ClusterStore) -> None:
    for offset in (10, 4, 9):
        await store.trim(PARTITION, offset)

    assert await value(store, Cell(TRIMMED, partition_name(PARTITION))) == b"10"


async def a_trimmed_offset_is_never_decided_again(store: ClusterStore) -> None:
    await store.trim(PARTITION, 10)
    answers = []
    for offset in (9, 10, 11):
        cell, content = row(offset, LOW)
        transaction = Transaction({PARTITION: offset}, {cell: None}, {cell: content}, rank_count=1)
        answers.append(await store.commit(transaction))

    assert answers == [None, 0, 1]


async def a_row_that_is_trimmed_lets_its_page_age(store: ClusterStore) -> None:
    await store.commit(
        writing(row(1, LOW), row(2, HIGH, PROVISIONAL_RANK + 2), row(3, LOW, rank=0), rank_count=2)
    )

    assert await store.trim(PARTITION, 9) == 0
    assert await store.due(3600, 10) == []
    assert sorted(await store.due(0, 10)) == [Aged(1, LOW), Aged(2, HIGH)]


async def a_page_that_nothing_holds_goes_when_it_is_old(store: ClusterStore) -> None:
    await store.commit(
        Transaction(
            floors={},
            expected={},
            writes={page(LOW): ranked(1, FREE), page(HIGH): ranked(2, HELD)},
        )
    )
    await store.age([Aged(1, LOW), Aged(2, HIGH)])
    due = await store.due(0, 10)
    await store.sweep(due)
    await store.sweep(due)

    assert due == [Aged(1, LOW), Aged(2, HIGH)]
    assert (await store.read([page(LOW), page(HIGH)]))[0] == [None, ranked(2, HELD)]
    assert await store.due(0, 10) == []


async def a_page_decided_anew_outlives_its_old_tombstone(store: ClusterStore) -> None:
    await store.commit(writing((page(LOW), ranked(2, FREE))))
    await store.age([Aged(1, LOW)])
    await store.sweep(await store.due(0, 10))

    assert await value(store, page(LOW)) == ranked(2, FREE)


async def a_sweep_that_comes_late_leaves_the_others_alone(store: ClusterStore) -> None:
    await store.commit(writing((page(LOW), ranked(1, FREE)), (page(HIGH), ranked(2, FREE))))
    await store.age([Aged(1, LOW), Aged(2, HIGH)])
    await store.sweep([Aged(2, HIGH)])

    assert await value(store, page(HIGH)) == ranked(2, FREE)
    assert await store.due(0, 1) == [Aged(1, LOW)]


async def what_aged_since_it_was_read_may_not_be_swept_before_a_commit(store: ClusterStore) -> None:
    await store.age([Aged(1, LOW)])
    aged_count = int(await value(store, AGED) or 0)
    await store.age([Aged(2, LOW), Aged(3, LOW)])
    due = await store.due(0, 10)

    answers = []
    for entry in due:
        await store.sweep([entry])
        answers.append(await store.commit(Transaction({}, {}, {}, aged_count=aged_count)))

    assert answers == [0, None, None]
    assert (await value(store, AGED), await value(store, SWEPT)) == (b"3", b"3")


async def a_row_that_is_trimmed_counts_as_aged(store: ClusterStore) -> None:
    await store.commit(writing(row(1, LOW), row(2, HIGH, rank=0), rank_count=1))
    await store.trim(PARTITION, 9)

    assert await value(store, AGED) == b"1"


async def a_cell_that_aged_twice_outlives_what_follows_it(store: ClusterStore) -> None:
    await store.commit(writing((page(LOW), ranked(1, FREE))))
    await store.age([Aged(1, LOW)])
    await store.age([Aged(1, LOW)])
    await store.sweep((await store.due(0, 10))[:1])
    await store.commit(writing((page(LOW), ranked(2, FREE))))
    await store.sweep(await store.due(0, 10))

    assert await value(store, page(LOW)) == ranked(2, FREE)


async def a_walk_meets_every_cluster_once(store: ClusterStore) -> None:
    keys = [i.to_bytes(1, "big") + bytes(11) for i in range(256)]
    await store.commit(writing(*((Cell(CLUSTERS, key), ranked(1, key)) for key in keys)))

    found, slot = [], 0
    while slot < store.slot_count:
        cells, slot = await store.walk(slot)
        found += cells

    assert sorted(found) == [(key, ranked(1, key)) for key in keys]


async def the_partitions_of_which_something_was_decided_are_found(store: ClusterStore) -> None:
    names = {b"stdin:%032x:0" % number for number in range(3000)}
    await store.commit(writing(*((Cell(DECIDED, name), ranked(0, b"7")) for name in names)))

    assert set(await store.partitions()) == names


async def of_eight_commits_at_once_one_is_first(store: ClusterStore) -> None:
    answers = await asyncio.gather(
        *(store.commit(Transaction({}, {page(LOW): None}, {page(LOW): ranked(i)})) for i in range(1, 9))
    )

    assert sum(answer is not None for answer in answers) == 1


CLUSTER_STORE_CLAIMS = [
    what_was_never_written_is_none,
    cells_come_back_in_the_order_they_are_asked,
    a_value_keeps_every_byte,
    a_cell_that_moved_stops_the_whole_commit,
    an_expected_absence_that_is_filled_stops_it_too,
    a_commit_that_is_repeated_changes_nothing,
    ranks_follow_the_order_of_commits,
    a_provisional_rank_becomes_one_that_the_commit_took,
    a_cell_without_a_value_is_removed,
    members_come_in_order_of_rank_and_only_their_own,
    members_are_read_on_behind_a_member,
    a_set_that_is_a_member_leaves_like_a_page,
    commits_that_only_add_to_a_count_do_not_stop_each_other,
    a_count_of_what_has_changed_is_refused,
    a_count_that_is_only_expected_stays,
    while_a_turn_is_taken_only_its_commit_gets_through,
    the_keys_of_absorbed_clusters_are_found,
    a_member_leaves_alone,
    a_member_may_leave_and_join_with_another_rank_at_once,
    a_trim_takes_rows_below_its_offset_only,
    a_trim_of_many_rows_is_many_small_ones,
    trimmed_offsets_never_fall,
    a_trimmed_offset_is_never_decided_again,
    a_row_that_is_trimmed_lets_its_page_age,
    a_page_that_nothing_holds_goes_when_it_is_old,
    a_page_decided_anew_outlives_its_old_tombstone,
    a_sweep_that_comes_late_leaves_the_others_alone,
    what_aged_since_it_was_read_may_not_be_swept_before_a_commit,
    a_row_that_is_trimmed_counts_as_aged,
    a_cell_that_aged_twice_outlives_what_follows_it,
    a_walk_meets_every_cluster_once,
    the_partitions_of_which_something_was_decided_are_found,
    of_eight_commits_at_once_one_is_first,
]
