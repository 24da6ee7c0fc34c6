"""Pages that expire or are due, and their tombstones."""

from neardup_stream.clusters.snapshot import page_addresses
from neardup_stream.stores.memory.clusters import MemoryClusters
from tests.cluster_histories import KNOWING, PARTITION, History, Op, match_with, node, walked
from tests.unit.clusters.decided_pages import clusters_of, decide, place, state, trim


async def test_the_tombstone_of_an_expired_page_stays_until_it_is_released() -> None:
    clusters = clusters_of(MemoryClusters(), tombstone_ttl_seconds=0)
    await decide(clusters, place(1, 1))
    await trim(clusters, {PARTITION: 2})
    await clusters.expire([node(1)])
    await clusters.tidy(KNOWING)
    (early,) = await decide(clusters, place(3, 3, match_with(1, rank=1)))
    await clusters.release([node(1), node(1), node(2)])
    await clusters.tidy(KNOWING)
    (late,) = await decide(clusters, place(4, 4, match_with(1, rank=1)))

    assert (early.matches, [match.handle for match in late.matches]) == ((), [1])


async def test_expiring_and_releasing_an_earlier_version_lets_nothing_age() -> None:
    """The cell of a version whose row is not trimmed is needed: its record may have no rank yet."""
    store = MemoryClusters()
    clusters = clusters_of(store, tombstone_ttl_seconds=0)
    await decide(clusters, place(1, 1, version=2))
    await clusters.expire([node(1, 1)])
    await clusters.release([node(1, 1)])

    assert await store.due(0, 10) == []


async def test_a_page_expires_silently_unless_it_is_a_representative() -> None:
    history = History(MemoryClusters())
    await history.run([Op(1, 10), Op(2, 10), Op(3, 10), Op(4, 50)])

    assert await history.clusters.expire([node(1), node(2), node(4)]) == [False, True, True]
    assert await walked(history.clusters) == {state(1).id: (1, (1, 3))}
    assert await history.clusters.expire([node(3), node(1)]) == [True, True]
    assert await walked(history.clusters) == {}
    assert await history.clusters.expire([node(1), node(3), node(9)]) == [True, True, True]
    assert await history.clusters.expire([]) == []


async def test_a_page_that_expired_is_no_match_and_can_return() -> None:
    clusters = clusters_of(MemoryClusters())
    await decide(clusters, place(1, 1))
    await clusters.expire([node(1)])

    other, back = await decide(
        clusters, place(2, 2, match_with(1, rank=1)), place(3, 1, match_with(2), version=2)
    )

    assert other.matches == ()
    assert back.is_duplicate


async def test_expiring_an_earlier_version_leaves_the_living_one() -> None:
    clusters = clusters_of(MemoryClusters())
    await decide(clusters, place(1, 1, version=2), place(2, 2, match_with(1, version=2)))

    assert await clusters.expire([node(1, 1)]) == [True]
    assert len(await walked(clusters)) == 1


async def test_a_trim_releases_every_page_that_is_due_however_many() -> None:
    store = MemoryClusters()
    clusters = clusters_of(store, tombstone_ttl_seconds=0)
    numbers = range(1, 1101)  # more than two sweeps remove
    await decide(clusters, *(place(number, number) for number in numbers))

    await trim(clusters, {PARTITION: numbers.stop})

    values, _ = await store.read(page_addresses([node(number).handle for number in numbers]))
    assert set(values) == {None}
