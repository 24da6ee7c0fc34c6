"""Publishes the pages of a Scrapy crawl to Kafka."""

import asyncio
import logging
from typing import Any, Final, Self

from itemadapter import ItemAdapter
from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured

from .scrapy_compat import is_ending
from .scrapy_crawl import count, require_asyncio
from .scrapy_items import encoded, page_of

__all__ = ["KafkaPipeline"]

_logger = logging.getLogger(__name__)

_FLUSH_SECONDS: Final = 60.0
_PURGE_SECONDS: Final = 1.0
_ROOM_SECONDS: Final = 0.1
_ROOM_AT_END_SECONDS: Final = 10.0
"""How long pages wait for room once the crawl is ending: a broker that answers makes some within that."""

_CLIENT: Final = {"enable.idempotence": True, "partitioner": "murmur2_random"}
"""Settings of the Kafka client: a page is in the partition in which `forget` and `produce` put its id."""


class KafkaPipeline:
    """Publishes the page of each item to the pages topic, for subscribers that act on the events later.

    It passes every item on. It needs confluent-kafka.

    Args:
        crawler: whose settings count.

    Raises:
        NotConfigured: `NEARDUP_KAFKA` or `NEARDUP_PAGES_TOPIC` is not set.
        RuntimeError: Scrapy runs without asyncio.
    """

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        client, self._topic = (
            crawler.settings.getdict("NEARDUP_KAFKA"),
            crawler.settings.get("NEARDUP_PAGES_TOPIC"),
        )
        if not client or not self._topic:
            raise NotConfigured("set NEARDUP_KAFKA to settings of confluent-kafka, and NEARDUP_PAGES_TOPIC")
        require_asyncio()
        from confluent_kafka import KafkaException, Producer  # noqa: PLC0415 - the other pipeline does without

        self._failure = KafkaException
        self._waits_until: float | None = None
        self._producer = Producer({**_CLIENT, **client})

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Return the pipeline of a crawler."""
        return cls(crawler)

    async def process_item(self, item: Any) -> Any:
        """Return the item, whose page will be sent."""
        page = page_of(ItemAdapter(item))
        if page is None:
            count(self._crawler, "skipped")
            return item
        key = str(page.get("id") or page["url"])
        try:
            await self._send(key.encode(), encoded(page))
        except (TypeError, ValueError, BufferError, self._failure) as error:
            self._note_unsent(key, error)
        return item

    async def close_spider(self) -> None:
        """Wait until all pages are sent, at most a minute."""
        await asyncio.to_thread(self._producer.flush, _FLUSH_SECONDS)
        self._producer.purge()  # those that are left are reported to `_note`
        self._producer.flush(_PURGE_SECONDS)

    async def _send(self, key: bytes, value: bytes) -> None:
        """Give a page to the client once its queue has room.

        Raises:
            BufferError: it had none for so long since the crawl began to end.
        """
        while True:
            try:
                self._producer.produce(self._topic, value, key, on_delivery=self._note)
                break
            except BufferError:
                if self._has_waited_enough():
                    raise
                await asyncio.sleep(_ROOM_SECONDS)
                self._producer.poll(0)
        self._producer.poll(0)

    def _has_waited_enough(self) -> bool:
        if not is_ending(self._crawler):
            return False
        now = asyncio.get_running_loop().time()
        self._waits_until = self._waits_until or now + _ROOM_AT_END_SECONDS
        return now >= self._waits_until

    def _note(self, error: Any, message: Any) -> None:
        """Count a page that Kafka has acknowledged, or refused."""
        if error is None:
            count(self._crawler, "sent")
        else:
            self._note_unsent(message.key().decode(), error)

    def _note_unsent(self, key: str, error: object) -> None:
        _logger.warning("neardup_unsent: %r: %s", key, error)  # quoted, because it may be no UTF-8
        count(self._crawler, "unsent")
