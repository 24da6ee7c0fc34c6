"""The pages of a batch are prepared in several processes, with the same results as in one."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncGenerator, Iterable, Sequence
from contextlib import ExitStack, aclosing, closing
from itertools import count, cycle
from multiprocessing import get_context
from multiprocessing.synchronize import Barrier
from types import FrameType
from typing import Any

import pytest

from neardup_stream.errors import InvariantBroken
from neardup_stream.frames.table import LineHashes
from neardup_stream.message import Partition, Position, Record
from neardup_stream.meters import NoMeters, PipelineMeters
from neardup_stream.page import Page
from neardup_stream.pipeline import spread_preparation
from neardup_stream.pipeline.arrival import Prepared
from neardup_stream.pipeline.guarded_preparation import GuardedPreparation, fork_preparation
from neardup_stream.pipeline.preparation import OnRecord, Prepares
from neardup_stream.pipeline.spread_preparation import SpreadPreparation
from neardup_stream.pipeline.worker_limits import WorkerLimits
from neardup_stream.streams.memory.streams import numbered
from tests.bad_work import BadPreparation
from tests.framed_pages import outside_landmarks
from tests.pipelines import Pipeline, essay, page_json

LIMITS = WorkerLimits(cpu_seconds=0.5, memory_bytes=128 << 20)
BATCH_PAGES = 300
BATCHES = 4


def build(meters: PipelineMeters, *, on_record: OnRecord) -> BadPreparation:
    return BadPreparation(Pipeline().preparation(meters), on_record)


def build_nothing(meters: PipelineMeters, *, on_record: OnRecord) -> Prepares:  # noqa: ARG001 - see above
    raise ValueError("there is nothing to load")


def build_killed(meters: PipelineMeters, *, on_record: OnRecord) -> Prepares:
    os.kill(os.getpid(), signal.SIGKILL)
    return build(meters, on_record=on_record)


def batches(deeds: dict[int, str]) -> list[list[Record]]:
    """Batches of pages, some of which say what is to happen to their worker; every 50th is no page."""
    values = [
        page_json(str(number), f"{essay(number % 9)} {deeds.get(number, '')}") if number % 50 else b"{"
        for number in range(BATCHES * BATCH_PAGES)
    ]
    partition = Partition("pages", 0)
    records = [
        Record(position=Position(partition, offset), key=None, value=value)
        for offset, value in enumerate(values)
    ]
    return [records[at : at + BATCH_PAGES] for at in range(0, len(records), BATCH_PAGES)]


def test_a_batch_returns_in_order_with_only_the_page_refused_that_ends_a_worker() -> None:
    of = batches({BATCH_PAGES + 77: "-vanish-", 2 * BATCH_PAGES + 7: "-fail-"})
    alone = GuardedPreparation(build, LIMITS, NoMeters())
    workers = [GuardedPreparation(build, LIMITS, NoMeters()) for _ in range(2)]

    with SpreadPreparation(workers) as spread:
        spread.wait_until_ready()
        together = [spread.prepare(batch) for batch in of]
    expected = [alone.prepare(batch) for batch in of]
    alone.close()

    for one, other in zip(together, expected, strict=True):
        assert [(item.record.position, item.page_ids) for item in one.items] == [
            (item.record.position, item.page_ids) for item in other.items
        ]
        assert [(each.record.position, str(each.error)) for each in one.rejected] == [
            (each.record.position, str(each.error)) for each in other.rejected
        ]
    refused = {each.record.position.offset for batch in together for each in batch.rejected}
    assert {offset for offset in refused if offset % 50} == {BATCH_PAGES + 77, 2 * BATCH_PAGES + 7}


def prepare_for_ever(spread: SpreadPreparation) -> None:
    while True:
        spread.prepare(batches({})[0])


def test_a_worker_that_cannot_load_ends_the_run(capfd: pytest.CaptureFixture[str]) -> None:
    sound = GuardedPreparation(build, LIMITS, NoMeters())
    first, broken = (GuardedPreparation(build_nothing, LIMITS, NoMeters()) for _ in range(2))

    with SpreadPreparation([first]) as spread, pytest.raises(InvariantBroken, match="ended with 1"):
        spread.wait_until_ready()
    with SpreadPreparation([sound, broken]) as spread:
        spread.wait_until_ready()
        with pytest.raises(InvariantBroken, match="ended with 1"):
            prepare_for_ever(spread)

    assert "there is nothing to load" in capfd.readouterr().err


@pytest.mark.parametrize("line", range(10))
def test_a_batch_may_start_the_workers_while_another_one_does(line: int) -> None:
    """Before one of the lines that prepare the other, the batch is prepared whole, as by another thread."""
    records = [Record(position=Position(Partition("pages", 0), n), key=None, value=b"{") for n in range(600)]
    lines = count()

    def prepare_another(frame: FrameType, event: str, _of: object) -> Any:
        if frame.f_code.co_filename != spread_preparation.__file__:
            return None
        if event == "line" and next(lines) == line:
            spread.prepare(records[:1])
        return prepare_another

    forked = [fork_preparation(build, LIMITS) for _ in range(2)]
    with SpreadPreparation(
        [GuardedPreparation(build, LIMITS, NoMeters(), each) for each in forked]
    ) as spread:
        spread.wait_until_ready()
        former = sys.gettrace()
        sys.settrace(prepare_another)
        try:
            prepared = spread.prepare(records)
        finally:
            sys.settrace(former)

    assert len(prepared.rejected) == len(records)
    assert next(lines) > line


async def read_all(
    workers: Sequence[GuardedPreparation], of: AsyncGenerator[Sequence[Record], None]
) -> list[Prepared]:
    with SpreadPreparation(workers) as spread:
        await asyncio.to_thread(spread.wait_until_ready)
        return [batch async for batch in spread.prepared(of)]


async def one_by_one(of: Iterable[Sequence[Record]]) -> AsyncGenerator[Sequence[Record], None]:
    for batch in of:
        yield batch


async def test_batches_that_are_prepared_at_once_come_in_the_order_of_the_input() -> None:
    of = batches({7: "-busy-"}) * 3
    workers = [GuardedPreparation(build, LIMITS, NoMeters()) for _ in range(2)]

    prepared = await read_all(workers, one_by_one(of))

    found = [[item.record.position.offset for item in batch.items] for batch in prepared]
    assert found == [[record.position.offset for record in batch if record.value != b"{"] for batch in of]


class MeetingPreparation:
    """Prepares as another one does; the first batch with `-meet-` waits until all workers have one."""

    batches_at_once = 1

    def __init__(self, preparation: Prepares, all_here: Barrier) -> None:
        self._preparation = preparation
        self._all_here = all_here
        self._has_met = False

    def prepare(self, records: Sequence[Record]) -> Prepared:
        if not self._has_met and any(b"-meet-" in (record.value or b"") for record in records):
            self._all_here.wait()
            self._has_met = True
        return self._preparation.prepare(records)

    def lines_outside_landmarks(self, page: Page) -> LineHashes | None:
        return self._preparation.lines_outside_landmarks(page)


async def test_batches_that_are_smaller_than_a_piece_keep_all_workers_busy() -> None:
    worker_count, batch_pages, batch_count = 5, 16, 20
    all_here = get_context("fork").Barrier(worker_count, timeout=60)
    pages = numbered(page_json(str(n), f"{essay(n % 9)} -meet-") for n in range(batch_pages * batch_count))
    meeting = [pages[at : at + batch_pages] for at in range(0, len(pages), batch_pages)]

    def build_meeting(meters: PipelineMeters, *, on_record: OnRecord) -> Prepares:  # noqa: ARG001 - as `build`
        return MeetingPreparation(Pipeline().preparation(meters), all_here)

    with ExitStack() as stack:
        forked = [
            stack.enter_context(closing(fork_preparation(build_meeting, LIMITS))) for _ in range(worker_count)
        ]
        workers = [GuardedPreparation(build_meeting, LIMITS, NoMeters(), each) for each in forked]
        spread = stack.enter_context(SpreadPreparation(workers))
        await asyncio.to_thread(spread.wait_until_ready)
        await asyncio.to_thread(spread.prepare, numbered([b"{"] * 600))  # so many that the others start too
        prepared = [batch async for batch in spread.prepared(one_by_one(meeting))]

    assert [len(batch.items) for batch in prepared] == [batch_pages] * batch_count


@pytest.mark.parametrize(
    ("worker_count", "value", "batches_read"),
    [(1, b"{", 3), (5, b"{", 15), (5, b"{" * (8 << 20), 8)],
    ids=["one worker", "five workers", "large pages"],
)
async def test_so_many_batches_are_read_ahead_as_workers_have_pieces(
    worker_count: int, value: bytes, batches_read: int
) -> None:
    workers = [GuardedPreparation(build, LIMITS, NoMeters()) for _ in range(worker_count)]
    read = iter([record] for record in numbered([value] * 20))

    with SpreadPreparation(workers) as spread:
        await asyncio.to_thread(spread.wait_until_ready)
        async with aclosing(spread.prepared(one_by_one(read))) as prepared:
            await anext(prepared)

    assert 20 - len(list(read)) == batches_read


async def test_nothing_is_kept_while_the_input_is_silent() -> None:
    """Or a signal would not end a command that reads a pipe."""

    async def silent() -> AsyncGenerator[Sequence[Record], None]:
        yield batches({})[0][:1]
        yield []
        await asyncio.Event().wait()

    with SpreadPreparation([GuardedPreparation(build, LIMITS, NoMeters())]) as spread:
        async with asyncio.timeout(60), aclosing(spread.prepared(silent())) as prepared:
            counts = [len((await anext(prepared)).records) for _ in range(2)]

    assert counts == [1, 0]


async def test_a_run_that_is_left_early_closes_its_input_and_waits_for_no_worker() -> None:
    closed: list[bool] = []

    async def read() -> AsyncGenerator[Sequence[Record], None]:
        try:
            for batch in batches({BATCH_PAGES + 5: "-spin-"}):
                yield batch
        finally:
            closed.append(True)

    with SpreadPreparation([GuardedPreparation(build, LIMITS, NoMeters())]) as spread:
        await asyncio.to_thread(spread.wait_until_ready)
        async with aclosing(spread.prepared(read())) as prepared:
            first = await anext(prepared)

    assert len(first.items) + len(first.rejected) == BATCH_PAGES
    assert closed == [True]


async def test_workers_that_the_system_refuses_to_start_leave_their_work_to_the_others(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with closing(fork_preparation(build, LIMITS)) as forked:
        workers = [
            GuardedPreparation(build, LIMITS, NoMeters(), forked),
            *(GuardedPreparation(build, LIMITS, NoMeters()) for _ in range(2)),
        ]
        monkeypatch.setattr(sys, "executable", "/nowhere/python")

        prepared = await read_all(workers, one_by_one(batches({})))

    assert len(prepared) == BATCHES
    assert [record.message for record in caplog.records].count("worker_start_failed") == 2


async def test_workers_that_are_killed_while_they_start_leave_their_work_to_the_others(
    caplog: pytest.LogCaptureFixture,
) -> None:
    read: list[Sequence[Record]] = []

    async def until_one_failed() -> AsyncGenerator[Sequence[Record], None]:
        for batch in cycle(batches({})):
            if "worker_start_failed" in [record.message for record in caplog.records]:
                return
            read.append(batch)
            yield batch

    workers = [GuardedPreparation(each, LIMITS, NoMeters()) for each in (build, build_killed)]

    prepared = await read_all(workers, until_one_failed())

    assert len(prepared) == len(read)


async def test_landmarks_are_read_while_batches_are_prepared() -> None:
    page = Pipeline().preparation().prepare(batches({})[0]).arrivals[0].page
    with SpreadPreparation([GuardedPreparation(build, LIMITS, NoMeters())]) as spread:
        await asyncio.to_thread(spread.wait_until_ready)
        async for _ in spread.prepared(one_by_one(batches({})[:3])):
            lines = spread.lines_outside_landmarks(page)

    expected = outside_landmarks(page)
    assert lines is not None
    assert expected is not None
    assert lines.tolist() == expected.tolist()


def test_a_run_that_ends_while_a_worker_starts_does_not_wait_for_it() -> None:
    with SpreadPreparation([GuardedPreparation(build, LIMITS, NoMeters())]):
        pass
