"""A new page that matches nothing is decided without a plan, and stored as a plan would store it."""

import asyncio

from hypothesis import given, settings
from hypothesis import strategies as st

from neardup_stream.clusters.cells import PageCell, pack_lone_page
from neardup_stream.frames.table import STAMP_BYTES
from neardup_stream.pipeline.event_config import EventConfig
from neardup_stream.stores.cluster_store import Transaction
from neardup_stream.stores.memory.clusters import MemoryClusters
from neardup_stream.stores.memory.frames import MemoryFrames
from tests.cluster_histories import History, Op
from tests.generated_crawls import Crawled, crawls, events, outcome_of
from tests.page_histories import RULES
from tests.pipelines import Pipeline

OPS = st.builds(Op, st.integers(0, 9), st.one_of(st.none(), st.integers(0, 60)))
BATCHES = st.lists(st.lists(OPS, min_size=1, max_size=9, unique_by=lambda op: op[0]), max_size=6)


class PlannedClusters(MemoryClusters):
    """Refuses every commit of a page without a plan, as if its cell were there: each page is planned."""

    async def commit(self, transaction: Transaction) -> int | None:
        return None if transaction.new else await super().commit(transaction)


@given(BATCHES, st.booleans())
async def test_pages_with_and_without_a_plan_get_the_same_answers_and_cells(
    batches: list[list[Op]],
    has_lone_requests: bool,  # noqa: FBT001 - drawn
) -> None:
    planned, direct = PlannedClusters(), MemoryClusters()
    expected, found = History(planned), History(direct, has_lone_requests=has_lone_requests)

    for batch in batches:
        assert await found.run(batch) == await expected.run(batch)

    assert (direct._tables, direct._members) == (planned._tables, planned._members)


@settings(max_examples=60, deadline=None)
@given(
    crawls,
    st.sampled_from([1, 3, 16, 64]),
    events,
    st.sampled_from(sorted(RULES)),
    st.sampled_from(["everything", "host"]),
    st.sampled_from(["host", None]),
)
def test_a_crawl_publishes_and_stores_the_same_where_each_page_is_planned(
    crawl: list[Crawled], batch_pages: int, published: EventConfig, rule: str, scope: str, site: str | None
) -> None:
    planned, direct = (
        Pipeline(clusters=store, event_config=published, rule=RULES[rule], scope=scope, site=site)
        for store in (PlannedClusters(), MemoryClusters())
    )

    expected = asyncio.run(outcome_of(planned, crawl, batch_pages))
    found = asyncio.run(outcome_of(direct, crawl, batch_pages))

    assert found == expected
    assert _stored(direct) == _stored(planned)


def _stored(pipeline: Pipeline) -> object:
    """Return all cells and members, and the frame tables without their stamps, which are drawn."""
    store, frames = pipeline.clusters, pipeline.frame_store
    assert isinstance(store, MemoryClusters)
    assert isinstance(frames, MemoryFrames)
    tables = {site: table[STAMP_BYTES:] for site, table in frames._tables.items()}
    return store._tables, store._members, tables


@given(st.integers(0, 2**48 - 1), st.integers(1, 2**32 - 1), st.integers(0, 2**32 - 1))
def test_a_lone_page_has_the_bytes_of_its_cell(rank: int, version: int, content: int) -> None:
    cell = PageCell(rank=rank, version=version, is_living=True, content=content)

    assert pack_lone_page(rank, version, content) == cell.pack()
