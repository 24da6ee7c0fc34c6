"""Requests of a Scrapy crawl to the query API: so many at once, and again where the API asks for that."""

import asyncio
import json
import logging
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, Final, Literal
from urllib.parse import urlsplit

from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured
from scrapy.http import Response

from .scrapy_compat import is_ending, takes_requests
from .scrapy_crawl import require_asyncio
from .scrapy_items import encoded

__all__ = ["QueryApi"]

_logger = logging.getLogger(__name__)

_SLOT: Final = "neardup"
_AT_ONCE: Final = 16
_REFUSALS: Final = 30
"""So many times a page is refused for want of a turn until it stays unanswered."""

_SKIPPED: Final = "the page is skipped"
"""In the detail of an answer 422 about a page that daemons skip: an image, a status that is not wanted."""

_LONGEST_WAIT_SECONDS: Final = 10
_WAIT_SECONDS: Final = 1
"""Of a refusal that gives no number of seconds."""

_META: Final = {
    "download_slot": _SLOT,
    "dont_obey_robotstxt": True,  # the API is no site
    "dont_redirect": True,
    "dont_retry": True,  # Scrapy does not wait for `Retry-After`
    "autothrottle_dont_adjust_delay": True,
    "dont_merge_cookies": True,
    "dont_cache": True,
    "proxy": None,  # set, so that HttpProxyMiddleware takes none from the environment either
    "allow_offsite": True,
    "handle_httpstatus_all": True,
}


class QueryApi:
    """Asks about pages with Scrapy's own downloader.

    Args:
        crawler: whose settings count.

    Raises:
        NotConfigured: `NEARDUP_API_URL` is not set.
        RuntimeError: Scrapy runs without asyncio.
        ValueError: no page can be sent to `NEARDUP_API_URL` with `NEARDUP_API_PATH`.
    """

    def __init__(self, crawler: Crawler) -> None:
        settings = crawler.settings
        if not settings.get("NEARDUP_API_URL"):
            raise NotConfigured("set NEARDUP_API_URL")
        require_asyncio()
        self._crawler = crawler
        self._url = _endpoint(settings.get("NEARDUP_API_URL"), settings.get("NEARDUP_API_PATH", "/v1/pages"))
        token = settings.get("NEARDUP_API_TOKEN", "")
        self._headers = {"Content-Type": "application/json"}
        if token:
            self._headers["Authorization"] = f"Bearer {token}"
        slot = settings.getdict("DOWNLOAD_SLOTS").get(_SLOT, {})
        # Without a delay Scrapy sends more than that at once.
        self._turns = asyncio.Semaphore(slot.get("concurrency", _AT_ONCE))

    async def ask(self, page: Mapping[str, Any]) -> Mapping[str, Any] | Literal["skipped", "unanswered"]:
        """Return the answer about a page; in a word if the API skips it, or there is none."""
        try:
            body = encoded(page)
        except (TypeError, ValueError) as error:
            _logger.warning("neardup_unencoded: %s: %s", page["url"], error)
            return "unanswered"
        request = Request(
            self._url,
            method="POST",
            headers=self._headers,
            body=body,
            meta=dict(_META),
            priority=1,
            dont_filter=True,
        )
        async with self._turns:
            response = await self._admitted(request)
        return "unanswered" if response is None else _answer(response, page["url"])

    async def _admitted(self, request: Request) -> Response | None:
        """Send a request until the API has a turn for it, or the crawl is ending."""
        response = await self._sent(request)
        for _ in range(_REFUSALS):
            if response is None or response.status != HTTPStatus.TOO_MANY_REQUESTS:
                break
            if is_ending(self._crawler):
                break
            await asyncio.sleep(_seconds_to_wait(response))
            response = await self._sent(request)
        return response

    async def _sent(self, request: Request) -> Response | None:
        """Send a request, once more if it failed; None if it got no answer, or the crawl is ending."""
        response = await self._sent_once(request)
        if response is not None and response.status < HTTPStatus.INTERNAL_SERVER_ERROR:
            return response
        return await self._sent_once(request)

    async def _sent_once(self, request: Request) -> Response | None:
        """Send a request; None if it got no answer, or the crawl takes none any more."""
        if not takes_requests(self._crawler):
            return None
        engine = self._crawler.engine
        assert engine is not None  # noqa: S101 - it runs while items are processed
        try:
            return await engine.download_async(request)
        except Exception as error:  # noqa: BLE001 - what is above is Scrapy, which would lose the item
            _logger.warning("neardup_unavailable: %s: %s", type(error).__name__, error)
            return None


def _endpoint(url: str, path: str) -> str:
    """Return where pages are sent.

    Raises:
        ValueError: no page can be sent there; Scrapy does not start the crawl.
    """
    try:
        parts = urlsplit(url)
        _ = parts.port  # raises where it is none
    except ValueError as error:
        raise ValueError(f"NEARDUP_API_URL is {url!r}: {error}") from error
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise ValueError(f"NEARDUP_API_URL is {url!r}: it begins with http:// or https:// and a host")
    if not path.startswith("/"):
        raise ValueError(f"NEARDUP_API_PATH is {path!r}: it begins with /")
    return url.rstrip("/") + path


def _answer(response: Response, url: str) -> Mapping[str, Any] | Literal["skipped", "unanswered"]:
    """Return what the API says about a page; in a word if it skips it, or says nothing."""
    answer = _json_object(response)
    if response.status == HTTPStatus.OK:
        if answer is not None:
            return answer
        _logger.warning("neardup_unanswered: no JSON object for %s", url)
    elif response.status == HTTPStatus.UNPROCESSABLE_ENTITY and _SKIPPED in str((answer or {}).get("detail")):
        return "skipped"
    else:
        _logger.warning("neardup_unanswered: %s for %s", _complaint(response), url)
    return "unanswered"


def _seconds_to_wait(response: Response) -> int:
    """Return how long to wait before a page that was refused is sent again."""
    seconds = response.headers.get("Retry-After") or b""
    return min(int(seconds), _LONGEST_WAIT_SECONDS) if seconds.isdigit() else _WAIT_SECONDS


def _complaint(response: Response) -> str:
    """Return what is wrong with a page or a request, by an answer other than 200."""
    detail = (_json_object(response) or {}).get("detail")
    if detail is None and response.status == HTTPStatus.NOT_FOUND:
        detail = "NEARDUP_API_URL has to name api.port (9465), not http.port"
    return f"status {response.status}: {detail}" if detail else f"status {response.status}"


def _json_object(response: Response) -> Mapping[str, Any] | None:
    """Return the JSON object of an answer; None if it holds none."""
    try:
        value = json.loads(response.body)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None
