"""What one sweep looks at, and what it says of what it did and how late it was."""

from collections import Counter

from neardup_stream.errors import StoreUnavailable
from neardup_stream.page import Handle
from neardup_stream.pipeline.retention import SWEPT_AT_ONCE, Swept
from neardup_stream.stores.memory.records import MemoryRecords
from neardup_stream.stores.protocol import RecordChange, WalkedRecords
from tests.unit.pipeline.retained_pages import DAY, World, at, cut_at, handle, page


class WideRecords(MemoryRecords):
    """Records of which a walk looks at as many slots at once as it may, as in Redis."""

    async def walk(self, slot: int, slot_limit: int) -> WalkedRecords:
        records: list[tuple[Handle, bytes]] = []
        for each in range(slot, slot + slot_limit):
            records += (await super().walk(each, 1)).records
        return WalkedRecords(records, slot + slot_limit)


async def test_a_sweep_looks_at_no_slot_behind_its_last_one() -> None:
    world = World(records=WideRecords(slot_bits=4))
    one_in_each = [RecordChange(Handle(slot << 60), None, page("live").pack()) for slot in range(16)]
    await world.records.replace(one_in_each)

    swept = await world.sweeper().sweep(at(0), first_slot=2, slot_count=3)

    assert swept.counts == Counter(scanned=3)


async def test_a_sweep_that_removes_nothing_was_not_late_whatever_the_one_before_was() -> None:
    world = World()
    await world.crawl(0, "old")
    sweeper = world.sweeper()

    late = [(await sweeper.sweep(at(11))).oldest_overdue_seconds for _ in range(2)]

    assert late == [DAY, 0]


async def test_representatives_that_stay_are_counted_however_many_records_a_walk_returns() -> None:
    world = World(records=MemoryRecords(slot_bits=0))
    count = 6 * SWEPT_AT_ONCE
    names = [f"page-{number}" for number in range(count)]
    await world.crawl(0, *names)
    for name in names:
        world.families.link(handle(name), handle("another"))

    assert (await world.sweeper().sweep(at(11))).counts["representative"] == count


async def swept_at_the_second_attempt(cut_before: int) -> tuple[Swept, bool]:
    """Sweep some slots, and again if this call of the stores fails; return what is said then."""
    world = World(records=MemoryRecords(slot_bits=1))
    await world.crawl(0, *(f"page-{number}" for number in range(6)), *map("short-{}".format, range(4)))
    await world.crawl(9, *(f"young-{number}" for number in range(6)))
    world.families.link(handle("page-0"), handle("young-0"))
    swept, sweeper = Swept(), world.sweeper(cut_at(cut_before))
    for attempt in range(2):
        try:
            await sweeper.sweep(at(11), swept=swept)
        except StoreUnavailable:
            continue
        return swept, attempt > 0
    raise AssertionError("no attempt succeeded")


async def test_a_sweep_that_is_repeated_says_what_the_attempt_before_did() -> None:
    counts = Counter(scanned=16, marked=6, expired=9, representative=1)
    for cut_before in range(1, 100):
        swept, was_cut = await swept_at_the_second_attempt(cut_before)

        assert (swept.counts, swept.oldest_overdue_seconds) == (counts, DAY), cut_before
        if not was_cut:
            break
    assert cut_before > 10
