"""Generated crawls of a few sites, some pages in a frame, and everything that a pipeline makes of one."""

import asyncio
from collections.abc import Sequence
from typing import NamedTuple

from hypothesis import strategies as st

from neardup_stream.message import Partition, Record
from neardup_stream.pipeline.event_config import EventConfig
from neardup_stream.pipeline.in_flight import InFlightLimits
from neardup_stream.stores.protocol import all_records
from neardup_stream.streams.memory.streams import MemorySource, numbered
from tests.page_histories import Content, text_of
from tests.pipelines import Pipeline, page_json

__all__ = ["Crawled", "crawls", "events", "outcome_of"]

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
