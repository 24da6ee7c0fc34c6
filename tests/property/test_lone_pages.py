"""A new page that matches nothing is decided without a plan, and stored as a plan would store it."""

from hypothesis import given
from hypothesis import strategies as st

from neardup_stream.clusters.cells import PageCell, pack_lone_page
from neardup_stream.stores.cluster_store import Transaction
from neardup_stream.stores.memory.clusters import MemoryClusters
from tests.cluster_histories import History, Op

OPS = st.builds(Op, st.integers(0, 9), st.one_of(st.none(), st.integers(0, 60)))
BATCHES = st.lists(st.lists(OPS, min_size=1, max_size=9, unique_by=lambda op: op[0]), max_size=6)


class PlannedClusters(MemoryClusters):
    """Refuses every commit of a page without a plan, as if its cell were there: each page is planned."""

    async def commit(self, transaction: Transaction) -> int | None:
        return None if transaction.new else await super().commit(transaction)


@given(BATCHES)
async def test_pages_with_and_without_a_plan_get_the_same_answers_and_cells(batches: list[list[Op]]) -> None:
    planned, direct = PlannedClusters(), MemoryClusters()
    expected, found = History(planned), History(direct)

    for batch in batches:
        assert await found.run(batch) == await expected.run(batch)

    assert (direct._tables, direct._members) == (planned._tables, planned._members)


@given(st.integers(0, 2**48 - 1), st.integers(1, 2**32 - 1), st.integers(0, 2**32 - 1))
def test_a_lone_page_has_the_bytes_of_its_cell(rank: int, version: int, content: int) -> None:
    cell = PageCell(rank=rank, version=version, is_living=True, content=content)

    assert pack_lone_page(rank, version, content) == cell.pack()
