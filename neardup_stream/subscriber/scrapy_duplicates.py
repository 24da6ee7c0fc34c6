"""Drops or marks the duplicates of a Scrapy crawl by what the query API answers."""

import logging
from typing import Any, Self

from itemadapter import ItemAdapter
from scrapy.crawler import Crawler
from scrapy.exceptions import DropItem

from .scrapy_answers import duplicate_of
from .scrapy_api import QueryApi
from .scrapy_crawl import count
from .scrapy_items import page_of

__all__ = ["DuplicatesPipeline"]

_logger = logging.getLogger(__name__)


class DuplicatesPipeline:
    """Asks the query API about the page of each item.

    Args:
        crawler: whose settings count.

    Raises:
        NotConfigured: `NEARDUP_API_URL` is not set.
        RuntimeError: Scrapy runs without asyncio.
        ValueError: a setting has a value that is not allowed; Scrapy does not start the crawl.
    """

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._api = QueryApi(crawler)
        self._action = crawler.settings.get("NEARDUP_ACTION", "drop")
        self._unmarkable: set[type] = set()
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
        page = page_of(adapter)
        if page is None:
            count(self._crawler, "skipped")
            return item
        answer = await self._api.ask(page)
        if isinstance(answer, str):
            count(self._crawler, answer)
            return item
        original = duplicate_of(answer)
        count(self._crawler, "kept" if original is None else "duplicates")
        if original is None:
            return item
        if self._action == "drop":
            raise DropItem(f"near-duplicate of {original}", log_level="DEBUG")  # it comes with the whole item
        self._mark(adapter, original)
        return item

    def _mark(self, item: ItemAdapter, original: str) -> None:
        """Set the field of an item; one of a class that does not allow it stays as it is."""
        try:
            item["neardup"] = {"duplicate_of": original}
        except (KeyError, AttributeError, TypeError, ValueError):  # it is frozen, or its class validates
            kind = type(item.item)
            if kind not in self._unmarkable:
                _logger.warning(
                    "neardup_unmarked: declare the field `neardup`, a mapping, in %s", kind.__qualname__
                )
                self._unmarkable.add(kind)
            count(self._crawler, "unmarked")
