import asyncio
from collections import Counter
from collections.abc import Sequence
from typing import get_args

import pytest

from neardup_stream.message import Record
from neardup_stream.meters import Activity, Delivered, Stage
from neardup_stream.streams.memory.streams import MemorySource, numbered
from tests.pipelines import CountingMeters, Pipeline, essay, page_json


class RecordingMeters(CountingMeters):
    """Keeps what was delivered, and what the stages did."""

    def __init__(self) -> None:
        super().__init__()
        self.batches: list[Delivered] = []
        self.read_offsets: list[int] = []
        self.activities: list[tuple[Stage, Activity]] = []

    def delivered(self, delivered: Delivered) -> None:
        self.batches.append(delivered)

    def read(self, records: Sequence[Record]) -> None:
        self.read_offsets += [record.position.offset for record in records]

    def activity(self, stage: Stage, activity: Activity) -> None:
        self.activities.append((stage, activity))


@pytest.fixture(params=[False, True], ids=["at least once", "exactly once"])
async def meters(request: pytest.FixtureRequest) -> RecordingMeters:
    """Of a run over a page, its copy on another site, a short page, a bad record and a forget of the page."""
    page = page_json("a", essay(1))
    copy = page.replace(b"example.com", b"example.org")
    meters = RecordingMeters()
    pipeline = Pipeline(meters=meters, site="host", is_exactly_once=request.param)
    records = numbered([page, copy, page_json("short", "two words"), b"{", page_json("b", essay(2))])
    async with MemorySource(records) as source:
        await pipeline.loop(source).run(asyncio.Event())
    return meters


async def test_every_record_is_read_and_delivered_once(meters: RecordingMeters) -> None:
    delivered = [record.position.offset for batch in meters.batches for record in batch.records]
    assert meters.read_offsets == sorted(delivered) == [0, 1, 2, 3, 4]


async def test_events_are_counted_by_name_and_duplicates_by_bytes_and_site(meters: RecordingMeters) -> None:
    copy_bytes = len(page_json("a", essay(1)))
    events: Counter[str] = Counter()
    for batch in meters.batches:
        events.update(batch.event_counts)

    assert events == {"duplicate": 1}
    assert sum(batch.duplicate_bytes for batch in meters.batches) == copy_bytes
    assert sum((Counter(batch.site_pages) for batch in meters.batches), Counter()) == {
        "example.com": 2,
        "example.org": 1,
    }
    assert sum((Counter(batch.site_duplicates) for batch in meters.batches), Counter()) == {"example.org": 1}


async def test_every_stage_reports_when_it_works_and_when_it_waits(meters: RecordingMeters) -> None:
    busy = {stage for stage, activity in meters.activities if activity == "busy"}
    waiting = {stage for stage, activity in meters.activities if activity == "waiting_for_input"}
    last = dict(meters.activities)

    assert busy == waiting == set(get_args(Stage))
    assert last["deliver"] == "waiting_for_input"
