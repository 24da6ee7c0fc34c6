import asyncio
import gc

import pytest

from neardup_stream.message import Message, Partition, Record
from neardup_stream.pipeline.batch import InFlightBatch, Run
from neardup_stream.pipeline.event_config import EventConfig
from neardup_stream.pipeline.in_flight import InFlightLimits
from neardup_stream.streams.memory.streams import MemorySink, MemorySource, Pause, numbered
from tests.pipelines import Pipeline, essay, page_json
from tests.unit.pipeline.crawled_pages import FIRST, crawl, run, url


@pytest.fixture(params=[False, True], ids=["at least once", "exactly once"], autouse=True)
def _delivery(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Pipeline, "is_exactly_once_by_default", request.param)


async def test_a_copy_is_announced_with_the_page_it_repeats() -> None:
    pipeline = Pipeline()

    await run(pipeline, MemorySource(numbered([page_json("a", essay(1)), page_json("b", essay(1))])))

    assert pipeline.pairs() == [(url("b"), [url("a")])]
    assert pipeline.meters.outcomes == {"unique": 1, "duplicate": 1}


async def test_finished_batches_go_without_a_garbage_collection() -> None:
    pipeline = Pipeline(limits=InFlightLimits(max_batch_pages=2))
    pages = [page_json("a", essay(1)), page_json("a", essay(2)), *crawl(20, topics=5)]

    gc.collect()  # runs of other tests that were cut
    gc.disable()
    try:
        await run(pipeline, MemorySource(numbered(pages)))
        left = [each for each in gc.get_objects() if isinstance(each, InFlightBatch | Run)]
    finally:
        gc.enable()

    assert left == []


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


async def test_matches_with_long_urls_are_listed_as_far_as_they_fit_and_all_counted() -> None:
    pipeline = Pipeline()
    copies = [page_json(f"{number:02}" + "x" * 4_000, essay(1)) for number in range(12)]

    await run(pipeline, MemorySource(numbered(copies)))

    assert [len(matches) for _, matches in pipeline.pairs()] == [*range(1, 8), *[8] * 4]
    assert b'"matches_total":11' in (pipeline.events.messages[-1].value or b"")


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
