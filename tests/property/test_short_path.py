"""Over stores in arrays new pages take a short path, and everything comes out as by all stages."""

import asyncio
from collections.abc import Callable, Sequence
from typing import NamedTuple

from hypothesis import given, settings
from hypothesis import strategies as st

from neardup_stream.fingerprints.sketch import SketchConfig
from neardup_stream.message import Partition, Record
from neardup_stream.pipeline.event_config import EventConfig
from neardup_stream.pipeline.in_flight import InFlightLimits
from neardup_stream.stores.protocol import all_records
from neardup_stream.streams.memory.streams import MemorySource, numbered
from tests.page_histories import RULES, SKETCH, Content, text_of
from tests.pipelines import Pipeline, SlowFetches, in_arrays, page_json

HOSTS = ("one", "two")


class Crawled(NamedTuple):
    """A page of a crawl: its number, its host, and its text; None to forget it. Some have a frame around."""

    number: int
    host: str
    content: Content | None
    is_framed: bool


contents = st.builds(Content, st.integers(0, 2), st.integers(0, 3), st.booleans())
pages = st.builds(
    Crawled,
    st.integers(0, 30),
    st.sampled_from(HOSTS),
    st.one_of(contents, contents, contents, st.none()),
    st.booleans(),
)
crawls = st.lists(pages, max_size=60)
events = st.builds(EventConfig, unique=st.booleans(), contained=st.booleans(), undecided=st.booleans())


def value(page: Crawled) -> bytes | None:
    if page.content is None:
        return None
    text = text_of(page.content)
    if page.is_framed:
        text = f"home of {page.host} and its menu\n{text}\nall rights are with {page.host}"
    return page_json(
        str(page.number), text, url=f"https://{page.host}.example/{page.number}", id=str(page.number)
    )


def records(crawl: Sequence[Crawled]) -> list[Record]:
    keys = [str(page.number).encode() for page in crawl]
    return numbered([value(page) for page in crawl], keys=keys, partition=Partition("file:0", 0))


def slowly_fetching(event_config: EventConfig) -> Pipeline:
    return Pipeline(records=SlowFetches(), event_config=event_config)


async def outcome_of(pipeline: Pipeline, crawl: Sequence[Crawled], batch_pages: int) -> list[object]:
    """Return every message and every outcome, and all that is stored of pages and of clusters."""
    pipeline.limits = InFlightLimits(batch_pages, max_in_flight_pages=4 * batch_pages)
    source = MemorySource(records(crawl))
    async with source:
        await pipeline.loop(source).run(asyncio.Event())
    stored = [each async for walked in all_records(pipeline.records) for each in walked.records]
    clusters = [cluster async for cluster in pipeline.decider().walk()]
    messages = [
        (each.key, each.value, tuple(each.headers), each.timestamp_ms) for each in pipeline.events.messages
    ]
    return [messages, +pipeline.meters.outcomes, sorted(stored), sorted(clusters)]


@settings(max_examples=60, deadline=None)
@given(
    crawls,
    st.sampled_from([1, 3, 16, 64]),
    events,
    st.sampled_from(sorted(RULES)),
    st.sampled_from(["everything", "host"]),
    st.sampled_from([SKETCH, SketchConfig(), None]),
    st.sampled_from(["host", None]),
)
def test_the_short_path_publishes_and_stores_what_all_stages_do(
    crawl: list[Crawled],
    batch_pages: int,
    published: EventConfig,
    rule: str,
    scope: str,
    sketch: SketchConfig | None,
    site: str | None,
) -> None:
    fields = {"event_config": published, "rule": RULES[rule], "scope": scope, "sketch": sketch, "site": site}

    short = asyncio.run(outcome_of(in_arrays(**fields), crawl, batch_pages))
    long = asyncio.run(outcome_of(Pipeline(**fields), crawl, batch_pages))  # type: ignore[arg-type] # of many types

    assert short == long


@settings(max_examples=40, deadline=None)
@given(crawls, st.integers(1, 16), st.sampled_from([in_arrays, slowly_fetching]), events)
def test_the_size_of_batches_does_not_matter_where_no_frame_is_learned(
    crawl: list[Crawled], batch_pages: int, stores: Callable[..., Pipeline], published: EventConfig
) -> None:
    some, one_by_one = stores(event_config=published), in_arrays(event_config=published)

    assert asyncio.run(outcome_of(some, crawl, batch_pages)) == asyncio.run(outcome_of(one_by_one, crawl, 1))
