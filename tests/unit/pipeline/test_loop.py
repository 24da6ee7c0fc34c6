import asyncio
from collections.abc import Callable, Sequence

import pytest

from neardup_stream.errors import DependencyLost, StoreUnavailable
from neardup_stream.message import Message, Partition, Record
from neardup_stream.page import Handle
from neardup_stream.pipeline.event_config import EventConfig
from neardup_stream.pipeline.in_flight import InFlightLimits
from neardup_stream.pipeline.retries import RetryPolicy
from neardup_stream.stores.memory.records import MemoryRecords
from neardup_stream.stores.memory.tables import MemoryTables
from neardup_stream.stores.protocol import ProbeAnswer, ProbeLimits, RecordAnswer, RecordChange, TableEntries
from neardup_stream.streams.memory.streams import Fail, MemorySink, MemorySource, Pass, Pause, numbered
from tests.pipelines import Pipeline, essay, page_json

FIRST = Partition("memory", 0)


@pytest.fixture(params=[False, True], ids=["at least once", "exactly once"], autouse=True)
def _delivery(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Pipeline, "is_exactly_once_by_default", request.param)


def url(name: str) -> str:
    return f"https://example.com/{name}"


def crawl(count: int, topics: int) -> list[bytes | None]:
    """`count` pages about `topics` topics, one after the other."""
    return [page_json(f"p{number}", essay(number % topics)) for number in range(count)]


async def run(pipeline: Pipeline, source: MemorySource) -> None:
    async with source:
        await pipeline.loop(source).run(asyncio.Event())


async def test_a_copy_is_announced_with_the_page_it_repeats() -> None:
    pipeline = Pipeline()

    await run(pipeline, MemorySource(numbered([page_json("a", essay(1)), page_json("b", essay(1))])))

    assert pipeline.pairs() == [(url("b"), [url("a")])]
    assert pipeline.meters.outcomes == {"unique": 1, "duplicate": 1}


async def test_a_page_of_the_same_batch_is_found_like_one_of_an_earlier_batch() -> None:
    pages = crawl(9, topics=2)
    answers = []
    for batch_pages in (1, 2, 9):
        pipeline = Pipeline(limits=InFlightLimits(max_batch_pages=batch_pages))
        await run(pipeline, MemorySource(numbered(pages)))
        answers.append([(page, sorted(matches)) for page, matches in pipeline.pairs()])

    assert answers[0] == answers[1] == answers[2]
    assert len(answers[0]) == 7


async def test_matches_are_listed_nearest_first_and_counted_beyond_the_limit() -> None:
    pipeline = Pipeline(event_config=EventConfig(matches_limit=2))
    copies = [page_json(f"copy{number}", essay(1)) for number in range(3)]

    await run(pipeline, MemorySource(numbered([*copies, page_json("last", essay(1))])))

    assert [len(matches) for _, matches in pipeline.pairs()] == [1, 2, 2]
    assert b'"matches_total":3' in (pipeline.events.messages[-1].value or b"")


async def test_unique_pages_are_published_when_asked_for() -> None:
    pipeline = Pipeline(event_config=EventConfig(unique=True))

    await run(pipeline, MemorySource(numbered([page_json("a", essay(1)), page_json("b", essay(1))])))

    types = [dict(message.headers)["ce_type"] for message in pipeline.events.messages]
    assert types == [b"io.neardup.unique.v1", b"io.neardup.duplicate.v1"]


async def test_the_same_page_again_is_unchanged_and_silent_also_within_a_batch() -> None:
    pipeline = Pipeline()
    page = page_json("a", essay(1))

    await run(pipeline, MemorySource(numbered([page] * 6)))

    assert pipeline.meters.outcomes == {"unique": 1, "unchanged": 5}
    assert pipeline.events.messages == []


async def test_a_changed_page_is_judged_anew_and_its_old_text_matches_no_page() -> None:
    pipeline = Pipeline()

    await run(
        pipeline,
        MemorySource(
            numbered(
                [
                    page_json("a", essay(1)),
                    page_json("b", essay(2)),
                    page_json("a", essay(2)),
                    page_json("c", essay(1)),
                ]
            )
        ),
    )

    assert pipeline.pairs() == [(url("a"), [url("b")])]
    assert pipeline.meters.outcomes == {"unique": 3, "duplicate": 1}


