"""Items whose pages Kafka does not take: no broker runs here."""

from collections.abc import Mapping
from typing import Any

import pytest
from scrapy.crawler import Crawler
from scrapy.utils.test import get_crawler

from neardup_stream.subscriber.scrapy_pipeline import KafkaPipeline

PAGE = "https://example.com/a"


def crawler_of(topic: str = "pages", **client: Any) -> Crawler:
    client = {"bootstrap.servers": "127.0.0.1:1", "log_level": 0, **client}
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
