"""Pages as crawlers write them, crawled twice."""

from typing import Any

import msgspec
import pytest

from neardup_stream.errors import BadPage
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


@pytest.mark.parametrize(
    ("crawled", "dumped"),
    [
        ("http://a.example/b?c=1&d=2", "http://a.example/b%3Fc=1&d=2"),
        ("http://a.example/b?c=%20%26", "http://a.example/b%3Fc=%2520%2526"),
        ("http://a.example/%C3%BCber?c=ü", "http://a.example/%25C3%25BCber%3Fc=%C3%BC"),
        ("http://bücher.example/+[]|^`#", "http://b%C3%BCcher.example/%2B%5B%5D%7C%5E%60%23"),
        ("http://a.example/~!$'()*,;:@=_.-", "http://a.example/~!$'()*,;:@=_.-"),
        ("http://a.example/b?c=%2520", "http://a.example/b?c=%2520"),
        ("http://a.example/%25zz%80", "http://a.example/%25zz%80"),
    ],
)
def test_the_address_that_the_dump_of_nutch_encodes_is_that_of_the_crawl(crawled: str, dumped: str) -> None:
    decoder = PageDecoder(preset="nutch")

    page = _decode(decoder, {**_nutch_dump(1), "url": dumped, "key": "example_a_3f7"})

    assert isinstance(page, Page)
    assert page.url == crawled


def test_an_address_that_is_the_key_of_its_document_too_is_none_that_the_dump_encodes() -> None:
    url = "http://a.example/b%20c"

    page = _decode(PageDecoder(preset="nutch"), {**_nutch_dump(1), "url": url, "key": url})

    assert isinstance(page, Page)
    assert page.url == url


def test_the_index_writers_of_nutch_encode_no_address() -> None:
    url = "http://a.example/b%20c"

    page = _decode(PageDecoder(preset="nutch"), {**_nutch_index(1), "url": url})

    assert isinstance(page, Page)
    assert page.url == url


@pytest.mark.parametrize("pairs", [False, True], ids=["object", "-jsonArray"])
@pytest.mark.parametrize("media_type", ["image/png", "application/pdf", "application/json; charset=utf-8"])
def test_bodies_of_the_dump_of_nutch_that_are_no_text_are_skipped(media_type: str, *, pairs: bool) -> None:
    assert _decode(PageDecoder(preset="nutch"), _with_headers({"Content-Type": media_type}, pairs=pairs)) == (
        Skipped("content_type")
    )


@pytest.mark.parametrize("pairs", [False, True], ids=["object", "-jsonArray"])
@pytest.mark.parametrize("media_type", ["", None, "application/xhtml+xml", "text/plain"])
def test_bodies_of_the_dump_of_nutch_that_may_be_text_are_pages_of_the_time_of_their_fetch(
    media_type: str | None, *, pairs: bool
) -> None:
    headers = {"Content-Type": media_type, "nutch.fetch.time": "1795799805757", "Server": None}

    page = _decode(PageDecoder(preset="nutch"), _with_headers(headers, pairs=pairs))

    assert isinstance(page, Page)
    assert (page.html, page.fetched_at_seconds) == ("<p>text 1", 1_795_799_805.757)


@pytest.mark.parametrize("milliseconds", [None, "", "soon", "-1", "9" * 15])
def test_what_is_no_time_in_the_dump_of_nutch_is_the_time_of_its_record(milliseconds: str | None) -> None:
    page = _decode(PageDecoder(preset="nutch"), _with_headers({"nutch.fetch.time": milliseconds}))

    assert isinstance(page, Page)
    assert page.fetched_at_seconds == 0


@pytest.mark.parametrize("headers", [None, "text", {"Content-Type": ["image/png"]}, [["one"]]])
def test_a_document_with_headers_that_nutch_does_not_write_is_read_by_its_paths_alone(
    headers: object,
) -> None:
    page = _decode(PageDecoder(preset="nutch"), {**_with_headers(headers), "url": "http://a.example/b%3F"})

    assert isinstance(page, Page)
    assert (page.url, page.html) == ("http://a.example/b%3F", "<p>text 1")


def _with_headers(headers: object, *, pairs: bool = False) -> dict[str, Any]:
    """Return a document of the dump; its headers are a list of pairs if it was made with `-jsonArray`."""
    written = _nutch_dump(1)
    written["response"]["headers"] = list(headers.items()) if isinstance(headers, dict) and pairs else headers
    return written


def test_names_that_are_set_go_before_those_of_the_crawler() -> None:
    decoder = PageDecoder(fields={"id": "key", "html": "request.method"}, preset="nutch")

    page = _decode(decoder, {**_nutch_dump(1), "content": None})

    assert isinstance(page, Page)
    assert (page.id, page.html) == ("key-1", "GET")


def test_an_address_by_a_name_that_is_set_is_not_decoded() -> None:
    decoder = PageDecoder(fields={"url": "response.server"}, preset="nutch")
    written = {**_nutch_dump(1), "url": "http://a.example/b%3Fc=1"}
    written["response"]["server"] = "http://a.example/d%3Fe=1"

    page = _decode(decoder, written)

    assert isinstance(page, Page)
    assert page.url == "http://a.example/d%3Fe=1"


@pytest.mark.parametrize(
    "more", [{"mime": "application/pdf", "loadState": 2}, {"loadState": 0}, {"text": None}]
)
def test_a_line_of_browsertrix_without_text_is_skipped(more: dict[str, Any]) -> None:
    line = {name: value for name, value in _browsertrix(1).items() if name != "text"} | more

    assert _decode(PageDecoder(preset="browsertrix"), line) == Skipped("no_text")


def test_a_page_without_text_that_browsertrix_did_not_write_is_bad() -> None:
    page = {"url": URL}

    for decoder, bad in ((PageDecoder(), page), (PageDecoder(preset="browsertrix"), {"title": "A"})):
        with pytest.raises(BadPage):
            _decode(decoder, bad)


def test_a_line_of_browsertrix_has_its_text_where_it_is_set() -> None:
    line = {"url": URL, "title": "some words"}

    page = _decode(PageDecoder(fields={"text": "title"}, preset="browsertrix"), line)

    assert isinstance(page, Page)
    assert page.text == "some words"


def test_a_page_whose_first_field_is_another_format_is_a_page() -> None:
    page = _decode(PageDecoder(), {"format": "json-lines", "url": URL, "text": "some words"})

    assert isinstance(page, Page)


@pytest.mark.parametrize("preset", ["none", "browsertrix"])
def test_the_header_of_a_list_of_pages_is_skipped(preset: Preset) -> None:
    header = {"format": "json-pages-1.0", "id": "pages", "title": "All Pages", "hasText": "true"}

    assert _decode(PageDecoder(preset=preset), header) == Skipped("header")
