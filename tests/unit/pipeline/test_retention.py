import asyncio
from collections import Counter

import msgspec
import pytest

from neardup_stream.errors import StoreUnavailable
from neardup_stream.hashing.handles import next_handle
from neardup_stream.message import Partition, Position, RecordMetadata
from neardup_stream.page import PageId
from neardup_stream.pipeline.arrival import Forget
from neardup_stream.pipeline.forgetting import forget
from neardup_stream.pipeline.retention import SWEPT_AT_ONCE, RetentionConfig
from neardup_stream.stores.memory.records import MemoryRecords
from neardup_stream.stores.protocol import RankWrite, RecordChange
from tests.unit.pipeline.retained_pages import DAY, KEY, START, World, at, cut_at, handle, page


async def test_a_page_that_was_not_seen_for_long_leaves_a_stub_and_no_entries() -> None:
    world = World()
    await world.crawl(0, "old", "short")
    await world.crawl(5, "young")
    entries_of_a_page = world.entry_count // 2

    swept = await world.sweeper().sweep(at(10))

    assert swept.counts == Counter(scanned=3, marked=1, expired=2)
    assert [await world.state(name) for name in ("old", "short", "young")] == ["gone", "gone", "live"]
    assert world.entry_count == entries_of_a_page


async def test_a_stub_remembers_its_version_and_lives_from_when_the_page_went() -> None:
    world = World()
    await world.crawl(0, "page")
    await world.crawl(1, "page", text=1)

    await world.sweeper().sweep(at(50))

    stub = await world.stored("page")
    assert stub is not None
    assert (stub.version, stub.seen_seconds) == (2, at(50))


async def test_a_stub_that_nothing_needs_is_dropped_and_its_version_never_used_again() -> None:
    world = World()
    await world.crawl(0, "page")
    await world.crawl(1, "page", text=1)
    sweeper = world.sweeper()
    await sweeper.sweep(at(50))

    assert (await sweeper.sweep(at(52))).counts == Counter(scanned=1, dropped=1)
    assert await world.state("page") is None
    (back,) = await world.crawl(53, "page")
    assert (back.change, back.record.version) == ("new", 3)


async def test_a_stub_stays_until_the_forget_that_made_it_is_decided() -> None:
    """Its daemon may be down for longer than stubs are kept, and then begin again with this very record."""
    world = World()
    await world.crawl(0, "page")
    forget_at = Position(Partition("pages", 0), 99)
    record = RecordMetadata(position=forget_at)
    await forget([Forget(record, (PageId("page"),))], world.records, KEY, at(1))

    states = []
    for world.families.finished_below in (99, 100):
        await world.sweeper().sweep(at(50))
        states.append(await world.state("page"))

    assert states == ["gone", None]


@pytest.mark.parametrize(
    ("input_id", "state"),
    [("stdin:" + "0a" * 16, None), ("file:" + "0a" * 16, None), ("pages@2", "gone"), ("forget-0a", "gone")],
)
async def test_a_stub_of_a_page_that_a_cut_run_never_decided_is_dropped(
    input_id: str, state: str | None
) -> None:
    """Its position never comes again; that of a topic may, and may be a forget."""
    world = World()
    world.families.finished_below = 0
    maker = Position(Partition(input_id, 0), 3)
    stub = msgspec.structs.replace(page("gone"), made_by=(input_id, 0, 3), rank=0)
    await world.records.replace([RecordChange(handle("page"), None, stub.pack())])
    assert stub.maker == maker

    await world.sweeper().sweep(at(50))

    assert await world.state("page") == state


async def test_a_stub_that_has_its_rank_is_decided() -> None:
    world = World()
    world.families.finished_below = 0
    await world.crawl(0, "page")
    await world.records.write_ranks([RankWrite(handle("page"), 1, 5)])

    for day in (10, 12):
        await world.sweeper().sweep(at(day))

    assert await world.state("page") is None