async def test_short_pages_are_undecided_and_equal_nothing() -> None:
    pipeline = Pipeline()

    await run(pipeline, MemorySource(numbered([page_json(name, "hello world") for name in "abc"])))

    assert pipeline.meters.outcomes == {"undecided": 3}
    assert pipeline.events.messages == []


async def test_every_record_gets_one_outcome_and_they_sum_to_the_pages() -> None:
    pipeline = Pipeline(statuses=frozenset({200}))
    records = numbered(
        [
            page_json("a", essay(1)),
            b"json failed to parse",
            page_json("b", essay(1)),
            page_json("c", essay(3), status=404),
            page_json("d", "too short"),
            page_json("a", essay(1)),
            None,
            None,
        ],
        keys=[None] * 6 + [url("a").encode(), b"https://example.com/unknown"],
    )

    await run(pipeline, MemorySource(records))

    assert pipeline.meters.page_count == len(records)
    assert pipeline.meters.outcomes == {
        "unique": 1,
        "duplicate": 1,
        "dead_letter": 1,
        "skipped": 1,
        "undecided": 1,
        "forgotten": 1,
        "unchanged": 1,
        "forget_unknown": 1,
    }


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

    told = pipeline.events.messages
    assert len(told) == (1 if pipeline.is_exactly_once else 1 + is_delivered)
    assert told[0] == told[-1]
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


async def test_a_stop_finishes_what_was_read_and_the_next_run_does_the_rest() -> None:
    pipeline = Pipeline()
    stop = asyncio.Event()
    pages = crawl(40, topics=40)
    source = MemorySource(numbered(pages))
    async with source:
        stop.set()
        await pipeline.loop(source).run(stop)
    done = pipeline.meters.page_count

    await run(pipeline, source)

    assert done < len(pages)
    assert pipeline.meters.outcomes == {"unique": len(pages)}
    assert source.committed == {FIRST: len(pages)}


async def test_partitions_are_revoked_only_once_what_was_read_is_committed() -> None:
    pipeline = Pipeline()
    held = Pause()
    second = Partition("memory", 1)
    source = MemorySource(
        [
            *numbered(crawl(4, topics=4), partition=FIRST),
            *numbered([page_json("z", essay(99))], partition=second),
            held,
        ]
    )
    async with source:
        running = asyncio.create_task(pipeline.loop(source).run(asyncio.Event()))
        await pipeline.meters.first_read.wait()

        await source.revoke(FIRST)
        committed = dict(source.committed)
        held.until.set()
        await running

    assert committed[FIRST] == 4
    assert source.dropped_commit_count == 0


async def test_a_drain_that_takes_too_long_leaves_the_work_uncommitted() -> None:
    held = Pause()
    pipeline = Pipeline(events=MemorySink([held]))
    source = MemorySource(numbered(crawl(2, topics=1)))
    async with source:
        running = asyncio.create_task(pipeline.loop(source, drain_seconds=0).run(asyncio.Event()))
        await pipeline.meters.first_read.wait()

        await source.revoke(FIRST)
        held.until.set()
        await running

    assert source.committed == {}
    assert source.dropped_commit_count == 0


@pytest.mark.parametrize("limit", [4, 5, 16])
async def test_what_is_in_flight_never_passes_the_limit(limit: int) -> None:
    pipeline = Pipeline(limits=InFlightLimits(max_batch_pages=4, max_in_flight_pages=limit))

    await run(pipeline, MemorySource(numbered(crawl(50, topics=50))))

    assert 4 <= pipeline.meters.most_in_flight_pages <= limit


async def test_trace_headers_and_meta_travel_from_the_page_to_its_event() -> None:
    pipeline = Pipeline()
    page = page_json("b", essay(1), meta={"job": 17})
    first, second = numbered([page_json("a", essay(1)), page])
    traced = Record(
        position=second.position, key=None, value=page, headers=[("traceparent", b"00-1-2-01"), ("x", b"y")]
    )

    await run(pipeline, MemorySource([first, traced]))

    (event,) = pipeline.events.messages
    assert dict(event.headers)["traceparent"] == b"00-1-2-01"
    assert b'"meta":{"job":17}' in (event.value or b"")
    assert isinstance(event, Message)
