"""Over stores in arrays new pages take a short path, and everything comes out as by all stages."""

import asyncio
from collections.abc import Callable

from hypothesis import example, given, settings
from hypothesis import strategies as st

from neardup_stream.fingerprints.sketch import SketchConfig
from neardup_stream.pipeline.event_config import EventConfig
from tests.generated_crawls import Crawled, crawls, events, outcome_of
from tests.page_histories import RULES, SKETCH, Content
from tests.pipelines import Pipeline, SlowFetches, in_arrays


def slowly_fetching(event_config: EventConfig) -> Pipeline:
    return Pipeline(records=SlowFetches(), event_config=event_config)


TEXT, OTHER = Content(2, 0, is_edited=True), Content(0, 0, is_edited=True)
THE_NEXT_REPRESENTATIVE_CHANGES = [
    Crawled(0, "one", TEXT, is_framed=False),
    Crawled(1, "one", TEXT, is_framed=False),
    Crawled(2, "one", None, is_framed=False),
    Crawled(0, "one", OTHER, is_framed=False),
    Crawled(2, "two", Content(1, 2, is_edited=True), is_framed=False),
    Crawled(1, "two", OTHER, is_framed=False),
]


@settings(max_examples=60, deadline=None)
@example(THE_NEXT_REPRESENTATIVE_CHANGES, 3, EventConfig(unique=True), "linked", "everything", SKETCH, None)
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
