"""Decision records of awaited pages are trimmed later; all others as before."""

import asyncio
import threading
from collections.abc import Mapping, Sequence

import pytest
from neardup_daemon.held_decisions import MOST_AWAITED, HeldDecisions, NotingPreparation, holding_decisions

from neardup_stream.clusters.unclustered import Unclustered
from neardup_stream.errors import CorruptData, StoreUnavailable
from neardup_stream.message import Partition, Position, Record
from neardup_stream.stores.memory.clusters import MemoryClusters
from neardup_stream.wire.pages import AWAITED, OWN_FIELDS
from tests.pipelines import Pipeline, essay, page_json

ONE, OTHER = Partition("pages", 0), Partition("pages", 1)
KEPT_SECONDS = 10.0


class Trims(Unclustered):
    """Remembers what is trimmed."""

    def __init__(self) -> None:
        super().__init__(MemoryClusters())
        self.trims: list[dict[Partition, int]] = []
        self.may_trim = asyncio.Event()
        self.may_trim.set()
        self.has_failed = asyncio.Event()
        self.has_trimmed = asyncio.Event()
        self.is_unavailable = False
        self.is_corrupt = False

    async def trim(self, next_offsets: Mapping[Partition, int]) -> None:
        if self.is_unavailable:
            self.has_failed.set()
            raise StoreUnavailable("unavailable")
        if self.is_corrupt:
            raise CorruptData("corrupt")
        await self.may_trim.wait()
        self.trims.append(dict(next_offsets))
        self.has_trimmed.set()


class Scene:
    """A held decider, what it trims, and its clock."""

    def __init__(self) -> None:
        self.now = 0.0
        self.decider = Trims()
        self.held = HeldDecisions(self.decider, KEPT_SECONDS, lambda: self.now)

    async def take(self, *positions: Position, awaited: bool = True, looked_up: bool = True) -> None:
        """Read records, and look them up as the pipeline does before it decides."""
        headers = (OWN_FIELDS, AWAITED) if awaited else (OWN_FIELDS,)
        self.held.note([Record(position=each, key=None, value=b"{}", headers=headers) for each in positions])
        if looked_up:
            await self.held.already_decided(positions)


@pytest.fixture
def scene() -> Scene:
    return Scene()


async def test_without_awaited_pages_every_trim_passes_at_once(scene: Scene) -> None:
    await scene.take(Position(ONE, 0), awaited=False)

    await scene.held.trim({ONE: 1, OTHER: 5})

    assert scene.decider.trims == [{ONE: 1, OTHER: 5}]


async def test_an_awaited_position_and_those_behind_it_stay_for_the_time_set(scene: Scene) -> None:
    await scene.take(Position(ONE, 3))
    await scene.held.trim({ONE: 9, OTHER: 5})
    await scene.held.trim_due()
    scene.now = KEPT_SECONDS - 0.01
    await scene.held.trim_due()

    assert scene.decider.trims == [{OTHER: 5}, {ONE: 3}]

    scene.now = KEPT_SECONDS
    await scene.held.trim_due()
    await scene.held.trim({ONE: 12})

    assert scene.decider.trims[2:] == [{ONE: 9}, {ONE: 12}]


async def test_the_time_counts_from_the_commit(scene: Scene) -> None:
    await scene.take(Position(ONE, 3))
    scene.now = 100.0
    await scene.held.trim({ONE: 4})

    await scene.held.trim_due()

    assert scene.decider.trims == [{ONE: 3}]


async def test_a_dead_letter_is_not_kept(scene: Scene) -> None:
    await scene.take(Position(ONE, 3), looked_up=False)

    await scene.held.trim({ONE: 4})

    assert scene.decider.trims == [{ONE: 4}]


async def test_dead_letters_that_are_committed_take_no_place_from_others(scene: Scene) -> None:
    await scene.take(Position(OTHER, 0), looked_up=False)
    half = MOST_AWAITED // 2
    for start in (0, half):
        await scene.take(*(Position(ONE, start + offset) for offset in range(half)), looked_up=False)
        await scene.held.trim({ONE: start + half})

    await scene.held.already_decided([Position(OTHER, 0)])
    await scene.held.trim({OTHER: 1})

    assert scene.decider.trims == [{ONE: half}, {ONE: 2 * half}]


async def test_what_other_threads_prepare_is_noted_in_the_loop_and_before_it_is_looked_up(
    scene: Scene,
) -> None:
    threads: list[threading.Thread] = []

    class Watched(HeldDecisions):
        def note(self, records: Sequence[Record]) -> None:
            threads.append(threading.current_thread())
            super().note(records)

    held = Watched(scene.decider, KEPT_SECONDS, lambda: scene.now)
    preparation = NotingPreparation(Pipeline().preparation(), held)
    record = Record(position=Position(ONE, 3), key=None, value=page_json("a", essay(1)), headers=(AWAITED,))

    await asyncio.to_thread(preparation.prepare, [record])
    await held.already_decided([record.position])
    await held.trim({ONE: 4})

    assert threads == [threading.current_thread()]
    assert scene.decider.trims == []


