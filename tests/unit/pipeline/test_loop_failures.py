"""The loop over streams and stores that fail: what is repeated, and what is never lost."""

import asyncio
from collections.abc import Callable, Sequence

import pytest

from neardup_stream.errors import DependencyLost, StoreUnavailable
from neardup_stream.page import Handle
from neardup_stream.pipeline.in_flight import InFlightLimits
from neardup_stream.pipeline.retries import RetryPolicy
from neardup_stream.stores.memory.records import MemoryRecords
from neardup_stream.stores.protocol import ProbeAnswer, ProbeLimits, RecordAnswer, RecordChange, TableEntries
from neardup_stream.streams.memory.streams import Fail, MemorySink, MemorySource, Pass, Pause, numbered
from tests.doubles.tables import MemoryTables
from tests.pipelines import Pipeline, essay, page_json
from tests.unit.pipeline.crawled_pages import FIRST, crawl, run, url


@pytest.fixture(params=[False, True], ids=["at least once", "exactly once"], autouse=True)
def _delivery(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Pipeline, "is_exactly_once_by_default", request.param)


BAD = [b"json failed to parse", b"", b"\xff", b'{"url":"\\ud800"}', b"{}", b'{"url":"","text":""}', b"[1]"]


@pytest.mark.parametrize("bad", BAD)
async def test_a_bad_record_becomes_a_dead_letter_and_the_next_page_is_processed(bad: bytes) -> None:
    pipeline = Pipeline()
    good = page_json("good", essay(1))

    await run(pipeline, MemorySource(numbered([bad, good], keys=[b"the key", None])))

    (letter,) = pipeline.dead_letters.messages
    assert (letter.key, letter.value) == (b"the key", bad)
    assert dict(letter.headers)["neardup.error.reason"]
    assert pipeline.meters.outcomes == {"dead_letter": 1, "unique": 1}


async def test_a_read_that_fails_loses_nothing() -> None:
    pipeline = Pipeline()
    first, second = numbered([page_json("a", essay(1)), page_json("b", essay(1))])

    await run(pipeline, MemorySource([first, Fail(), second]))

    assert pipeline.pairs() == [(url("b"), [url("a")])]


@pytest.mark.parametrize("is_delivered", [False, True], ids=["lost", "answer-lost"])
async def test_a_send_that_fails_is_repeated_with_the_same_bytes(*, is_delivered: bool) -> None:
    pipeline = Pipeline(events=MemorySink([Pass(), Fail(is_delivered=is_delivered)]))
    pipeline.limits = InFlightLimits(max_batch_pages=1)
    source = MemorySource(numbered([page_json("a", essay(1)), page_json("b", essay(1))]))

    await run(pipeline, source)

    published = pipeline.events.messages
    assert len(published) == (1 if pipeline.is_exactly_once else 1 + is_delivered)
    assert published[0] == published[-1]
    assert source.committed == {FIRST: 2}


async def test_nothing_is_committed_before_its_events_are_acknowledged() -> None:
    held = Pause()
    pipeline = Pipeline(events=MemorySink([held]))
    source = MemorySource(numbered([page_json("a", essay(1)), page_json("b", essay(1))]))
    async with source:
        running = asyncio.create_task(pipeline.loop(source).run(asyncio.Event()))
        await pipeline.meters.first_read.wait()

        assert source.committed == {}
        held.until.set()
        await running

    assert source.committed == {FIRST: 2}


class FlakyTables(MemoryTables):
    """Stores everything, and loses its first answers."""

    def __init__(self, lost_answers: int) -> None:
        super().__init__()
        self._lost_answers = lost_answers

    async def probe_and_insert(self, entries: TableEntries, limits: ProbeLimits) -> ProbeAnswer:
        answer = await super().probe_and_insert(entries, limits)
        if self._lost_answers:
            self._lost_answers -= 1
            raise StoreUnavailable("the answer was lost")
        return answer


class FlakyRecords(MemoryRecords):
    """Stores everything, and loses its first answer."""

    def __init__(self) -> None:
        super().__init__()
        self._loses_answer = True

    async def replace(self, changes: Sequence[RecordChange]) -> list[RecordAnswer]:
        stored = await super().replace(changes)
        if self._loses_answer:
            self._loses_answer = False
            raise StoreUnavailable("the answer was lost")
        return stored


@pytest.mark.parametrize(
    "make",
    [lambda: Pipeline(tables=FlakyTables(3)), lambda: Pipeline(records=FlakyRecords())],
    ids=["tables", "records"],
)
async def test_a_store_whose_answer_was_lost_gives_the_same_verdicts(make: Callable[[], Pipeline]) -> None:
    pages = crawl(9, topics=3)
    pipeline, calm = make(), Pipeline()

    await run(pipeline, MemorySource(numbered(pages)))
    await run(calm, MemorySource(numbered(pages)))

    assert pipeline.events.messages == calm.events.messages
    assert pipeline.meters.outcomes == calm.meters.outcomes


class FetchLosingRecords(MemoryRecords):
    """Answers every fetch but one."""

    def __init__(self, lost_fetch: int) -> None:
        super().__init__()
        self._left = lost_fetch

    async def fetch(self, handles: Sequence[Handle]) -> list[bytes | None]:
        self._left -= 1
        if self._left == 0:
            raise StoreUnavailable("the answer was lost")
        return await super().fetch(handles)


@pytest.mark.parametrize("lost_fetch", range(1, 8))
async def test_a_batch_cut_at_a_repeated_page_is_repeated_from_the_cut_only(lost_fetch: int) -> None:
    """An earlier run must not meet what a later run of its own batch stored."""
    pages = [page_json("a", essay(1)), page_json("c", essay(3)), page_json("c", essay(1)), None]
    keys = [None, None, None, url("c").encode()]
    pipeline, calm = Pipeline(records=FetchLosingRecords(lost_fetch)), Pipeline()

    await run(pipeline, MemorySource(numbered(pages, keys=keys)))
    await run(calm, MemorySource(numbered(pages, keys=keys)))

    assert pipeline.pairs() == calm.pairs() == [(url("c"), [url("a")])]
    assert pipeline.meters.outcomes == calm.meters.outcomes


async def test_a_store_that_stays_unavailable_ends_the_run_uncommitted() -> None:
    pipeline = Pipeline(tables=FlakyTables(10**9), retry_policy=RetryPolicy(retry_deadline_seconds=0))
    source = MemorySource(numbered(crawl(3, topics=1)))
    async with source:
        with pytest.raises(ExceptionGroup) as ended:
            await pipeline.loop(source).run(asyncio.Event())

    assert ended.group_contains(DependencyLost)
    assert source.committed == {}
