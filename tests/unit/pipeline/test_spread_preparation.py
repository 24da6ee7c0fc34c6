"""The pages of a batch are prepared in several processes, with the same results as in one."""

import sys
from itertools import count
from types import FrameType
from typing import Any

import pytest

from neardup_stream.errors import InvariantBroken
from neardup_stream.message import Partition, Position, Record
from neardup_stream.meters import NoMeters, PipelineMeters
from neardup_stream.pipeline import spread_preparation
from neardup_stream.pipeline.guarded_preparation import GuardedPreparation, fork_preparation
from neardup_stream.pipeline.preparation import OnRecord, Prepares
from neardup_stream.pipeline.spread_preparation import SpreadPreparation
from neardup_stream.pipeline.worker_limits import WorkerLimits
from tests.bad_work import BadPreparation
from tests.pipelines import Pipeline, essay, page_json

LIMITS = WorkerLimits(cpu_seconds=0.5, memory_bytes=128 << 20)
BATCH_PAGES = 300
BATCHES = 4


def build(meters: PipelineMeters, *, on_record: OnRecord) -> BadPreparation:
    return BadPreparation(Pipeline().preparation(meters), on_record)


def build_nothing(meters: PipelineMeters, *, on_record: OnRecord) -> Prepares:  # noqa: ARG001 - see above
    raise ValueError("there is nothing to load")


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


def test_a_run_that_ends_while_a_worker_starts_does_not_wait_for_it() -> None:
    with SpreadPreparation([GuardedPreparation(build, LIMITS, NoMeters())]):
        pass
