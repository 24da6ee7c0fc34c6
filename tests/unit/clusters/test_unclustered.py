from itertools import permutations

import msgspec
import pytest

from neardup_stream.clusters.optimistic_retry import ATTEMPTS
from neardup_stream.clusters.placements import Placement
from neardup_stream.clusters.portions import CELLS_AT_ONCE, REQUESTS_AT_ONCE
from neardup_stream.clusters.requests import ForgetRequest, PlaceRequest, QuietRequest, Request
from neardup_stream.clusters.unclustered import Unclustered
from neardup_stream.errors import StoreUnavailable
from neardup_stream.message import Partition, Position
from neardup_stream.pipeline.decide import decide_requests
from neardup_stream.stores.aged_parts import unpack_parts
from neardup_stream.stores.cluster_store import Transaction
from neardup_stream.stores.memory.clusters import MemoryClusters
from tests.cluster_histories import PARTITION, match_with, node

REQUESTS: list[Request] = [
    PlaceRequest(Position(PARTITION, 1), node(1), ()),
    PlaceRequest(Position(PARTITION, 2), node(2), (match_with(1),)),
    ForgetRequest(Position(PARTITION, 3), node(1, 2)),
    QuietRequest(Position(PARTITION, 4)),
]
POSITIONS = [request.position for request in REQUESTS]


def show(request: Request, placement: Placement | None) -> bytes:
    return f"{request.position.offset} {placement and placement.is_duplicate}".encode()


def never(_request: Request, _placement: Placement | None) -> bytes:
    raise AssertionError("rendered again")


async def test_a_page_with_matches_is_a_duplicate() -> None:
    decided = await decide_requests(Unclustered(MemoryClusters()), REQUESTS, show, 0)

    assert [outcome.record for outcome in decided] == [b"1 False", b"2 True", b"3 False", b"4 False"]
    assert {outcome.rank for outcome in decided} == {0}


async def test_what_was_decided_is_published_again_in_the_same_words() -> None:
    unclustered = Unclustered(MemoryClusters())
    first = await decide_requests(unclustered, REQUESTS, show, 0)

    assert await decide_requests(unclustered, REQUESTS[::-1], never, 0) == first[::-1]
    assert (await unclustered.already_decided(POSITIONS)).outcomes == dict(zip(POSITIONS, first, strict=True))


async def test_what_is_trimmed_is_finished_and_leaves_nothing() -> None:
    store = MemoryClusters()
    unclustered = Unclustered(store)
    await decide_requests(unclustered, REQUESTS, show, 0)

    await unclustered.trim({PARTITION: 5})

    assert (await unclustered.already_decided(POSITIONS)).finished == frozenset(POSITIONS)
    assert all(outcome.is_finished for outcome in await decide_requests(unclustered, REQUESTS, never, 0))
    assert set(filter(store._tables.get, store._tables)) == {"trimmed", "decided"}


class LosingStore(MemoryClusters):
    """Others come first, so many times."""

    def __init__(self, times: int) -> None:
        super().__init__()
        self.times = times

    async def commit(self, transaction: Transaction) -> int | None:
        self.times -= 1
        return None if self.times >= 0 else await super().commit(transaction)


async def test_a_batch_waits_when_others_are_always_first() -> None:
    assert await decide_requests(Unclustered(LosingStore(ATTEMPTS - 1)), REQUESTS, show, 0)
    with pytest.raises(StoreUnavailable, match=f"{ATTEMPTS} times"):
        await decide_requests(Unclustered(LosingStore(ATTEMPTS)), REQUESTS, show, 0)


class CountingStore(MemoryClusters):
    """Counts the rows of each commit; one of them finds the store unavailable."""

    def __init__(self, unavailable_at: int = 0) -> None:
        super().__init__()
        self.row_counts: list[int] = []
        self.unavailable_at = unavailable_at

    async def commit(self, transaction: Transaction) -> int | None:
        parts = [part for _, packed in transaction.appended for part in unpack_parts(packed)]
        self.row_counts.append(sum(len(msgspec.msgpack.decode(part.rows)) for part in parts))
        if len(self.row_counts) == self.unavailable_at:
            raise StoreUnavailable("for once")
        return await super().commit(transaction)


