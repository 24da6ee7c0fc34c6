"""Retention of pages whose latest version no daemon has decided yet."""

from collections import Counter

from neardup_stream.stores.protocol import RankWrite
from tests.unit.pipeline.retained_pages import World, at, handle


async def test_a_short_page_is_removed_once_its_version_is_decided() -> None:
    """Until then its former version is in a cluster, and leaves it by an event."""
    world = World()
    await world.crawl(0, "short")
    sweeper = world.sweeper()

    world.families.finished_below = 0
    await sweeper.sweep(at(11))
    assert (await world.state("short"), world.families.released) == ("short", set())

    world.families.finished_below = 1_000
    await sweeper.sweep(at(11))
    assert await world.state("short") == "gone"


async def test_a_page_is_marked_once_its_version_is_decided() -> None:
    """Until then its former version is in a cluster, and its decision says where it is now."""
    world = World()
    world.families.finished_below = 0
    await world.crawl(0, "unranked", "ranked")
    await world.records.mark([RankWrite(handle("ranked"), 1, 5)])
    sweeper = world.sweeper()

    counts = await sweeper.sweep(at(11))
    assert [await world.state(name) for name in ("unranked", "ranked")] == ["live", "gone"]
    assert counts == Counter(scanned=2, marked=1, expired=1)

    world.families.finished_below = 1_000
    await sweeper.sweep(at(11))
    assert await world.state("unranked") == "gone"


async def test_a_page_that_is_never_decided_expires_as_much_later_as_stubs_are_kept() -> None:
    """No daemon reads its record any more: its topic was made anew, or is not read."""
    world = World()
    world.families.finished_below = 0
    await world.crawl(0, "page")
    sweeper = world.sweeper()

    states = []
    for early in (1, 0):
        await sweeper.sweep(at(12) - early)
        states.append(await world.state("page"))

    assert states == ["live", "gone"]


async def test_an_undecided_page_is_not_overdue() -> None:
    world = World()
    world.families.finished_below = 0
    await world.crawl(0, "page", "short")
    sweeper = world.sweeper()

    await sweeper.sweep(at(11))

    assert sweeper.oldest_overdue_seconds == 0
