"""Items whose pages Kafka does not take: no broker runs here."""

import asyncio
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any, cast

import pytest
from scrapy.core.engine import ExecutionEngine
from scrapy.crawler import Crawler
from scrapy.utils.test import get_crawler

from neardup_stream.subscriber import scrapy_kafka
from neardup_stream.subscriber.scrapy_pipeline import KafkaPipeline

PAGE = "https://example.com/a"


def crawler_of(topic: str = "pages", most_pages: int = 100) -> Crawler:
    client = {
        "bootstrap.servers": "127.0.0.1:1",
        "queue.buffering.max.messages": most_pages,
        "log_level": 0,
    }
    return get_crawler(settings_dict={"NEARDUP_KAFKA": client, "NEARDUP_PAGES_TOPIC": topic})


def unsent(crawler: Crawler) -> int:
    assert crawler.stats is not None
    return int(crawler.stats.get_value("neardup/unsent", 0))


@pytest.mark.parametrize(
    "item",
    [
        {"url": PAGE, "html": "x" * 2_000_000},
        {"url": f"{PAGE}\ud83d", "text": "some words"},
        {"url": PAGE, "id": "\ud83d", "text": "some words"},
        {"url": PAGE, "text": "some words", "fetched_at": object()},
    ],
    ids=["too-large", "surrogate-in-url", "surrogate-in-id", "no-json"],
)
async def test_the_item_of_a_page_that_cannot_be_sent_passes_on_and_the_log_names_it(
    item: Mapping[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    crawler = crawler_of()

    assert await KafkaPipeline(crawler).process_item(item) is item

    assert unsent(crawler) == 1
    assert repr(item.get("id", item["url"])) in caplog.text


async def test_items_pass_on_where_the_client_refuses_every_page() -> None:
    crawler = crawler_of(topic="x" * 600)  # longer than librdkafka takes
    item = {"url": PAGE, "text": "some words"}

    assert await KafkaPipeline(crawler).process_item(item) is item

    assert unsent(crawler) == 1


async def test_an_item_stops_waiting_for_room_once_the_crawl_is_ending(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    crawler = crawler_of(most_pages=1)
    slot = SimpleNamespace(closing=None)
    crawler.engine, crawler.crawling = cast("ExecutionEngine", SimpleNamespace(_slot=slot)), True
    pipeline = KafkaPipeline(crawler)
    first, second = {"url": PAGE, "text": "some words"}, {"url": f"{PAGE}/b", "text": "some words"}
    await pipeline.process_item(first)
    turn = asyncio.sleep

    async def sleep(_delay: float) -> None:
        slot.closing = object()
        await turn(0)

    monkeypatch.setattr(asyncio, "sleep", sleep)

    async with asyncio.timeout(60):
        assert await pipeline.process_item(second) is second

    assert slot.closing is not None
    assert unsent(crawler) == 1


async def test_pages_that_are_left_at_the_end_of_the_crawl_are_named_and_counted(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(scrapy_kafka, "_FLUSH_SECONDS", 0)
    crawler = crawler_of()
    pipeline = KafkaPipeline(crawler)
    urls = [f"{PAGE}/{number}" for number in range(3)]
    for url in urls:
        await pipeline.process_item({"url": url, "text": "some words"})

    await pipeline.close_spider()

    assert unsent(crawler) == len(urls)
    assert all(repr(url) in caplog.text for url in urls)
