"""Rows are stored in blocks, a part for each commit, and found again by their positions."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neardup_stream.clusters.placements import AlreadyDecided, Decided, Placement
from neardup_stream.clusters.reading import Reader
from neardup_stream.clusters.requests import PageVersion, PlaceRequest, QuietRequest
from neardup_stream.clusters.rows import (
    NewRow,
    all_rows,
    already_decided_in,
    changeable,
    pack_rows,
    raised_ceilings,
)
from neardup_stream.clusters.snapshot import DescribedPage, Description, Snapshot
from neardup_stream.errors import CorruptData
from neardup_stream.message import Partition, Position
from neardup_stream.page import Handle, PageId
from neardup_stream.stores.aged_parts import unpack_parts
from neardup_stream.stores.cluster_store import (
    BLOCK_BYTES,
    BLOCK_OFFSETS,
    PAGES,
    RANK_BYTES,
    Aged,
    CellAddress,
    Transaction,
    block_address,
)
from neardup_stream.stores.memory.clusters import MemoryClusters
from tests.cluster_histories import PARTITION
from tests.unit.clusters.decided_pages import at, clusters_of, decide, place

PLACED = Placement((), None, False, (), None, False, False)  # noqa: FBT003 - a placement as any other
POSITIONS = st.builds(
    Position,
    st.sampled_from([Partition("pages", 0), Partition("pages", 1), Partition("pages@1", 0)]),
    st.integers(0, 3 * BLOCK_OFFSETS),
)
KINDS = st.sampled_from(["new rank", "known rank", "no rank"])
CONTENTS = st.one_of(st.binary(max_size=9), st.just(bytes(BLOCK_BYTES)))
COMMITS = st.lists(st.dictionaries(POSITIONS, st.tuples(KINDS, CONTENTS), min_size=1, max_size=9), max_size=4)


async def already_decided(store: MemoryClusters, positions: list[Position]) -> AlreadyDecided:
    return already_decided_in(await snapshot(store, positions), positions)


async def snapshot(store: MemoryClusters, positions: list[Position]) -> Snapshot:
    reader = Reader(store, no_descriptions)
    await reader.read_rows(positions)
    return reader.snapshot


async def no_descriptions(_pages: Sequence[DescribedPage]) -> dict[DescribedPage, Description]:
    """Of pages that represent no others."""
    return {}


def row_of(position: Position, number: int, kind: str, handle: int) -> NewRow:
    if kind == "no rank":
        return NewRow(QuietRequest(position), None, 0)
    node = PageVersion(Handle(handle), 1, PageId("page"), "page")
    known_rank = 1000 + handle if kind == "known rank" else 0
    return NewRow(
        PlaceRequest(position, node, (), content=handle % 3), PLACED, 0 if known_rank else number, known_rank
    )


@given(COMMITS, st.lists(POSITIONS, max_size=5))
async def test_every_row_is_found_by_its_position_and_no_other(
    commits: list[dict[Position, tuple[str, bytes]]], others: list[Position]
) -> None:
    store = MemoryClusters()
    expected: dict[Position, Decided] = {}
    aging: set[Aged] = set()
    for outcomes in commits:
        new = {position: outcome for position, outcome in outcomes.items() if position not in expected}
        rows = [
            row_of(position, number, kind, handle=len(expected) + number)
            for number, (position, (kind, _)) in enumerate(new.items(), start=1)
        ]
        before = await snapshot(store, list(new))
        base = await store.commit(
            Transaction(
                floors={},
                expected=before.raw,
                writes=raised_ceilings(before, list(new)),
                appended=pack_rows(rows, [content for _, content in new.values()]),
                rank_count=len(rows),
            )
        )
        assert base is not None
        for row, (_, content) in zip(rows, new.values(), strict=True):
            rank = base + row.number if row.number else row.known_rank
            expected[row.request.position] = Decided(rank, content)
            if isinstance(row.request, PlaceRequest):
                aging.add(Aged(rank, row.request.node.handle, row.request.content))

    asked = list(dict.fromkeys([*expected, *others]))
    found = await already_decided(store, asked)
    walked = [await all_rows(store, partition) for partition in {each.partition for each in expected}]
    for partition in {position.partition for position in expected}:
        while await store.trim(partition, 4 * BLOCK_OFFSETS):
            pass

    assert found == AlreadyDecided(expected, frozenset(), 0)
    assert {position: row for rows in walked for position, row in rows.items()} == expected
    assert all(list(rows) == sorted(rows, key=lambda each: each.offset) for rows in walked)
    assert set(await store.due(0, 1000)) == aging


@pytest.mark.parametrize(
    "block", [b"x", bytes(6) + b"\x00\x01" + bytes(4), bytes(6) + b"\x00\x00\x00\x00\x00\x09"]
)
def test_a_block_that_is_cut_is_corrupt(block: bytes) -> None:
    with pytest.raises(CorruptData):
        list(unpack_parts(block))


async def test_rows_that_cannot_be_read_are_corrupt() -> None:
    store, position = MemoryClusters(), Position(Partition("pages", 0), 3)
    empty = await snapshot(store, [position])
    broken = bytes(RANK_BYTES) + b"\x00\x00\x00\x00\x00\x01\xc1"
    writes: dict[CellAddress, bytes | None] = {
        **raised_ceilings(empty, [position]),
        block_address(position): broken,
    }
    await store.commit(Transaction({}, {}, writes))

    with pytest.raises(CorruptData):
        await already_decided(store, [position])


def test_of_what_was_read_a_commit_expects_all_but_blocks_that_are_full() -> None:
    full, page = bytes(BLOCK_BYTES), CellAddress(PAGES, b"")
    blocks = [block_address(at(number * BLOCK_OFFSETS)) for number in range(3)]
    expected = {blocks[0]: None, blocks[1]: full[:-1], page: full}

    assert changeable({**expected, blocks[2]: full}) == expected


async def test_rows_below_the_trim_are_none_though_their_block_has_others() -> None:
    store = MemoryClusters()
    clusters = clusters_of(store)
    await decide(clusters, place(0, 1), place(1, 2), place(2, 3))

    await clusters.trim({PARTITION: 2})

    assert list(await all_rows(store, PARTITION)) == [at(2)]
