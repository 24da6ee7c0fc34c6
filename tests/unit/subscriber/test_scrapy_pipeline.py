"""What a Scrapy crawl makes of the answers of the query API."""

import asyncio
import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final, cast

import attrs
import msgspec
import pytest
from neardup_daemon.query_api.problems import refused_skip
from scrapy import Field, Item, Request, Spider, signals
from scrapy.core.downloader import Slot
from scrapy.core.engine import ExecutionEngine
from scrapy.downloadermiddlewares.httpcache import HttpCacheMiddleware
from scrapy.downloadermiddlewares.httpproxy import HttpProxyMiddleware
from scrapy.extensions.throttle import AutoThrottle
from scrapy.http import Response
from scrapy.utils.test import get_crawler

from neardup_stream.message import Skipped, SkipReason
from neardup_stream.subscriber.scrapy_pipeline import DuplicatesPipeline

PAGE = "https://example.com/a"
DUPLICATE: Final = {
    "type": "io.neardup.duplicate.v1",
    "data": {"matches": [{"url": "https://example.com/b"}]},
}
API: Final = "http://api.example"


class Api:
    """Answers requests in the place of Scrapy's engine, and keeps them."""

    def __init__(
        self, body: bytes = b'{"events": []}', status: int = 200, headers: Mapping[str, str] | None = None
    ) -> None:
        self.requests: list[Request] = []
        self._slot = SimpleNamespace(closing=None)
        self._body, self._status, self._headers = body, status, headers or {}

    def close(self) -> None:
        """Mark the spider as Scrapy does at the end of a crawl."""
        self._slot.closing = object()

    async def download_async(self, request: Request) -> Response:
        self.requests.append(request)
        return Response(request.url, status=self._status, body=self._body, headers=self._headers)


def asked(api: Api) -> Request:
    """Return the request about a page."""
    process({"url": PAGE, "text": "some words"}, api)
    return api.requests[0]


def process(item: Any, api: Api, *more: Any, **settings: str) -> Mapping[str, Any]:
    """Return what the pipeline counted, for items that it must keep."""
    settings = {"NEARDUP_API_URL": API, "NEARDUP_API_TOKEN": "secret", **settings}
    crawler = get_crawler(settings_dict=settings)
    crawler.engine = cast("ExecutionEngine", api)

    async def processed() -> list[Any]:
        pipeline = DuplicatesPipeline(crawler)
        return [await pipeline.process_item(each) for each in (item, *more)]

    assert asyncio.run(processed()) == [item, *more]
    assert crawler.stats is not None
    return crawler.stats.get_stats()


def test_an_address_may_end_in_a_slash() -> None:
    api = Api()

    process({"url": PAGE, "text": "some words"}, api, NEARDUP_API_URL=f"{API}/")

    assert api.requests[0].url == f"{API}/v1/pages"


def test_requests_with_the_token_go_through_no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://user:word@proxy.example:3128")
    monkeypatch.delenv("no_proxy", raising=False)
    proxies = HttpProxyMiddleware.from_crawler(get_crawler())
    page, request = Request(API), asked(Api())

    proxies.process_request(page)
    proxies.process_request(request)

    assert page.meta["proxy"] == "http://proxy.example:3128"
    assert request.meta["proxy"] is None
    assert "Proxy-Authorization" not in request.headers


def test_answers_are_neither_cached_nor_taken_from_a_cache(tmp_path: Path) -> None:
    crawler = get_crawler(settings_dict={"HTTPCACHE_ENABLED": True, "HTTPCACHE_DIR": str(tmp_path)})
    crawler.spider = Spider.from_crawler(crawler, name="site")
    cache = HttpCacheMiddleware.from_crawler(crawler)
    cache.spider_opened(crawler.spider)
    page, request = Request(API), asked(Api())

    for each in (page, request):
        cache.process_response(each, Response(each.url, body=b"stored"))

    assert isinstance(cache.process_request(page), Response)
    assert cache.process_request(request) is None
    assert cache.storage.retrieve_response(crawler.spider, request) is None
    cache.spider_closed(crawler.spider)


def test_autothrottle_does_not_delay_requests_to_the_api() -> None:
    crawler = get_crawler(settings_dict={"AUTOTHROTTLE_ENABLED": True, "DOWNLOAD_DELAY": 5})
    slots = {"site": Slot(16, 0), "neardup": Slot(16, 0)}
    crawler.engine = cast("ExecutionEngine", SimpleNamespace(downloader=SimpleNamespace(slots=slots)))
    _throttle = AutoThrottle.from_crawler(crawler)  # signals hold it weakly
    page, request = Request(API, meta={"download_slot": "site"}), asked(Api())

    crawler.signals.send_catch_log(signals.spider_opened, spider=Spider("site"))
    for each in (page, request):
        each.meta["download_latency"] = 0.1
        crawler.signals.send_catch_log(
            signals.response_downloaded, response=Response(API), request=each, spider=Spider("site")
        )

    assert {name: slot.delay for name, slot in slots.items()} == {"site": 5, "neardup": 0}


def test_a_page_is_sent_in_the_bytes_that_its_text_has_in_utf_8() -> None:
    api, text = Api(), "слово " * 1_000

    process({"url": PAGE, "text": text}, api)

    (request,) = api.requests
    assert len(request.body) < len(text.encode()) + 100
    assert json.loads(request.body)["text"] == text


def test_half_of_a_surrogate_pair_is_sent_as_an_escape() -> None:
    api = Api()

    process({"url": PAGE, "text": "слово \ud83d"}, api)

    (request,) = api.requests
    assert request.body.decode().endswith('"слово \\ud83d"}')


