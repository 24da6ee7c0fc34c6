"""Pages as crawlers write them, crawled twice."""

from typing import Any

import msgspec
import pytest

from neardup_stream.message import Partition, Position, Record, Skipped
from neardup_stream.page import Page
from neardup_stream.wire.pages import PageDecoder
from neardup_stream.wire.presets import Preset

URL = "https://site.example/a"


def _scrapy(crawl: int) -> dict[str, Any]:
    return {"url": URL, "status": 200, "body": f"<p>text {crawl}", "depth": crawl, "id": f"item {crawl}"}


def _scrapy_loader(crawl: int) -> dict[str, Any]:
    """An item loader makes a list of every value."""
    return {"url": [URL], "html": [f"<p>text {crawl}"], "title": ["a", "b"]}


def _browsertrix(crawl: int) -> dict[str, Any]:
    return {
        "id": f"8c2c0a3e-0000-4000-8000-{crawl:012}",
        "url": URL,
        "title": "A",
        "loadState": 4,
        "mime": "text/html",
        "seed": True,
        "status": 200,
        "depth": 0,
        "ts": f"2026-11-22T01:0{crawl}:00.123Z",
        "text": f"text {crawl}",
    }


def _nutch_dump(crawl: int) -> dict[str, Any]:
    return {
        "url": URL,
        "timestamp": "Sun, 22 Nov 2026 01:00:00 GMT",
        "request": {"method": "GET", "client": {"hostname": "h", "contact": {}}, "headers": {}, "body": None},
        "response": {"status": "200", "headers": {"Content-Type": "text/html"}, "body": f"<p>text {crawl}"},
        "key": f"key-{crawl}",
        "imported": "",
    }


def _nutch_index(crawl: int) -> dict[str, Any]:
    return {
        "id": URL,
        "url": URL,
        "content": f"text {crawl}",
        "title": "A",
        "tstamp": "Sun Nov 22 01:00:00 UTC 2026",
        "boost": "1.0",
        "digest": str(crawl),
    }


def _stormcrawler(crawl: int) -> dict[str, Any]:
    return {"url": URL, "content": f"text {crawl}", "title": "A", "domain": "site.example", "host": "h"}


WRITERS = {
    "scrapy": ("scrapy", _scrapy, "html"),
    "scrapy-item-loader": ("scrapy", _scrapy_loader, "html"),
    "browsertrix": ("browsertrix", _browsertrix, "text"),
    "nutch-dump": ("nutch", _nutch_dump, "html"),
    "nutch-index": ("nutch", _nutch_index, "text"),
    "stormcrawler": ("stormcrawler", _stormcrawler, "text"),
}


def _decode(decoder: PageDecoder, written: object) -> Page | Skipped:
    return decoder.decode(
        Record(position=Position(Partition("pages", 0), 0), key=None, value=msgspec.json.encode(written))
    )


@pytest.mark.parametrize(("preset", "write", "field"), WRITERS.values(), ids=WRITERS)
def test_a_page_that_is_crawled_twice_is_one_page(preset: Preset, write: Any, field: str) -> None:
    decoder = PageDecoder(preset=preset)

    first, second = [_decode(decoder, write(crawl)) for crawl in (1, 2)]

    assert isinstance(first, Page)
    assert isinstance(second, Page)
    assert first.id == second.id == URL
    assert getattr(first, field).endswith("text 1")
    assert getattr(second, field).endswith("text 2")


@pytest.mark.parametrize("nothing", [None, [None]])
@pytest.mark.parametrize(
    ("preset", "fields", "field"),
    [("scrapy", ("html", "body"), "html"), ("stormcrawler", ("content", "text"), "text")],
)
def test_a_field_without_a_value_hides_no_other(
    preset: Preset, fields: tuple[str, str], field: str, nothing: object
) -> None:
    empty, used = fields

    page = _decode(PageDecoder(preset=preset), {"url": URL, empty: nothing, used: "<p>text"})

    assert isinstance(page, Page)
    assert getattr(page, field) == "<p>text"


def test_times_of_browsertrix_are_those_of_the_capture() -> None:
    page = _decode(PageDecoder(preset="browsertrix"), _browsertrix(1))

    assert isinstance(page, Page)
    assert page.fetched_at_seconds == pytest.approx(1_795_309_260.123)


def test_names_that_are_set_go_before_those_of_the_crawler() -> None:
    decoder = PageDecoder(fields={"id": "key", "html": "request.method"}, preset="nutch")

    page = _decode(decoder, {**_nutch_dump(1), "content": None})

    assert isinstance(page, Page)
    assert (page.id, page.html) == ("key-1", "GET")


@pytest.mark.parametrize("preset", ["none", "browsertrix"])
def test_the_header_of_a_list_of_pages_is_skipped(preset: Preset) -> None:
    header = {"format": "json-pages-1.0", "id": "pages", "title": "All Pages", "hasText": "true"}

    assert _decode(PageDecoder(preset=preset), header) == Skipped("header")
