"""Asks the query API about the pages of a Scrapy crawl, and drops or marks duplicates."""

import json
import logging
from collections.abc import Mapping
from typing import Any, Final, Self

from itemadapter import ItemAdapter
from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.exceptions import DropItem, IgnoreRequest, NotConfigured
from scrapy.utils.misc import load_object

from .scrapy_answers import duplicate_of
from .scrapy_items import count, encoded, page_of

__all__ = ["DuplicatesPipeline"]

_logger = logging.getLogger(__name__)

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
        page = page_of(adapter)
        if page is None:
            count(self._crawler, "skipped")
            return item
        answer = await self._ask(page)
        original = None if answer is None else duplicate_of(answer)
        outcome = "unanswered" if answer is None else "duplicates" if original else "kept"
        count(self._crawler, outcome)
        if original is None:
            return item
        if self._action == "drop":
            raise DropItem(f"near-duplicate of {original}", log_level="DEBUG")  # it comes with the whole item
        adapter["neardup"] = {"duplicate_of": original}
        return item

    async def _ask(self, page: Mapping[str, str]) -> Mapping[str, Any] | None:
        try:
            body = encoded(page)
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