async def test_what_went_is_released_once_its_record_says_so_and_again_when_its_stub_is_dropped() -> None:
    world = World()
    await world.crawl(0, "page", "short")

    released = []
    for day in (10, 12):
        world.families.released.clear()
        await world.sweeper().sweep(at(day))
        released.append(world.families.released.copy())

    assert released == [{handle("page"), handle("short")}] * 2


async def test_a_forgotten_page_is_dropped_even_where_pages_are_kept_for_ever() -> None:
    world = World()
    await world.crawl(0, "page")
    record = RecordMetadata(position=Position(Partition("pages", 0), 99))
    await forget([Forget(record, (PageId("page"),))], world.records, KEY, at(1))
    config = RetentionConfig(page_seconds=None, stub_seconds=2 * DAY)

    await world.sweeper(config=config).sweep(at(3))

    assert await world.record_count() == 0


async def test_a_page_that_is_a_representative_counts_as_living_until_it_is_none() -> None:
    world = World()
    await world.crawl(0, "first")
    await world.crawl(1, "second")
    world.families.link(handle("first"), handle("second"))
    before, sweeper = world.entry_count, world.sweeper()

    assert (await sweeper.sweep(at(10))).counts == Counter(scanned=2, marked=1, representative=1)
    assert (await world.state("first"), world.entry_count) == ("expiring", before)

    await sweeper.sweep(at(11))  # the second leaves, in whatever order the two are met
    await sweeper.sweep(at(11))
    assert (await world.state("first"), await world.state("second")) == ("gone", "gone")
    assert world.entry_count == 0


async def test_an_expiring_page_that_returns_keeps_the_entries_of_its_new_version() -> None:
    world = World()
    await world.crawl(0, "first")
    world.families.link(handle("first"), handle("second"))
    sweeper = world.sweeper()
    await sweeper.sweep(at(10))
    before = world.entry_count

    (back,) = await world.crawl(11, "first")
    swept = await sweeper.sweep(at(11))

    assert (back.change, back.record.version) == ("changed", 2)
    assert swept.counts == Counter(scanned=1)
    assert (await world.state("first"), world.entry_count) == ("live", before)


class ReturnBefore:
    """Lets a page come again, on day 10, before one of the calls of a sweep, by number from 1."""

    def __init__(self, world: World, name: str, call: int) -> None:
        self._world, self._name, self._call = world, name, call
        self.calls = 0

    async def __call__(self) -> None:
        self.calls += 1
        if self.calls == self._call:
            await self._world.crawl(10, self._name)


@pytest.mark.parametrize("call", range(1, 20))
async def test_a_page_that_returns_while_it_is_taken_out_stays(call: int) -> None:
    """It returns before each call of the sweep in turn; most calls are walks of empty slots."""
    world = World()
    await world.crawl(0, "page")
    before = world.entry_count
    returning = ReturnBefore(world, "page", call)

    await world.sweeper(returning).sweep(at(10))

    assert returning.calls >= call
    stored = await world.stored("page")
    assert stored is not None
    assert (stored.state, stored.seen_seconds, world.entry_count) == ("live", at(10), before)


@pytest.mark.parametrize("call", range(1, 21))
async def test_a_short_page_that_returns_while_it_expires_is_released_only_if_it_expired(call: int) -> None:
    """It returns before each call of the sweep in turn, as the version that it was until it is a stub."""
    world = World()
    await world.crawl(0, "short")
    returning = ReturnBefore(world, "short", call)

    await world.sweeper(returning).sweep(at(10))

    assert returning.calls >= call
    stored = await world.stored("short")
    assert stored is not None
    has_expired = stored.version == 2
    assert (stored.state, world.families.released) == ("short", {handle("short")} if has_expired else set())