@pytest.mark.parametrize("value", [object(), math.nan])
def test_an_item_with_a_field_that_json_does_not_have_is_kept(value: object) -> None:
    api = Api()

    counted = process({"url": PAGE, "text": "some words", "id": value}, api)

    assert (counted["neardup/unanswered"], api.requests) == (1, [])


@dataclass
class Shirt:
    """An item without the field `neardup`."""

    url: str
    text: str


@dataclass(frozen=True)
class FrozenShirt:
    url: str
    text: str
    neardup: Mapping[str, str] | None = None


@attrs.define
class TypedShirt:
    """An item whose class raises TypeError for a mark."""

    url: str
    text: str
    neardup: str = attrs.field(default="", validator=attrs.validators.instance_of(str))


@attrs.define
class ValidatedShirt:
    """An item whose class raises ValueError for a mark, as pydantic does."""

    url: str
    text: str
    neardup: object = attrs.field(default=None, validator=attrs.validators.in_([None]))


class DeclaredShirt(Item):
    url = Field()
    text = Field()


@pytest.mark.parametrize("kind", [Shirt, FrozenShirt, TypedShirt, ValidatedShirt, DeclaredShirt])
def test_an_item_that_cannot_be_marked_is_kept_and_its_class_is_named_once(
    kind: Callable[..., Any], caplog: pytest.LogCaptureFixture
) -> None:
    duplicate = json.dumps({"events": [DUPLICATE]}).encode()
    items = [kind(url=PAGE, text="some words") for _ in range(3)]

    counted = process(items[0], Api(duplicate), *items[1:], NEARDUP_ACTION="mark")

    assert (counted["neardup/duplicates"], counted["neardup/unmarked"]) == (3, 3)
    assert caplog.text.count("Shirt") == 1


@pytest.mark.parametrize("body", [b"<html>", b"[]", b"\xff", b""])
def test_an_item_is_kept_when_the_answer_is_no_json_object(body: bytes) -> None:
    counted = process({"url": PAGE, "text": "some words"}, Api(body))

    assert counted["neardup/unanswered"] == 1


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"Retry-After": "3"}, 3),
        ({"Retry-After": "86400"}, 10),
        ({"Retry-After": "Wed, 21 Oct 2026 07:28:00 GMT"}, 1),
        ({}, 1),
    ],
)
def test_a_page_that_was_refused_waits_as_long_as_the_api_asks_for_within_bounds(
    headers: Mapping[str, str], seconds: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    waited: list[float] = []

    async def sleep(delay: float) -> None:
        waited.append(delay)

    monkeypatch.setattr(asyncio, "sleep", sleep)

    counted = process({"url": PAGE, "text": "some words"}, Api(status=429, headers=headers))

    assert counted["neardup/unanswered"] == 1
    assert set(waited) == {seconds}


def test_a_page_that_was_refused_is_sent_no_more_once_the_crawl_is_ending(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    api = Api(status=429)

    async def sleep(_delay: float) -> None:
        api.close()

    monkeypatch.setattr(asyncio, "sleep", sleep)

    counted = process({"url": PAGE, "text": "some words"}, api)

    assert (counted["neardup/unanswered"], len(api.requests)) == (1, 1)


class Unavailable(Api):
    """Raises what no retry of Scrapy expects."""

    async def download_async(self, request: Request) -> Response:
        await super().download_async(request)
        raise LookupError("no such middleware")


def test_an_item_is_kept_whatever_the_download_raises(caplog: pytest.LogCaptureFixture) -> None:
    api = Unavailable()

    counted = process({"url": PAGE, "text": "some words"}, api)

    assert (counted["neardup/unanswered"], len(api.requests)) == (1, 2)
    assert "LookupError: no such middleware" in caplog.text


@pytest.mark.parametrize("status", [500, 503])
def test_a_page_is_sent_once_more_where_the_api_fails(status: int) -> None:
    api = Api(status=status)

    counted = process({"url": PAGE, "text": "some words"}, api)

    assert counted["neardup/unanswered"] == 1
    assert len(api.requests) == 2


@pytest.mark.parametrize("reason", ["content_type", "status", "header"])
def test_a_page_that_the_api_skips_counts_as_skipped_without_a_warning(
    reason: SkipReason, caplog: pytest.LogCaptureFixture
) -> None:
    refused = refused_skip(Skipped(reason)).problem
    api = Api(msgspec.json.encode(refused), refused.status)

    counted = process({"url": PAGE, "body": b"PNG", "content_type": "image/png"}, api)

    assert {name: count for name, count in counted.items() if "neardup/" in name} == {"neardup/skipped": 1}
    assert "neardup" not in caplog.text
    assert refused.detail.count(reason) == 1


def test_an_item_is_kept_when_the_answer_says_nothing() -> None:
    assert process({"url": PAGE, "text": "some words"}, Api(b"{}"))["neardup/kept"] == 1


@pytest.mark.parametrize(
    ("status", "body", "complaint"),
    [
        (422, b'{"detail": "body is no base64", "status": 422}', "status 422: body is no base64 for"),
        (422, b"no JSON", "status 422 for"),
        (404, b'{"detail": "there is no /v1/page"}', "status 404: there is no /v1/page for"),
        (404, b"404: Not Found", "status 404: NEARDUP_API_URL has to name api.port (9465), not http.port"),
        (202, b'{"state": "pending"}', "status 202 for"),
    ],
)
def test_the_log_says_why_a_page_was_not_answered(
    status: int, body: bytes, complaint: str, caplog: pytest.LogCaptureFixture
) -> None:
    counted = process({"url": PAGE, "text": "some words"}, Api(body, status))

    assert counted["neardup/unanswered"] == 1
    assert complaint in caplog.text
