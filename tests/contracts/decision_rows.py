"""What every ClusterStore promises of decision records, as functions over a fresh store."""

from itertools import pairwise

from neardup_stream.message import Partition, Position
from neardup_stream.page import Handle
from neardup_stream.stores.aged_parts import AgedPart, unpack_parts
from neardup_stream.stores.cluster_store import (
    BLOCK_BYTES,
    BLOCK_OFFSETS,
    DECIDED,
    TRIMMED,
    CellAddress,
    ClusterStore,
    Transaction,
    block_address,
    continued_block,
    epochs_of,
    partition_name,
)
from tests.contracts.cluster_cells import (
    HELD,
    HIGH,
    LOW,
    PARTITION,
    appending,
    deciding,
    page,
    ranked,
    trim,
    value,
    writing,
)

__all__ = ["DECISION_ROW_CLAIMS"]


async def blocks(store: ClusterStore, *offsets: int) -> list[bytes | None]:
    found, _ = await store.read([block_address(Position(PARTITION, offset)) for offset in offsets])
    return found


async def a_part_is_appended_to_its_block_with_final_ranks(store: ClusterStore) -> None:
    parts = [
        appending(3, (0, LOW, 9), (2, HIGH, 9), rows=b"first"),
        appending(3, (0, HIGH, 9), rank=77, rows=b""),
        appending(BLOCK_OFFSETS, rank=0, rows=b"another block"),
    ]
    await store.commit(writing(rank_count=40))
    await store.commit(deciding(*parts, rank_count=3))
    await store.commit(deciding(appending(4, (0, LOW, 9), rows=b"last"), rank_count=1))

    block, other = await blocks(store, 3, BLOCK_OFFSETS)
    assert list(unpack_parts(block or b"")) == [
        AgedPart(41, [(0, LOW, 9), (2, HIGH, 9)], b"first"),
        AgedPart(77, [(0, HIGH, 9)], b""),
        AgedPart(44, [(0, LOW, 9)], b"last"),
    ]
    assert list(unpack_parts(other or b"")) == [AgedPart(0, [], b"another block")]


async def what_follows_a_full_block_is_appended_to_the_one_that_continues_it(store: ClusterStore) -> None:
    rows = [bytes(BLOCK_BYTES - 100), b"still fits", b"", b"behind it", bytes(2 * BLOCK_BYTES), b"last"]
    for number, each in enumerate(rows, start=1):
        part = appending(3, (0, Handle(number), 9), rows=each + bytes(50 if number == 2 else 0))
        await store.commit(deciding(part, below=4, rank_count=1))
    first = block_address(Position(PARTITION, 3))
    second = continued_block(first)
    third = continued_block(second)
    found, _ = await store.read([first, second, third, continued_block(third)])
    await trim(store, 4)

    assert [[part.rank for part in unpack_parts(block or b"")] for block in found] == [
        [1, 2],
        [3, 4, 5],
        [6],
        [],
    ]
    assert (await store.read([first, second, third]))[0] == [None] * 3
    assert {aged.rank for aged in await store.due(0, 10)} == {1, 2, 3, 4, 5, 6}


async def a_trim_below_a_block_keeps_what_continues_it(store: ClusterStore) -> None:
    for offset in (BLOCK_OFFSETS - 1, BLOCK_OFFSETS, BLOCK_OFFSETS):
        await store.commit(deciding(appending(offset, rank=0, rows=bytes(BLOCK_BYTES)), below=999))
    kept = block_address(Position(PARTITION, BLOCK_OFFSETS))
    await trim(store, 2 * BLOCK_OFFSETS - 1)

    assert await blocks(store, 0) == [None]
    assert None not in (await store.read([kept, continued_block(kept)]))[0]


async def a_trim_takes_the_blocks_that_lie_below_its_offset(store: ClusterStore) -> None:
    offsets = (0, BLOCK_OFFSETS - 1, BLOCK_OFFSETS, 9 * BLOCK_OFFSETS)
    await store.commit(deciding(*(appending(offset) for offset in offsets), below=9 * BLOCK_OFFSETS + 1))

    counts = []
    for end in (BLOCK_OFFSETS - 1, BLOCK_OFFSETS, 2 * BLOCK_OFFSETS - 1, 9 * BLOCK_OFFSETS):
        await trim(store, end)
        counts.append(sum(block is not None for block in await blocks(store, *offsets[1:])))

    assert counts == [3, 2, 2, 1]


async def a_trim_behind_the_last_row_takes_every_block(store: ClusterStore) -> None:
    await store.commit(deciding(appending(3, (0, LOW, 9)), appending(BLOCK_OFFSETS), below=300, rank_count=1))
    await trim(store, 299)
    before = await blocks(store, 3, BLOCK_OFFSETS)
    await trim(store, 300)

    assert [block is None for block in before] == [True, False]
    assert await blocks(store, 3, BLOCK_OFFSETS) == [None, None]


