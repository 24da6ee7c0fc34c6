"""Batches are prepared in several processes, with the same results as in one."""

import os
import signal
import sys
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from itertools import cycle

import pytest

from neardup_stream.errors import InvariantBroken
from neardup_stream.message import Partition, Position, Record
from neardup_stream.meters import NoMeters, PipelineMeters
from neardup_stream.pipeline.arrival import Prepared
from neardup_stream.pipeline.guarded_preparation import GuardedPreparation
from neardup_stream.pipeline.parallel_preparation import ParallelPreparation
from neardup_stream.pipeline.preparation import OnRecord, Prepares
from neardup_stream.pipeline.worker_limits import WorkerLimits
from tests.bad_work import BadPreparation
from tests.framed_pages import outside_landmarks
from tests.pipelines import Pipeline, essay, page_json

LIMITS = WorkerLimits(cpu_seconds=0.5, memory_bytes=128 << 20)
BATCHES = 40
BATCH_PAGES = 3
PARTITION = Partition("pages", 0)


def build(meters: PipelineMeters, *, on_record: OnRecord) -> BadPreparation:
    return BadPreparation(Pipeline().preparation(meters), on_record)


def build_nothing(meters: PipelineMeters, *, on_record: OnRecord) -> Prepares:  # noqa: ARG001 - see above
    raise ValueError("there is nothing to load")


def build_killed(meters: PipelineMeters, *, on_record: OnRecord) -> Prepares:
    os.kill(os.getpid(), signal.SIGKILL)
    return build(meters, on_record=on_record)


def batches(deeds: dict[int, str]) -> list[list[Record]]:
    """Batches of pages, some of which say what is to happen to their worker."""
    values = [page_json(str(n), f"{essay(n)} {deeds.get(n, '')}") for n in range(BATCHES * BATCH_PAGES)]
    records = [
        Record(position=Position(PARTITION, offset), key=None, value=value)
        for offset, value in enumerate(values)
    ]
    return [records[at : at + BATCH_PAGES] for at in range(0, len(records), BATCH_PAGES)]


async def one_by_one(of: Sequence[Sequence[Record]]) -> AsyncGenerator[Sequence[Record], None]:
    for batch in of:
        yield batch


async def read_all(preparation: ParallelPreparation, of: Sequence[Sequence[Record]]) -> list[Prepared]:
    return [batch async for batch in preparation.prepared(one_by_one(of))]


def started() -> GuardedPreparation:
    preparation = GuardedPreparation(build, LIMITS, NoMeters())
    preparation.start()
    return preparation


async def test_batches_are_returned_in_order_with_only_the_pages_refused_that_end_a_worker() -> None:
    bad = {4: "-vanish-", 7: "-busy-", 50: "-fail-", 51: "-vanish-", 100: "-busy-"}
    read = batches(bad)
    at_home = [Pipeline().preparation().prepare(batch) for batch in batches({})]
    workers = [started(), GuardedPreparation(build, LIMITS, NoMeters())]

    async with ParallelPreparation(workers) as preparation:
        prepared = await read_all(preparation, read)

    refused = [letter.record.position.offset for batch in prepared for letter in batch.rejected]
    assert refused == [4, 50, 51]
    kept = [[item.record.position.offset for item in batch.items] for batch in prepared]
    expected = [[item.record.position.offset for item in batch.items] for batch in at_home]
    assert kept == [[offset for offset in batch if offset not in refused] for batch in expected]


async def test_a_run_that_is_left_early_waits_for_no_worker() -> None:
    read = batches({5: "-spin-"})
    async with (
        ParallelPreparation([started()]) as preparation,
        aclosing(preparation.prepared(one_by_one(read))) as prepared,
    ):
        first = await anext(prepared)

    assert [item.record.position.offset for item in first.items] == [0, 1, 2]


async def test_a_run_that_is_left_early_closes_its_input() -> None:
    closed: list[bool] = []

    async def read() -> AsyncGenerator[Sequence[Record], None]:
        try:
            for batch in batches({}):
                yield batch
        finally:
            closed.append(True)

    source = read()
    async with (
        ParallelPreparation([started()]) as preparation,
        aclosing(preparation.prepared(source)) as prepared,
    ):
        await anext(prepared)

    assert closed == [True]


async def test_a_worker_that_cannot_start_ends_the_run() -> None:
    workers = [started(), GuardedPreparation(build_nothing, LIMITS, NoMeters())]
    async with ParallelPreparation(workers) as preparation:
        with pytest.raises(InvariantBroken, match="ended with 1; see above"):
            await read_all(preparation, batches({}) * 100)


async def test_workers_that_the_system_refuses_to_start_leave_their_work_to_the_others(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    workers = [started(), *(GuardedPreparation(build, LIMITS, NoMeters()) for _ in range(2))]
    monkeypatch.setattr(sys, "executable", "/nowhere/python")

    async with ParallelPreparation(workers) as preparation:
        prepared = await read_all(preparation, batches({}))

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

    workers = [started(), GuardedPreparation(build_killed, LIMITS, NoMeters())]
    async with ParallelPreparation(workers) as preparation:
        prepared = [batch async for batch in preparation.prepared(until_one_failed())]

    assert len(prepared) == len(read)


async def test_landmarks_are_read_while_batches_are_prepared() -> None:
    page = Pipeline().preparation().prepare(batches({})[0]).arrivals[0].page
    async with ParallelPreparation([started()]) as preparation:
        async for _ in preparation.prepared(one_by_one(batches({})[:3])):
            lines = preparation.lines_outside_landmarks(page)

    expected = outside_landmarks(page)
    assert lines is not None
    assert expected is not None
    assert lines.tolist() == expected.tolist()
