from typing import Any

import msgspec
import pytest

from neardup_stream.errors import BadPage, ConfigError
from neardup_stream.page import Page
from neardup_stream.wire.pages import PageDecoder
from tests.unit.wire.records import record


def read(fields: dict[str, str], json: Any) -> Page:
    page = PageDecoder(fields=fields).decode(record(msgspec.json.encode(json)))
    assert isinstance(page, Page)
    return page


def test_a_foreign_name_is_read_as_ours() -> None:
    page = read({"html": "content"}, {"url": "http://a/", "content": "<p>x"})

    assert page.html == "<p>x"


def test_a_path_leads_into_nested_objects() -> None:
    page = read({"url": "crawl.target.url"}, {"crawl": {"target": {"url": "http://a/"}}, "text": "x"})

    assert page.url == "http://a/"


def test_a_renamed_field_is_no_longer_read_under_our_name() -> None:
    page = read({"text": "content"}, {"url": "http://a/", "text": 5, "content": "x"})

    assert page.text == "x"


def test_one_path_may_lead_through_what_another_takes_whole() -> None:
    json = b'{"url": "http://a/", "text": "x", "metadata": {"status": 200,  "big": 1e999}}'

    page = PageDecoder(fields={"meta": "metadata", "status": "metadata.status"}).decode(record(json))

    assert isinstance(page, Page)
    assert page.status == 200
    assert page.meta is not None
    assert bytes(page.meta) == b'{"status": 200,  "big": 1e999}'


def test_the_only_value_of_a_list_is_taken() -> None:
    page = read(
        {"html": "content", "url": "target.url"},
        {"target": [{"url": ["http://a/"]}], "content": ["<p>x"], "status": [200], "meta": [1]},
    )

    assert (page.url, page.html, page.status) == ("http://a/", "<p>x", 200)
    assert page.meta is not None
    assert bytes(page.meta) == b"[1]"


@pytest.mark.parametrize("url", [[], ["http://a/", "http://b/"], [["http://a/"]], [None], [1]])
def test_no_other_list_is_read(url: list[object]) -> None:
    with pytest.raises(BadPage, match="wrong_type"):
        read({"url": "address"}, {"address": url, "text": "x"})


def test_two_names_may_share_a_path() -> None:
    page = read({"id": "address", "url": "address"}, {"address": "http://a", "text": "x"})

    assert (page.id, page.url) == ("http://a", "http://a")


@pytest.mark.parametrize(
    "target", [{}, {"target": None}, {"target": {}}, {"target": {"status": None}}], ids=str
)
def test_a_path_that_leads_nowhere_leaves_its_field_out(target: dict[str, Any]) -> None:
    page = read({"status": "target.status"}, {"url": "http://a/", "text": "x", **target})

    assert page.status is None


@pytest.mark.parametrize(
    ("json", "reason"),
    [
        pytest.param(b'{"text": "x"}', "missing_field", id="required-field-behind-a-missing-object"),
        pytest.param(b'{"target": {"url": null}, "text": "x"}', "wrong_type", id="null-at-the-end"),
        pytest.param(b'{"target": {"url": 7}, "text": "x"}', "wrong_type", id="number-at-the-end"),
        pytest.param(b'{"target": ["http://a/"], "text": "x"}', "wrong_type", id="path-through-an-array"),
        pytest.param(b"[]", "wrong_type", id="array-at-the-top"),
        pytest.param(b"null", "wrong_type", id="null-at-the-top"),
        pytest.param(b"json failed to parse", "not_json", id="literal-text-of-a-crawler"),
        pytest.param(b'{"target": {"url": "\\ud800"}}', "lone_surrogate", id="lone-surrogate"),
        pytest.param(b'{"target": {"url": "\xff"}}', "invalid_utf8", id="invalid-utf8"),
        pytest.param(b'{"target": ' + b'{"a":' * 100_000, "over_limit", id="nested-too-deeply"),
    ],
)
def test_what_is_wrong_with_a_foreign_page_is_said_as_for_ours(json: bytes, reason: str) -> None:
    with pytest.raises(BadPage) as error:
        PageDecoder(fields={"url": "target.url"}).decode(record(json))

    assert error.value.reason == reason


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"htlm": "content"}, "page.fields.htlm"),
        ({"html": ""}, "page.fields.html"),
        ({"html": "a..b"}, "a..b"),
    ],
    ids=["unknown-name", "empty-path", "empty-step"],
)
def test_a_mapping_that_cannot_work_is_refused_at_once(fields: dict[str, str], named: str) -> None:
    with pytest.raises(ConfigError, match=named):
        PageDecoder(fields=fields)
