"""The pages that a daemon reads of items in the shapes that spiders yield."""

import json
import math
from datetime import UTC, datetime
from typing import Any

import pytest
from itemadapter import ItemAdapter
from neardup_daemon.inspect.page_lookup import given_record
from scrapy.http import HtmlResponse
from scrapy.loader import ItemLoader

from neardup_stream.page import Page
from neardup_stream.subscriber.scrapy_items import encoded, page_of
from neardup_stream.text.page_text import page_text
from neardup_stream.wire.pages import PageDecoder

PAGE = "https://example.com/a"
HTML = "<p>größer</p>"
RESPONSE = HtmlResponse(
    PAGE, body=HTML.encode("cp1252"), headers={"Content-Type": "text/html; charset=cp1252"}
)


def sent(item: Any) -> Page:
    """Return the page of an item as a daemon reads it."""
    found = page_of(ItemAdapter(item))
    assert found is not None
    page = PageDecoder().decode(given_record(encoded(found), ()))
    assert isinstance(page, Page)
    return page


def text(page: Page) -> str:
    return page_text(page, "all_text").text.strip()


def test_an_item_loader_may_keep_each_field_as_a_list_of_one_value() -> None:
    loader = ItemLoader(item={}, response=RESPONSE)
    for name, value in (("url", PAGE), ("id", "17"), ("html", RESPONSE.text)):
        loader.add_value(name, value)

    page = sent(loader.load_item())

    assert (page.url, page.id, text(page)) == (PAGE, "17", "größer")


@pytest.mark.parametrize("charset", [None, b"cp1252"])
def test_fields_may_be_bytes_as_headers_of_a_response_are(charset: bytes | None) -> None:
    item = {
        "url": PAGE.encode(),
        "body": RESPONSE.body,
        "content_type": RESPONSE.headers["Content-Type"],
        "charset": charset,
    }

    page = sent(item)

    assert (page.url, text(page)) == (PAGE, "größer")


@pytest.mark.parametrize(
    "labels",
    [
        {"charset": "cp1252", "content_type": "application/json"},
        {"content_type": "text/html; charset=cp1252"},
    ],
)
@pytest.mark.parametrize("name", ["html", "text"])
def test_bytes_are_compared_as_the_text_that_they_encode(name: str, labels: dict[str, str]) -> None:
    content = "<p>größer</p> 1 &lt; 2"

    of_string, of_bytes = [
        text(sent({"url": PAGE, name: value, **labels})) for value in (content, content.encode("cp1252"))
    ]

    assert of_bytes == of_string
    assert "größer" in of_bytes


def test_a_time_is_sent_as_a_daemon_reads_it() -> None:
    page = sent({"url": PAGE, "text": "some words", "fetched_at": datetime(1970, 1, 2, tzinfo=UTC)})

    assert page.fetched_at_seconds == 86_400


def test_a_body_that_is_a_string_is_markup_as_in_the_preset_scrapy() -> None:
    item = {"url": PAGE, "body": HTML}

    of_preset = PageDecoder(preset="scrapy").decode(given_record(encoded(item), ()))

    assert isinstance(of_preset, Page)
    assert text(sent(item)) == text(of_preset) == "größer"


def test_labels_of_the_crawler_are_sent() -> None:
    page = sent(
        {"url": PAGE, "html": HTML, "status": 404, "language": ["de"], "score": 0.0, "meta": {"job": [7]}}
    )

    assert (page.status, page.language, page.score) == (404, "de", 0.0)
    assert page.meta is not None
    assert json.loads(bytes(page.meta)) == {"job": [7]}


def test_fields_that_are_no_labels_of_the_crawler_are_left_out() -> None:
    page = sent({"url": PAGE, "html": HTML, "status": "in stock", "language": ["de", "en"], "score": True})

    assert (page.status, page.language, page.score, page.meta) == (None, None, None, None)


def nested(depth: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize("score", [math.nan, math.inf, 10**400])
def test_a_score_that_is_not_finite_is_left_out(score: float) -> None:
    assert sent({"url": PAGE, "html": HTML, "score": score}).score is None


@pytest.mark.parametrize(
    "meta",
    [{"job": object()}, {"job": math.nan}, "x" * 64 * 1024, nested(300), nested(5_000), "\ud800"],
    ids=["no-json", "not-finite", "too-large", "too-deep", "too-deep-for-json", "half-a-character"],
)
def test_meta_that_no_page_can_have_is_left_out(meta: object) -> None:
    assert sent({"url": PAGE, "html": HTML, "meta": meta}).meta is None


def test_meta_is_sent_as_it_is_also_a_list_of_one_value() -> None:
    meta = sent({"url": PAGE, "html": HTML, "meta": [{"job": 7}]}).meta

    assert meta is not None
    assert json.loads(bytes(meta)) == [{"job": 7}]


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_a_number_that_json_does_not_have_is_not_encoded(value: float) -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        sent({"url": PAGE, "html": HTML, "id": value})


def test_a_value_that_is_nested_too_deeply_is_not_encoded() -> None:
    with pytest.raises(ValueError, match="nested too deeply"):
        sent({"url": PAGE, "html": HTML, "id": nested(5_000)})