async def test_a_stub_whose_next_handle_is_taken_stays_for_the_page_behind_it() -> None:
    world = World()
    stub, other = page("live").expired(START), page("live")
    await world.records.replace(
        [
            RecordChange(handle("page"), None, stub.pack()),
            RecordChange(next_handle(handle("page")), None, other.pack()),
        ]
    )

    await world.sweeper().sweep(at(3))

    assert await world.state("page") == "gone"


async def test_passes_over_some_slots_each_are_one_over_all() -> None:
    world = World()
    await world.crawl(0, *(f"page-{number}" for number in range(100)))
    sweeper = world.sweeper()

    passes = [await sweeper.sweep(at(20), first, count) for first, count in ((0, 7), (7, 1), (8, 8))]

    assert sum(each.counts["expired"] for each in passes) == 100
    assert max(each.counts["expired"] for each in passes) < 70
    assert [await world.state(f"page-{number}") for number in range(100)] == ["gone"] * 100


async def test_more_pages_than_are_taken_out_together_all_go() -> None:
    world = World(records=MemoryRecords(slot_bits=0))
    count = 2 * SWEPT_AT_ONCE + 1
    await world.crawl(0, *(f"page-{number}" for number in range(count)))
    sweeper = world.sweeper()

    assert (await sweeper.sweep(at(20))).counts["expired"] == count
    assert (await sweeper.sweep(at(40))).counts["dropped"] == count


@pytest.mark.parametrize(("day", "overdue_days"), [(9, 0), (10, 0), (12, 2)], ids=["early", "due", "late"])
async def test_a_sweep_reports_how_late_it_was(day: int, overdue_days: int) -> None:
    world = World()
    await world.crawl(0, "old", "short")
    await world.crawl(1, "young")
    sweeper = world.sweeper()

    swept = await sweeper.sweep(at(day))

    assert swept.oldest_overdue_seconds == overdue_days * DAY


async def test_a_sweep_that_is_cut_anywhere_is_finished_by_the_next() -> None:
    async def run(cut_before: int) -> tuple[World, bool]:
        world = World()
        await world.crawl(0, *(f"page-{number}" for number in range(12)))
        world.families.link(handle("page-0"), handle("page-1"), handle("page-2"))
        was_cut, sweeper = False, world.sweeper(cut_at(cut_before))
        for _ in range(3):
            try:
                await sweeper.sweep(at(10))
            except StoreUnavailable:
                was_cut = True
        await world.sweeper().sweep(at(10))
        return world, was_cut

    for cut_before in range(1, 1000):
        world, was_cut = await run(cut_before)

        assert [await world.state(f"page-{number}") for number in range(12)] == ["gone"] * 12
        assert world.entry_count == 0
        if not was_cut:
            break
    assert cut_before > 50


async def test_two_sweepers_at_once_do_what_one_does() -> None:
    world = World()
    await world.crawl(0, *(f"page-{number}" for number in range(40)))
    await world.crawl(9, *(f"page-{number}" for number in range(10)))

    async def give_way() -> None:
        await asyncio.sleep(0)

    for day in (10, 12):
        await asyncio.gather(*(world.sweeper(give_way).sweep(at(day)) for _ in range(2)))

    assert await world.record_count() == 10
    (back,) = await world.crawl(13, "page-39")
    assert (back.change, back.record.version) == ("new", 2)


async def test_memory_levels_off_on_an_endless_stream() -> None:
    """Every day ten new pages, and five known ones again, some changed and some back after they went."""
    world, sizes = World(), []
    sweeper = world.sweeper()
    for day in range(60):
        again = [f"page-{max(0, day - age)}-{number}" for number, age in enumerate((1, 5, 9, 11, 30))]
        await world.crawl(day, *(f"page-{day}-{number}" for number in range(10)))
        await world.crawl(day, *again, text=day % 3)
        await sweeper.sweep(at(day))
        sizes.append((await world.record_count(), world.entry_count))

    middle, end = sizes[35:45], sizes[50:]
    assert max(middle) == max(end)
    assert max(records for records, _ in end) < 250
