"""Large decision records are stored with few others, and no others are stored one by one for them."""

from collections import Counter
from collections.abc import Callable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neardup_stream.clusters.clusters import Clusters
from neardup_stream.clusters.commit_limits import CommitLimits
from neardup_stream.clusters.placements import Placement
from neardup_stream.clusters.portions import REQUESTS_AT_ONCE, ROW_BYTES_AT_ONCE, fitting_counts
from neardup_stream.clusters.protocol import Decider
from neardup_stream.clusters.requests import PlaceRequest, Request
from neardup_stream.clusters.unclustered import Unclustered
from neardup_stream.message import Position
from neardup_stream.pipeline.decide import decide_requests
from neardup_stream.stores.cluster_store import (
    BLOCK_BYTES,
    ROWS,
    CellAddress,
    Member,
    MemberRange,
    Transaction,
)
from neardup_stream.stores.memory.clusters import MemoryClusters
from tests.cluster_histories import PARTITION, describe, node

SMALL, LARGE = 1000, ROW_BYTES_AT_ONCE + 1
FIRST = [LARGE, *[SMALL] * (REQUESTS_AT_ONCE - 1)]
MIDDLE = [*[SMALL] * 100, LARGE, *[SMALL] * (REQUESTS_AT_ONCE - 101)]
ALL = [ROW_BYTES_AT_ONCE // 8] * REQUESTS_AT_ONCE


class CountingStore(MemoryClusters):
    """Counts commits, how often each block of decision records is read, and what is expected of blocks.

    The first commits may be refused.

    Args:
        refused_count: how many.
    """

    def __init__(self, refused_count: int = 0) -> None:
        super().__init__()
        self.refused_count = refused_count
        self.commit_count = 0
        self.block_reads: Counter[CellAddress] = Counter()
        self.expected_bytes = 0

    async def read(
        self, addresses: Sequence[CellAddress], ranges: Sequence[MemberRange] = ()
    ) -> tuple[list[bytes | None], list[list[Member]]]:
        self.block_reads.update(address for address in addresses if address.table.startswith(ROWS))
        return await super().read(addresses, ranges)

    async def commit(self, transaction: Transaction) -> int | None:
        if self.refused_count:
            self.refused_count -= 1
            return None
        self.commit_count += 1
        for address, value in transaction.expected.items():
            if address.table.startswith(ROWS):
                self.expected_bytes += len(value or b"")
        return await super().commit(transaction)


async def decided_rows(decider: Decider, sizes: Sequence[int]) -> tuple[list[bytes], int]:
    """Return the decision records of requests with records of these sizes, and how often one was made."""
    requests = [PlaceRequest(Position(PARTITION, each), node(each + 1), ()) for each in range(len(sizes))]
    made_count = 0

    def make(request: Request, _placement: Placement | None) -> bytes:
        nonlocal made_count
        made_count += 1
        return request.position.offset.to_bytes(2, "big").rjust(sizes[request.position.offset])

    decided = await decide_requests(decider, requests, make, 0)
    return [each.record for each in decided], made_count


DECIDERS = pytest.mark.parametrize(
    "made_of",
    [lambda store: Clusters(store, describe, jitter=lambda: 0.0), Unclustered],
    ids=["clusters", "no clusters"],
)


@DECIDERS
@pytest.mark.parametrize(("sizes", "commit_count"), [(FIRST, 2), (MIDDLE, 3), (ALL, REQUESTS_AT_ONCE // 8)])
@pytest.mark.parametrize("refused_count", [0, 1])
async def test_a_portion_with_large_records_takes_no_more_commits_than_their_bytes_need(
    made_of: Callable[[MemoryClusters], Decider], sizes: Sequence[int], commit_count: int, refused_count: int
) -> None:
    store = CountingStore(refused_count)

    rows, made_count = await decided_rows(made_of(store), sizes)

    assert [int.from_bytes(row[-2:], "big") for row in rows] == list(range(len(sizes)))
    assert [len(row) for row in rows] == list(sizes)
    assert store.commit_count == commit_count
    assert made_count <= (2 + refused_count) * len(sizes)


@pytest.mark.parametrize("known_count", [0, REQUESTS_AT_ONCE // 2])
async def test_what_a_portion_of_many_commits_has_decided_is_not_read_again(known_count: int) -> None:
    store = CountingStore()
    clusters = Clusters(store, describe)
    known, _ = await decided_rows(clusters, ALL[:known_count])
    store.block_reads.clear()

    rows, _ = await decided_rows(clusters, ALL)

    assert rows[:known_count] == known
    assert len(rows) == len(ALL)
    assert bool(store.block_reads) == bool(known_count)
    assert set(store.block_reads.values()) <= {1}


@DECIDERS
@pytest.mark.parametrize(("first_bytes", "is_expected"), [(SMALL, True), (BLOCK_BYTES, False)])
async def test_a_commit_sends_no_block_that_is_full_to_be_compared(
    made_of: Callable[[MemoryClusters], Decider], first_bytes: int, *, is_expected: bool
) -> None:
    store = CountingStore()
    decider = made_of(store)
    await decided_rows(decider, [first_bytes])

    await decided_rows(decider, [first_bytes, SMALL])

    assert store.commit_count == 2
    assert bool(store.expected_bytes) == is_expected


@given(st.lists(st.sampled_from([0, SMALL, ROW_BYTES_AT_ONCE // 3, ROW_BYTES_AT_ONCE, LARGE]), max_size=20))
def test_each_commit_stores_as_many_records_as_fit_and_at_least_one(sizes: Sequence[int]) -> None:
    counts = fitting_counts([bytes(size) for size in sizes])

    assert sum(counts) == len(sizes)
    first = 0
    for count in counts:
        assert count == 1 or sum(sizes[first : first + count]) <= ROW_BYTES_AT_ONCE
        first += count
        assert first == len(sizes) or sum(sizes[first - count : first + 1]) > ROW_BYTES_AT_ONCE


def test_commits_grow_again_behind_the_counts_and_behind_a_conflict() -> None:
    limits, taken = CommitLimits(64), []
    limits.shrink([1, 5])
    for _ in range(4):
        taken.append(limits.limit)
        limits.advance()
    limits.back_off()
    for _ in range(4):
        taken.append(limits.limit)
        limits.advance()

    assert taken == [1, 5, 10, 20, 10, 20, 40, 64]
