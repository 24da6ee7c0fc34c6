import pytest
from msgspec.structs import replace

from neardup_stream.clusters.cells import (
    NO_PAGE,
    AbsorbedCell,
    ClusterCell,
    ClusterKey,
    Edge,
    PageCell,
    unpack_cluster,
)
from neardup_stream.errors import CorruptData
from neardup_stream.page import Handle
from tests.cluster_histories import match_with, node

TOP = Handle(2**64 - 1)
LONE = PageCell(rank=70_000, version=1, is_living=True)
MEMBER = PageCell(
    rank=2**47 + 5, version=300, is_living=True, is_linked=True, is_anchor=True, founder=ClusterKey(TOP, 2)
)
FOUNDER = ClusterKey(Handle(8), 1)
WAITING = PageCell(edges=(Edge(2, match_with(7, rank=3)),))


@pytest.mark.parametrize("cell", [NO_PAGE, LONE, MEMBER, WAITING], ids=["none", "lone", "member", "waiting"])
def test_a_page_cell_is_decoded_as_it_was(cell: PageCell) -> None:
    assert PageCell.unpack(cell.pack()) == cell


@pytest.mark.parametrize("cell", [LONE, MEMBER, WAITING], ids=["lone", "member", "waiting"])
def test_what_stands_before_the_edges_of_a_page_cell_says_all_of_it_but_these_and_the_text(
    cell: PageCell,
) -> None:
    packed, others = cell.pack(), replace(cell, edges=(*WAITING.edges, *WAITING.edges)).pack()
    assert packed is not None
    assert others is not None
    head = packed[: cell.head_bytes]

    # What says whether there are edges is before them, too.
    assert others.startswith(head) == bool(cell.edges)
    for change in ({"rank": 9}, {"version": 7}, {"is_linked": not cell.is_linked}, {"founder": FOUNDER}):
        changed = replace(cell, **change).pack()
        assert changed is not None
        assert not changed.startswith(head)


def test_a_page_cell_that_says_nothing_is_not_stored() -> None:
    assert NO_PAGE.pack() is None


@pytest.mark.parametrize(
    ("cell", "is_held"),
    [(LONE, False), (PageCell(rank=3, version=2), False), (MEMBER, True), (WAITING, True)],
    ids=["lone", "gone", "member", "waiting"],
)
def test_the_byte_after_the_rank_says_whether_a_sweep_must_keep_the_cell(
    cell: PageCell, *, is_held: bool
) -> None:
    packed = cell.pack()

    assert packed is not None
    assert (packed[6] >= 2) == is_held


@pytest.mark.parametrize("other_id", [True, False], ids=["id-of-its-own", "id-is-the-url"])
def test_a_cluster_cell_is_decoded_as_it_was(*, other_id: bool) -> None:
    representative = node(TOP, 9)
    if not other_id:
        representative = representative._replace(url=representative.id)
    cell = ClusterCell(2**47 + 1, 4, 10_000, 99_999, 3, representative)

    assert unpack_cluster(cell.pack()) == cell


@pytest.mark.parametrize(
    "cell",
    [
        ClusterCell(7, 2, 2**32 - 1, 5, 1, node(TOP, 9), ClusterKey(Handle(0), 1)),
        AbsorbedCell(ClusterKey(TOP, 2), 2**47 + 3),
    ],
    ids=["under the id of another", "absorbed"],
)
def test_the_cells_of_a_merge_are_unpacked_as_they_were(cell: ClusterCell | AbsorbedCell) -> None:
    assert unpack_cluster(cell.pack()) == cell


def test_a_cluster_key_is_twelve_bytes() -> None:
    key = ClusterKey(TOP, 2**32 - 1)

    assert (len(key.packed), ClusterKey.unpack(key.packed)) == (12, key)


@pytest.mark.parametrize("packed", [b"", b"\x00" * 6, b"\x00" * 7 + b"\xc1"], ids=["empty", "short", "wrong"])
def test_cells_that_are_not_ours_are_corrupt(packed: bytes) -> None:
    with pytest.raises(CorruptData, match="page cell"):
        PageCell.unpack(packed)
    with pytest.raises(CorruptData, match="cluster cell"):
        unpack_cluster(packed)
