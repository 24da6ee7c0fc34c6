"""What every ClusterStore promises, as functions over a fresh store."""

import asyncio

from neardup_stream.page import Handle
from neardup_stream.stores.cluster_store import (
    CLUSTERS,
    DECIDED,
    PROVISIONAL_RANK,
    CellAddress,
    ClusterStore,
    Member,
    MemberRange,
    Transaction,
    partition_name,
)
from tests.contracts.absorbed import ABSORBED_CLAIMS
from tests.contracts.aging import AGING_CLAIMS
from tests.contracts.cluster_cells import (
    FREE,
    HIGH,
    LOW,
    NEXT_RANK,
    PARTITION,
    appending,
    page,
    ranked,
    value,
    writing,
)
from tests.contracts.decision_rows import DECISION_ROW_CLAIMS
from tests.contracts.ranks import KNOWN_RANK_CLAIMS, RANK_CLAIMS

__all__ = ["CLUSTER_STORE_CLAIMS", "UNGUARDED_STORE_CLAIMS"]


def cluster(number: int) -> bytes:
    return number.to_bytes(12, "big")


async def members(store: ClusterStore, key: bytes, limit: int = 1000) -> list[tuple[int, int]]:
    _, (found,) = await store.read([], [MemberRange(key, limit)])
    return [(member.rank, member.handle) for member in found]


async def what_was_never_written_is_none(store: ClusterStore) -> None:
    read = await store.read([page(LOW), CellAddress(CLUSTERS, cluster(1))], [MemberRange(cluster(1), 9)])

    assert read == ([None, None], [[]])
    assert await store.read([]) == ([], [])


async def cells_are_returned_in_the_order_they_are_asked(store: ClusterStore) -> None:
    addresses = [page(Handle(i << 56)) for i in range(256)]
    await store.commit(writing(*((address, ranked(7, address.field)) for address in addresses)))

    values, _ = await store.read(addresses[::-1])

    assert values == [ranked(7, address.field) for address in reversed(addresses)]


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


async def a_cell_that_moved_is_not_written_by_who_expected_what_it_was(store: ClusterStore) -> None:
    await store.commit(writing((page(LOW), ranked(1)), (page(HIGH), ranked(2))))
    late = Transaction(
        {}, {page(HIGH): ranked(2), page(LOW): ranked(1)}, {page(HIGH): ranked(4), page(LOW): ranked(5)}
    )

    for moved in (ranked(3), None):
        await store.commit(writing((page(LOW), moved)))

        assert await store.commit(late) is None
        assert (await store.read([page(LOW), page(HIGH)]))[0] == [moved, ranked(2)]


async def an_expected_absence_that_is_filled_stops_it_too(store: ClusterStore) -> None:
    await store.commit(writing((page(LOW), ranked(1))))

    assert await store.commit(Transaction({}, {page(LOW): None}, {page(LOW): ranked(2)})) is None
    assert await store.commit(Transaction({}, {page(LOW): ranked(1)}, {page(LOW): ranked(2)})) == 0


async def of_a_cell_that_only_begins_as_expected_the_rest_may_change(store: ClusterStore) -> None:
    await store.commit(writing((page(LOW), ranked(1, b"head, and the rest"))))
    begins = {page(LOW): ranked(1, b"head")}
    await store.commit(writing((page(LOW), ranked(1, b"head, and more"))))

    assert await store.commit(Transaction({}, {}, {page(HIGH): ranked(2)}, begins=begins)) is not None
    assert await value(store, page(HIGH)) == ranked(2)


async def a_cell_that_begins_otherwise_or_is_gone_stops_the_whole_commit(store: ClusterStore) -> None:
    begins = {page(LOW): ranked(1, b"head")}
    for stored in (ranked(2, b"head"), ranked(1, b"hea"), None):
        await store.commit(writing((page(LOW), stored)))

        assert await store.commit(Transaction({}, {}, {page(HIGH): ranked(2)}, begins=begins)) is None
    assert await value(store, page(HIGH)) is None


