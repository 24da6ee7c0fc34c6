"""What one sweep looks at, and what it says of how late it was."""

from collections import Counter

from neardup_stream.page import Handle
from neardup_stream.stores.memory.records import MemoryRecords
from neardup_stream.stores.protocol import RecordChange, WalkedRecords
from tests.unit.pipeline.retained_pages import DAY, World, at, page


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

    assert await world.sweeper().sweep(at(0), first_slot=2, slot_count=3) == Counter(scanned=3)


async def test_a_sweep_that_removes_nothing_was_not_late_whatever_the_one_before_was() -> None:
    world = World()
    await world.crawl(0, "old")
    sweeper = world.sweeper()
    await sweeper.sweep(at(11))
    assert sweeper.oldest_overdue_seconds == DAY

    await sweeper.sweep(at(11))

    assert sweeper.oldest_overdue_seconds == 0