async def test_a_large_batch_is_decided_in_commits_of_bounded_size() -> None:
    requests = [QuietRequest(Position(PARTITION, number)) for number in range(2 * REQUESTS_AT_ONCE + 1)]
    store = CountingStore()

    decided = await decide_requests(Unclustered(store), requests, show, 0)

    assert store.row_counts == [REQUESTS_AT_ONCE, REQUESTS_AT_ONCE, 1]
    assert [outcome.record for outcome in decided] == [b"%d False" % at for at in range(len(requests))]


async def test_positions_that_are_decided_together_count_like_requests() -> None:
    claimed = [
        [Position(Partition(f"pages:{pipe}", 0), number) for pipe in range(CELLS_AT_ONCE // 2 - 1)]
        for number in range(3)
    ]
    requests = [
        PlaceRequest(Position(PARTITION, number), node(number), (), claimed_from=tuple(makers))
        for number, makers in enumerate(claimed)
    ]
    store = CountingStore()

    await decide_requests(Unclustered(store), requests, outcome, 0)

    assert store.row_counts == [CELLS_AT_ONCE, CELLS_AT_ONCE // 2]


async def test_after_an_error_the_first_portions_are_decided_and_keep_their_rows() -> None:
    requests = [QuietRequest(Position(PARTITION, number)) for number in range(2 * REQUESTS_AT_ONCE)]
    unclustered = Unclustered(CountingStore(unavailable_at=2))
    with pytest.raises(StoreUnavailable, match="for once"):
        await decide_requests(unclustered, requests, show, 0)

    def again(request: Request, placement: Placement | None) -> bytes:
        assert request.position.offset >= REQUESTS_AT_ONCE
        return show(request, placement)

    decided = await decide_requests(unclustered, requests, again, 0)

    assert [outcome.record for outcome in decided] == [b"%d False" % at for at in range(len(requests))]


async def test_every_page_may_go() -> None:
    unclustered = Unclustered(MemoryClusters())
    await unclustered.release([node(1)])

    assert await unclustered.expire([node(1), node(2)]) == [True, True]
    assert await decide_requests(unclustered, [], show, 0) == []


async def test_a_version_is_published_once_by_the_first_claimant() -> None:
    """Three positions bring one version: the first registers it, and each of the others claims it."""
    makers = [Position(Partition(f"pages:{number}", 0), 7) for number in range(3)]
    requests = [
        PlaceRequest(position, node(1), (), claimed_from=tuple(makers[:number]))
        for number, position in enumerate(makers)
    ]
    for order in permutations(requests):
        unclustered = Unclustered(MemoryClusters())
        for request in order:
            await decide_requests(unclustered, [request], outcome, 0)

        already_decided = await unclustered.already_decided(makers)

        published = [
            position
            for position, decided in already_decided.outcomes.items()
            if decided.record == b"published"
        ]
        assert published == [order[0].position]


async def test_what_was_claimed_is_decided_with_its_claimant_and_trimmed_with_its_own_input() -> None:
    maker, claimant = (Position(Partition(f"pages:{number}", 0), 7) for number in range(2))
    store = MemoryClusters()
    unclustered = Unclustered(store)
    await decide_requests(
        unclustered, [PlaceRequest(claimant, node(1), (), claimed_from=(maker,))], outcome, 0
    )

    assert (await unclustered.already_decided([maker])).outcomes[maker].record == b"silent"
    await unclustered.trim({maker.partition: 8, claimant.partition: 8})
    assert set(filter(store._tables.get, store._tables)) == {"trimmed", "decided"}


def outcome(_request: Request, placement: Placement | None) -> bytes:
    return b"silent" if placement is None or placement.is_superseded else b"published"