async def test_what_is_looked_up_is_kept_though_a_look_for_due_records_comes_before_its_commit(
    scene: Scene,
) -> None:
    await scene.take(Position(ONE, 3))
    await scene.held.trim_due()

    await scene.held.trim({ONE: 4})
    await scene.held.trim_due()

    assert scene.decider.trims == [{ONE: 3}]


async def test_what_is_read_is_kept_though_records_before_it_are_committed_before_it_is_looked_up(
    scene: Scene,
) -> None:
    await scene.take(Position(ONE, 8), looked_up=False)
    await scene.held.trim({ONE: 4})

    await scene.held.already_decided([Position(ONE, 8)])
    await scene.held.trim({ONE: 9})

    assert scene.decider.trims == [{ONE: 4}]


async def test_the_time_of_the_record_behind_a_commit_does_not_begin_with_it(scene: Scene) -> None:
    await scene.take(Position(ONE, 3), Position(ONE, 4))
    await scene.held.trim({ONE: 4})
    scene.now = KEPT_SECONDS - 1
    await scene.held.trim({ONE: 9})
    scene.now = KEPT_SECONDS

    await scene.held.trim_due()

    assert scene.decider.trims == [{ONE: 4}]


async def test_of_awaited_records_the_first_holds_the_others_in_whatever_order_they_are_looked_up(
    scene: Scene,
) -> None:
    await scene.take(Position(ONE, 8), Position(ONE, 1))
    await scene.held.trim({ONE: 9})

    await scene.held.trim_due()

    assert scene.decider.trims == [{ONE: 1}]


async def test_a_trim_that_failed_is_done_again(scene: Scene) -> None:
    await scene.take(Position(ONE, 3))
    await scene.held.trim({ONE: 4})
    scene.now, scene.decider.is_unavailable = KEPT_SECONDS, True
    with pytest.raises(StoreUnavailable):
        await scene.held.trim_due()
    scene.decider.is_unavailable = False

    await scene.held.trim_due()

    assert scene.decider.trims == [{ONE: 4}]


async def test_of_more_awaited_positions_than_are_remembered_the_oldest_are_trimmed(scene: Scene) -> None:
    await scene.take(*(Position(ONE, offset) for offset in range(MOST_AWAITED + 1)), looked_up=False)
    await scene.held.already_decided([Position(ONE, offset) for offset in range(MOST_AWAITED + 1)])
    await scene.held.trim({ONE: MOST_AWAITED + 1})

    await scene.held.trim_due()

    assert scene.decider.trims == [{ONE: 1}]


async def test_of_more_awaited_positions_that_are_read_than_are_remembered_the_oldest_are_not_held(
    scene: Scene,
) -> None:
    await scene.take(*(Position(ONE, offset) for offset in range(MOST_AWAITED + 1)), looked_up=False)

    await scene.held.already_decided([Position(ONE, 0)])
    await scene.held.trim({ONE: 1})
    await scene.held.already_decided([Position(ONE, 1)])
    await scene.held.trim({ONE: 2})

    assert scene.decider.trims == [{ONE: 1}]


async def test_of_more_committed_positions_than_are_remembered_the_oldest_are_trimmed(scene: Scene) -> None:
    half = MOST_AWAITED // 2
    for start in (0, half, 2 * half):
        await scene.take(*(Position(ONE, start + offset) for offset in range(half)))
        await scene.held.trim({ONE: start + half})

    await scene.held.trim_due()

    assert scene.decider.trims == [{ONE: half}]


async def test_holding_ends_with_its_block() -> None:
    async with asyncio.timeout(30), holding_decisions(Trims(), KEPT_SECONDS):
        pass


async def test_kept_records_are_trimmed_once_the_store_is_available_again() -> None:
    scene = Scene()
    scene.decider.is_unavailable = True

    async with asyncio.timeout(30), holding_decisions(scene.decider, 0.0, 0.01) as scene.held:
        await scene.take(Position(ONE, 0))
        await scene.held.trim({ONE: 1})
        await scene.decider.has_failed.wait()
        scene.decider.is_unavailable = False
        await scene.decider.has_trimmed.wait()

    assert scene.decider.trims == [{ONE: 1}]


async def test_a_trim_that_no_repetition_helps_ends_the_daemon() -> None:
    decider = Trims()
    decider.is_corrupt = True

    with pytest.RaisesGroup(pytest.RaisesExc(CorruptData)):
        async with asyncio.timeout(30), holding_decisions(decider, 0.0, 0.01) as held:
            position = Position(ONE, 0)
            held.note([Record(position=position, key=None, value=b"{}", headers=(OWN_FIELDS, AWAITED))])
            await held.already_decided([position])
            await held.trim({ONE: 1})
            await asyncio.Event().wait()


async def test_what_is_committed_while_kept_records_are_trimmed_is_trimmed_too() -> None:
    scene = Scene()
    await scene.take(Position(ONE, 3))
    await scene.held.trim({ONE: 10})
    scene.now = KEPT_SECONDS

    scene.decider.may_trim.clear()
    trimming = asyncio.create_task(scene.held.trim_due())
    await asyncio.sleep(0)
    await scene.held.trim({ONE: 20})
    scene.decider.may_trim.set()
    await trimming
    await scene.held.trim_due()

    assert scene.decider.trims == [{ONE: 10}, {ONE: 20}]
