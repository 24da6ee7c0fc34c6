"""Retention of pages whose latest version no daemon has decided yet."""

from collections import Counter

import msgspec
import pytest

from neardup_stream.stores.page_record import PageState
from neardup_stream.stores.protocol import RankWrite, RecordChange
from tests.unit.pipeline.retained_pages import World, at, handle, page


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
    await world.records.write_ranks([RankWrite(handle("ranked"), 1, 5)])
    sweeper = world.sweeper()

    swept = await sweeper.sweep(at(11))
    assert [await world.state(name) for name in ("unranked", "ranked")] == ["live", "gone"]
    assert swept.counts == Counter(scanned=2, marked=1, expired=1)

    world.families.finished_below = 1_000
    await sweeper.sweep(at(11))
    assert await world.state("unranked") == "gone"


async def test_a_page_that_is_never_decided_expires_as_much_later_as_stubs_are_kept() -> None:
    """No daemon reads its record any more: its topic was made anew, or is not read."""
    world = World()
    world.families.finished_below = 0
    await world.crawl(0, "page", "short")
    sweeper = world.sweeper()

    states = []
    for early in (1, 0):
        await sweeper.sweep(at(12) - early)
        states.append([await world.state(name) for name in ("page", "short")])

    assert states == [["live", "short"], ["gone", "gone"]]


@pytest.mark.parametrize(("day", "overdue_days"), [(11, 0), (12, 0), (13, 1)])
async def test_an_undecided_page_is_overdue_from_when_it_may_leave(day: int, overdue_days: int) -> None:
    world = World()
    world.families.finished_below = 0
    await world.crawl(0, "page", "short")
    sweeper = world.sweeper()

    swept = await sweeper.sweep(at(day))

    assert swept.oldest_overdue_seconds == at(overdue_days) - at(0)


@pytest.mark.parametrize("state", ["short", "live"])
@pytest.mark.parametrize("input_id", ["file:0a", "pages"])
async def test_a_page_waits_for_its_decision_though_its_run_may_have_been_cut(
    input_id: str, state: PageState
) -> None:
    world = World()
    world.families.finished_below = 0
    record = msgspec.structs.replace(page(state), made_by=(input_id, 0, 3), rank=0)
    await world.records.replace([RecordChange(handle("page"), None, record.pack())])

    await world.sweeper().sweep(at(10))

    assert await world.state("page") == state


async def test_a_page_is_decided_before_its_decision_record_is_trimmed_and_its_stub_waits_for_that() -> None:
    """Its daemon may have died before it wrote the rank, and without clusters there are no ranks."""
    world = World()
    world.families.finished_below, world.families.decided_below = 0, 1_000
    await world.crawl(0, "page", "short")

    states = []
    for day in (10, 50):
        await world.sweeper().sweep(at(day))
        states.append([await world.state(name) for name in ("page", "short")])

    assert states == [["gone", "gone"]] * 2
