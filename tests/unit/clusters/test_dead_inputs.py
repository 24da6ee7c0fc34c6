"""What was decided for pipes that were cut is removed, once nothing happens to them for long."""

import pytest

from neardup_stream.clusters.clusters import ClusterConfig, Clusters
from neardup_stream.clusters.dead_inputs import IDLE, drop_dead_inputs
from neardup_stream.clusters.requests import PageVersion, PlaceRequest
from neardup_stream.message import Partition, Position
from neardup_stream.page import Handle, PageId
from neardup_stream.pipeline.decide import decide_requests
from neardup_stream.pipeline.descriptions import Descriptions
from neardup_stream.pipeline.former_versions import FormerVersions
from neardup_stream.stores.cluster_store import PAGES, rows_table
from neardup_stream.stores.memory.clusters import MemoryClusters
from neardup_stream.stores.memory.records import MemoryRecords

DAY = 86_400
STDIN = Partition(f"stdin:{'0a' * 16}", 0)
FIFO = Partition(f"pipe:/tmp/a:b\n:{'1b' * 16}", 1)
KEPT = [
    pytest.param(Partition("pages", 0), id="a topic"),
    pytest.param(Partition("stdin", 1), id="a topic of this name"),
    pytest.param(Partition("file:" + "0a" * 16, 0), id="a file, which may be read again"),
]


class World:
    """A store, and pages that are decided in it."""

    def __init__(self) -> None:
        self.store = MemoryClusters()
        self.clusters = Clusters(
            self.store,
            Descriptions(MemoryRecords(), FormerVersions()),
            config=ClusterConfig(tombstone_ttl_seconds=0),
        )
        self.page_count = 0

    async def decide(self, partition: Partition, *offsets: int) -> None:
        requests = []
        for offset in offsets:
            self.page_count += 1
            node = PageVersion(Handle(self.page_count), 1, PageId("page"), "page")
            requests.append(PlaceRequest(Position(partition, offset), node, ()))
        await decide_requests(self.clusters, requests, lambda _request, _placement: b"row", 0)

    def row_count(self, partition: Partition) -> int:
        return len(self.store._tables.get(rows_table(partition), {}))

    async def look(self, day: int) -> int:
        return await drop_dead_inputs(self.store, day * DAY, DAY)


@pytest.mark.parametrize("pipe", [STDIN, FIFO], ids=["standard input", "a named pipe"])
async def test_rows_of_a_pipe_that_was_idle_between_two_looks_go(pipe: Partition) -> None:
    world = World()
    await world.decide(pipe, 3, 4)

    assert [await world.look(day) for day in (10, 11, 12)] == [0, 1, 0]
    assert (world.row_count(pipe), world.store._tables[IDLE]) == (0, {})


async def test_their_tombstones_go_too() -> None:
    world = World()
    await world.decide(STDIN, 3, 4)
    for day in (10, 11):
        await world.look(day)

    assert len(await world.store.due(0, 10)) == 2
    assert len(world.store._tables[PAGES]) == 2  # they live: only the rows are gone


async def test_a_look_that_comes_too_soon_removes_nothing() -> None:
    world = World()
    await world.decide(STDIN, 3)

    assert await drop_dead_inputs(world.store, 0, DAY) == 0
    assert await drop_dead_inputs(world.store, DAY - 1, DAY) == 0
    assert world.row_count(STDIN) == 1
    assert await drop_dead_inputs(world.store, DAY, DAY) == 1


async def test_a_pipe_that_is_still_read_keeps_its_rows() -> None:
    world = World()
    await world.decide(STDIN, 3)
    await world.look(10)
    await world.decide(STDIN, 4)
    assert await world.look(12) == 0
    await world.clusters.trim({STDIN: 4})
    assert await world.look(14) == 0

    assert world.row_count(STDIN) == 1
    assert await world.look(15) == 1


async def test_a_pipe_that_came_to_its_end_is_no_longer_looked_at() -> None:
    world = World()
    await world.decide(STDIN, 3)
    await world.look(10)
    await world.clusters.trim({STDIN: 4})

    assert await world.look(12) == 0
    assert world.store._tables[IDLE] == {}


@pytest.mark.parametrize("partition", KEPT)
async def test_what_may_come_again_is_kept(partition: Partition) -> None:
    world = World()
    await world.decide(partition, 3)

    assert [await world.look(day) for day in (10, 20, 30)] == [0, 0, 0]
    assert world.row_count(partition) == 1


async def test_a_process_that_resumes_even_later_finds_its_positions_finished() -> None:
    world = World()
    await world.decide(STDIN, 3, 4)
    for day in (10, 11):
        await world.look(day)

    already_decided = await world.clusters.already_decided([Position(STDIN, 4)])

    assert already_decided.finished == {Position(STDIN, 4)}


async def test_of_more_pipes_than_are_looked_at_together_all_go() -> None:
    world = World()
    pipes = [Partition(f"stdin:{number:032x}", 0) for number in range(201)]
    for pipe in pipes:
        await world.decide(pipe, 0)

    assert [await world.look(day) for day in (10, 11)] == [0, 201]
    assert sum(map(world.row_count, pipes)) == 0
