"""Scrapy item pipelines: drop or mark near-duplicates by the query API, or publish pages to Kafka.

```python
# settings.py
ITEM_PIPELINES = {"neardup_events.scrapy_pipeline.DuplicatesPipeline": 300}
NEARDUP_API_URL = "http://127.0.0.1:9465"
NEARDUP_API_PATH = "/v1/pages"   # "/v1/query" only compares each page with those that are stored
NEARDUP_ACTION = "drop"          # "mark" sets the field `neardup` of the item and keeps it
```

An item needs `url` and one of `html`, `text` and `body`; `id` and `fetched_at` are sent where it has them. A
page that the API does not answer about is kept.
"""

import asyncio
import base64
import json
import logging
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final, Self

from itemadapter import ItemAdapter
from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.exceptions import DropItem, IgnoreRequest, NotConfigured
from scrapy.utils.misc import load_object

__all__ = ["DuplicatesPipeline", "KafkaPipeline", "duplicate_of"]

_logger = logging.getLogger(__name__)

_BODIES: Final = ("html", "text", "body")
_MEDIA_TYPES: Final = {"html": "text/html", "text": "text/plain"}  # of bytes under these names
_OPTIONAL: Final = ("id", "fetched_at", "content_type", "charset")
_FLUSH_SECONDS: Final = 60.0
_POLL_SECONDS: Final = 1.0
_CLIENT: Final = {"enable.idempotence": True, "partitioner": "murmur2_random"}
"""Settings of the Kafka client: a page is in the partition in which `forget` and `produce` put its id."""

_DUPLICATE: Final = "io.neardup.duplicate.v1"
_OK: Final = 200
_META: Final = {
    "download_slot": "neardup",
    "dont_obey_robotstxt": True,  # the API is no site
    "dont_redirect": True,
    "dont_merge_cookies": True,
    "dont_cache": True,
    "proxy": None,  # set, so that HttpProxyMiddleware takes none from the environment either
    "allow_offsite": True,
    "handle_httpstatus_all": True,
}


class DuplicatesPipeline:
    """Asks about the page of each item, with Scrapy's own downloader, which also retries.

    Args:
        crawler: whose settings count.

    Raises:
        NotConfigured: `NEARDUP_API_URL` is not set.
        ValueError: `NEARDUP_ACTION` is neither drop nor mark; Scrapy does not start the crawl.
    """

    def __init__(self, crawler: Crawler) -> None:
        settings = crawler.settings
        self._crawler = crawler
        self._url = settings.get("NEARDUP_API_URL", "") + settings.get("NEARDUP_API_PATH", "/v1/pages")
        self._action = settings.get("NEARDUP_ACTION", "drop")
        token = settings.get("NEARDUP_API_TOKEN", "")
        self._headers = {"Content-Type": "application/json"}
        if token:
            self._headers["Authorization"] = f"Bearer {token}"
        failures = settings.getlist("RETRY_EXCEPTIONS")
        self._failures = (IgnoreRequest, *(load_object(each) for each in failures))
        if not settings.get("NEARDUP_API_URL"):
            raise NotConfigured("set NEARDUP_API_URL")
        if self._action not in ("drop", "mark"):
            raise ValueError(f"NEARDUP_ACTION is {self._action!r}: set it to 'drop' or 'mark'")

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Return the pipeline of a crawler."""
        return cls(crawler)

    async def process_item(self, item: Any) -> Any:
        """Return the item, marked if it is a duplicate.

        Raises:
            DropItem: it is a near-duplicate, and duplicates are dropped.
        """
        adapter = ItemAdapter(item)
        page = _page(adapter)
        if page is None:
            self._count("skipped")
            return item
        answer = await self._ask(page)
        original = None if answer is None else duplicate_of(answer)
        self._count("unanswered" if answer is None else "duplicates" if original else "kept")
        if original is None:
            return item
        if self._action == "drop":
            raise DropItem(f"near-duplicate of {original}", log_level="DEBUG")  # it comes with the whole item
        adapter["neardup"] = {"duplicate_of": original}
        return item

    async def _ask(self, page: Mapping[str, str]) -> Mapping[str, Any] | None:
        try:
            body = _encoded(page)
        except TypeError as error:
            _logger.warning("neardup_unencoded: %s: %s", page["url"], error)
            return None
        request = Request(
            self._url,
            method="POST",
            headers=self._headers,
            body=body,
            meta=dict(_META),
            priority=1,
            dont_filter=True,
        )
        engine = self._crawler.engine
        assert engine is not None  # noqa: S101 - it runs while items are processed
        try:
            response = await engine.download_async(request)
        except self._failures as error:
            _logger.warning("neardup_unavailable: %s", error)
            return None
        if response.status != _OK:
            _logger.warning("neardup_unanswered: status %s for %s", response.status, page["url"])
            return None
        try:
            answer = json.loads(response.body)
        except ValueError:
            answer = None
        if not isinstance(answer, dict):
            _logger.warning("neardup_unanswered: no JSON object for %s", page["url"])
            return None
        return answer

    def _count(self, outcome: str) -> None:
        _count(self._crawler, outcome)


class KafkaPipeline:
    """Publishes the page of each item to the pages topic, for subscribers that act on the events later.

    It passes every item on. It needs confluent-kafka.

    Args:
        crawler: whose settings count.

    Raises:
        NotConfigured: `NEARDUP_KAFKA` or `NEARDUP_PAGES_TOPIC` is not set.
    """

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        client, self._topic = (
            crawler.settings.getdict("NEARDUP_KAFKA"),
            crawler.settings.get("NEARDUP_PAGES_TOPIC"),
        )
        if not client or not self._topic:
            raise NotConfigured("set NEARDUP_KAFKA to settings of confluent-kafka, and NEARDUP_PAGES_TOPIC")
        from confluent_kafka import KafkaError, KafkaException, Producer  # noqa: PLC0415 - the other pipeline does without

        self._failure, self._too_large = KafkaException, KafkaError.MSG_SIZE_TOO_LARGE
        self._producer = Producer({**_CLIENT, **client})

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Return the pipeline of a crawler."""
        return cls(crawler)

    async def process_item(self, item: Any) -> Any:
        """Return the item, whose page will be sent."""
        page = _page(ItemAdapter(item))
        if page is None:
            _count(self._crawler, "skipped")
            return item
        try:
            value, key = _encoded(page), str(page.get("id") or page["url"]).encode()
        except TypeError as error:
            self._note(error, None)
            return item
        while True:
            try:
                self._producer.produce(self._topic, value, key, on_delivery=self._note)
                break
            except BufferError:  # the queue of the client is full
                await asyncio.to_thread(self._producer.poll, _POLL_SECONDS)
            except self._failure as error:
                if error.args[0].code() != self._too_large:
                    raise
                self._note(error, None)
                break
        self._producer.poll(0)
        return item

    async def close_spider(self) -> None:
        """Wait until all pages are sent."""
        left = await asyncio.to_thread(self._producer.flush, _FLUSH_SECONDS)
        for _ in range(left):
            _count(self._crawler, "unsent")

    def _note(self, error: Any, _message: Any) -> None:
        """Count a page that Kafka has acknowledged, or refused."""
        if error is not None:
            _logger.warning("neardup_unsent: %s", error)
        _count(self._crawler, "sent" if error is None else "unsent")