async def a_new_cell_is_written_where_none_is_or_the_whole_commit_is_refused(store: ClusterStore) -> None:
    others = [page(Handle(number << 56)) for number in range(1, 9)]
    cells = [(address, ranked(NEXT_RANK + number, FREE)) for number, address in enumerate(others)]
    first = await store.commit(Transaction({}, {}, {}, new=cells[:1], rank_count=1))
    refused = await store.commit(Transaction({}, {}, {page(LOW): ranked(7)}, new=cells[::-1], rank_count=8))
    after_refusal = (await store.read([*others, page(LOW)]))[0]
    rest = await store.commit(Transaction({}, {}, {}, new=cells[1:], rank_count=8))

    assert (first, refused, rest) == (0, None, 1)
    assert after_refusal == [ranked(1, FREE), *[None] * 8]
    assert (await store.read(others))[0] == [ranked(rank, FREE) for rank in (1, *range(3, 10))]


async def a_commit_that_is_repeated_changes_nothing(store: ClusterStore) -> None:
    address, part = appending(5, (0, LOW, 9))
    ceiling = CellAddress(DECIDED, partition_name(PARTITION))
    first = Transaction(
        {PARTITION: 5}, {ceiling: None}, {ceiling: ranked(0, b"6")}, appended=[(address, part)], rank_count=1
    )

    assert [await store.commit(first), await store.commit(first)] == [0, None]
    assert await value(store, address) == ranked(1, part[6:])


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


CLUSTER = CellAddress(CLUSTERS, cluster(1))


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


async def a_walk_meets_every_cluster_once(store: ClusterStore) -> None:
    keys = [i.to_bytes(1, "big") + bytes(11) for i in range(256)]
    await store.commit(writing(*((CellAddress(CLUSTERS, key), ranked(1, key)) for key in keys)))

    found, slot = [], 0
    while slot < store.slot_count:
        cells, slot = await store.walk(slot)
        found += cells

    assert sorted(found) == [(key, ranked(1, key)) for key in keys]


async def of_eight_commits_at_once_one_is_first(store: ClusterStore) -> None:
    answers = await asyncio.gather(
        *(store.commit(Transaction({}, {page(LOW): None}, {page(LOW): ranked(i)})) for i in range(1, 9))
    )

    assert sum(answer is not None for answer in answers) == 1


CLUSTER_STORE_CLAIMS = [
    what_was_never_written_is_none,
    cells_are_returned_in_the_order_they_are_asked,
    a_value_keeps_every_byte,
    a_cell_that_moved_stops_the_whole_commit,
    a_cell_that_moved_is_not_written_by_who_expected_what_it_was,
    an_expected_absence_that_is_filled_stops_it_too,
    of_a_cell_that_only_begins_as_expected_the_rest_may_change,
    a_cell_that_begins_otherwise_or_is_gone_stops_the_whole_commit,
    a_new_cell_is_written_where_none_is_or_the_whole_commit_is_refused,
    a_commit_that_is_repeated_changes_nothing,
    a_cell_without_a_value_is_removed,
    members_come_in_order_of_rank_and_only_their_own,
    members_are_read_on_behind_a_member,
    a_set_that_is_a_member_leaves_like_a_page,
    commits_that_only_add_to_a_count_do_not_stop_each_other,
    a_count_of_what_has_changed_is_refused,
    a_count_that_is_only_expected_stays,
    while_a_turn_is_taken_only_its_commit_gets_through,
    *ABSORBED_CLAIMS,
    a_member_leaves_alone,
    a_member_may_leave_and_join_with_another_rank_at_once,
    a_walk_meets_every_cluster_once,
    of_eight_commits_at_once_one_is_first,
    *RANK_CLAIMS,
    a_provisional_rank_becomes_one_that_the_commit_took,
    *DECISION_ROW_CLAIMS,
    *AGING_CLAIMS,
]

UNGUARDED_STORE_CLAIMS = [*CLUSTER_STORE_CLAIMS, *KNOWN_RANK_CLAIMS]