async def a_trim_of_many_rows_is_many_small_ones(store: ClusterStore) -> None:
    offsets = range(0, 40 * BLOCK_OFFSETS, BLOCK_OFFSETS)
    rows = bytes(100)
    parts = [appending(offset, (0, Handle(offset + 1), 9), rank=offset + 1, rows=rows) for offset in offsets]
    await store.commit(deciding(*parts, below=offsets[-1] + 1))
    end = offsets[-1]

    counts, cursor, calls = [len(offsets)], 0, 0
    while cursor or not calls:
        cursor, calls = await store.trim(PARTITION, end, cursor) or 0, calls + 1
        counts.append(sum(block is not None for block in await blocks(store, *offsets)))

    assert counts[-1] == 1
    assert all(before - after <= 4 for before, after in pairwise(counts))
    assert len(await store.due(0, len(offsets))) == len(offsets) - 1


async def a_trim_does_nothing_where_a_cell_has_not_the_expected_value(store: ClusterStore) -> None:
    mark, floor = page(HIGH), CellAddress(TRIMMED, partition_name(PARTITION))
    await store.commit(deciding(appending(3), below=4))
    before = [await store.trim(PARTITION, 4, expected={mark: HELD})]
    await store.commit(writing((mark, ranked(1, HELD))))
    before += [await store.trim(PARTITION, 4, expected={mark: each}) for each in (HELD, b"")]
    kept = [*await blocks(store, 3), await value(store, floor)]
    after = await store.trim(PARTITION, 4, expected={mark: ranked(1, HELD)})

    assert before == [None, None, None]
    assert kept[0] is not None
    assert kept[1] is None
    assert after is not None
    assert await value(store, floor) == b"4"


async def trimmed_offsets_never_fall(store: ClusterStore) -> None:
    for offset in (10, 4, 9):
        await store.trim(PARTITION, offset)

    assert await value(store, CellAddress(TRIMMED, partition_name(PARTITION))) == b"10"


async def a_trimmed_offset_is_never_decided_again(store: ClusterStore) -> None:
    await store.trim(PARTITION, 10)
    answers = [
        await store.commit(deciding(appending(offset, (0, LOW, 9)), floor=offset, rank_count=1))
        for offset in (9, 10, 11)
    ]

    assert answers == [None, 0, 1]


async def the_partitions_of_which_something_was_decided_are_found(store: ClusterStore) -> None:
    names = {b"stdin:%032x:0" % number for number in range(3000)}
    await store.commit(writing(*((CellAddress(DECIDED, name), ranked(0, b"7")) for name in names)))

    assert set(await store.partitions()) == names


async def all_blocks_of_a_partition_are_found_some_at_a_time(store: ClusterStore) -> None:
    offsets = range(7, 40 * BLOCK_OFFSETS, BLOCK_OFFSETS)
    rows = bytes(2_000)  # Redis returns a hash of few and short values at once
    parts = [appending(offset, (0, Handle(offset), 9), rank=offset, rows=rows) for offset in offsets]
    await store.commit(deciding(*parts))

    found, cursor, most = dict[bytes, bytes](), 0, 0
    while cursor or not found:
        values, cursor = await store.blocks(PARTITION, cursor)
        found.update(values)
        most = max(most, len(values))

    assert found == {address.field: part for address, part in parts}
    assert most < len(parts)
    assert await store.blocks(Partition("pages", 4)) == ({}, 0)


async def an_epoch_that_has_ended_decides_nothing_more(store: ClusterStore) -> None:
    former, own, file = Partition("pages", 3), Partition("pages@2", 5), Partition("file:01@1", 0)
    ended, limit = epochs_of(former), epochs_of(own)
    assert ended is not None
    assert limit is not None
    assert epochs_of(file) is None
    await store.trim(*_trimming(limit))

    answers = [
        await store.commit(Transaction({epoch.partition: epoch.offset}, {}, {}, rank_count=1))
        for epoch in (ended, limit)
    ]

    assert answers == [None, 0]
    assert await store.partitions() == []


def _trimming(position: Position) -> tuple[Partition, int]:
    return position.partition, position.offset


DECISION_ROW_CLAIMS = [
    a_part_is_appended_to_its_block_with_final_ranks,
    what_follows_a_full_block_is_appended_to_the_one_that_continues_it,
    a_trim_below_a_block_keeps_what_continues_it,
    a_trim_takes_the_blocks_that_lie_below_its_offset,
    a_trim_behind_the_last_row_takes_every_block,
    a_trim_of_many_rows_is_many_small_ones,
    a_trim_does_nothing_where_a_cell_has_not_the_expected_value,
    trimmed_offsets_never_fall,
    a_trimmed_offset_is_never_decided_again,
    the_partitions_of_which_something_was_decided_are_found,
    all_blocks_of_a_partition_are_found_some_at_a_time,
    an_epoch_that_has_ended_decides_nothing_more,
]