def _page(item: ItemAdapter) -> dict[str, Any] | None:
    """Return the page of an item as JSON has it; None if it has none."""
    body = next((name for name in _BODIES if item.get(name)), None)
    if body is None or not item.get("url"):
        return None
    content = item[body]
    page = {"url": item["url"], **{name: item[name] for name in _OPTIONAL if item.get(name)}}
    if not isinstance(content, bytes):
        return {**page, body: content}
    if body in _MEDIA_TYPES:
        _, *parameters = str(page.get("content_type", "")).split(";")  # the charset may be one
        page["content_type"] = ";".join((_MEDIA_TYPES[body], *parameters))
    return {**page, "body": base64.b64encode(content).decode()}


def _encoded(page: Mapping[str, Any]) -> bytes:
    """Return a page as JSON, with times in ISO 8601.

    Raises:
        TypeError: a field has a value that JSON does not have.
    """
    return json.dumps(page, default=_iso).encode()


def _iso(value: object) -> str:
    if isinstance(value, datetime):
        return value.isoformat()
    raise TypeError(f"a {type(value).__name__} is no JSON")


def _count(crawler: Crawler, outcome: str) -> None:
    if crawler.stats is not None:
        crawler.stats.inc_value(f"neardup/{outcome}")


def duplicate_of(answer: Mapping[str, Any]) -> str | None:
    """Return the URL of the page that a page is a near-duplicate of; None if it is none.

    Pages are compared by id, because one page has several spellings of its URL. In an answer about a text
    that is not stored the cluster is that of the page's stored text, and says nothing of this one.

    Args:
        answer: of `POST /v1/query` or `POST /v1/pages`.
    """
    verdict = answer.get("verdict")
    if verdict is not None and not (answer.get("cluster") and answer["page"]["is_stored"]):
        return str(answer["matches"][0]["url"]) if verdict in ("exact", "near") else None
    for event in answer.get("events", ()):
        if event["type"] == _DUPLICATE:
            data = event["data"]
            cluster = data.get("cluster")
            return _other(cluster, data["page"]["id"]) if cluster else str(data["matches"][0]["url"])
    cluster = answer.get("cluster")
    return _other(cluster, answer.get("id") or answer["page"]["id"]) if cluster else None


def _other(cluster: Mapping[str, Any], page_id: str) -> str | None:
    """Return the URL of the representative; None if it is the page itself."""
    representative = cluster["representative"]
    return None if cluster["size"] == 1 or representative["id"] == page_id else str(representative["url"])
