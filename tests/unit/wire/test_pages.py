import base64
from math import nextafter
from pathlib import Path
from typing import Any, get_args

import pytest

from neardup_stream.errors import BadPage, BadPageReason, ConfigError
from neardup_stream.message import Skipped
from neardup_stream.page import Page, PageId
from neardup_stream.wire.pages import PageDecoder, PageLimits
from tests.unit.wire.decoding import decode
from tests.unit.wire.records import page_json, record


def test_every_field_arrives() -> None:
    page = decode(
        page_json(
            text=None,
            id="page-1",
            fetched_at=1.5,
            body=base64.b64encode(b"<p>x").decode(),
            content_type="text/html",
            charset="utf-8",
            status=200,
            language="en",
            score=0.5,
            meta=[1],
        )
    )

    assert page.meta is not None
    assert bytes(page.meta) == b"[1]"
    assert page == Page(
        id=PageId("page-1"),
        url="http://example.com/a",
        fetched_at_seconds=1.5,
        body=b"<p>x",
        content_type="text/html",
        charset="utf-8",
        status=200,
        language="en",
        score=0.5,
        meta=page.meta,
    )


def test_a_page_needs_only_its_url_and_a_body() -> None:
    page = decode(page_json())

    assert page == Page(
        id=PageId("http://example.com/a"),
        url="http://example.com/a",
        fetched_at_seconds=1_700_000_000.123,
        text="some words",
    )


BAD_PAGES = {
    "literal-text-of-a-crawler": (b"json failed to parse", "not_json"),
    "cut-in-the-middle": (b'{"url": "http://a/", "te', "not_json"),
    "two-values": (page_json() * 2, "not_json"),
    "nan": (b'{"url": "http://a/", "text": "x", "score": NaN}', "not_json"),
    "utf-16": ('{"url": "http://a/", "text": "x"}'.encode("utf-16-be"), "not_json"),
    "raw-control-character-in-a-string": (b'{"url": "http://a/", "text": "x\n"}', "not_json"),
    "raw-line-end-in-a-string-of-meta": (b'{"url": "http://a/", "text": "x", "meta": "\n"}', "not_json"),
    "white-space": (b" ", "not_json"),
    "empty-value": (b"", "empty_value"),
    "only-a-bom": (b"\xef\xbb\xbf", "empty_value"),
    "invalid-utf8": (b'{"url": "http://a/", "text": "\xff"}', "invalid_utf8"),
    "invalid-utf8-in-meta": (b'{"url": "http://a/", "text": "x", "meta": "\xff"}', "invalid_utf8"),
    "invalid-utf8-in-an-unknown-field": (b'{"url": "http://a/", "text": "x", "y": "\xff"}', "invalid_utf8"),
    "encoded-surrogate": (b'{"url": "http://a/", "text": "\xed\xa0\x80"}', "invalid_utf8"),
    "lone-high-surrogate": (rb'{"url": "http://a/", "text": "\ud83d"}', "lone_surrogate"),
    "lone-low-surrogate": (rb'{"url": "http://a/", "text": "\uDE00"}', "lone_surrogate"),
    "high-surrogate-before-a-letter": (rb'{"url": "http://a/", "text": "\ud83d\u0041"}', "lone_surrogate"),
    "pair-the-wrong-way-round": (rb'{"url": "http://a/", "text": "\ude00\ud83d"}', "lone_surrogate"),
    "lone-surrogate-in-meta": (rb'{"url": "http://a/", "text": "x", "meta": "\ud83d"}', "lone_surrogate"),
    "array": (b"[]", "wrong_type"),
    "string": (b'"http://a/"', "wrong_type"),
    "null": (b"null", "wrong_type"),
    "no-url": (b'{"text": "x"}', "missing_field"),
    "null-url": (page_json(url=None), "wrong_type"),
    "number-as-url": (page_json(url=1), "wrong_type"),
    "empty-url": (page_json(url=""), "bad_url"),
    "blank-url": (page_json(url=" "), "bad_url"),
    "unparsable-url": (page_json(url="http://["), "bad_url"),
    "unparsable-url-beside-an-id": (page_json(url="http://[", id="a"), "bad_url"),
    "empty-id": (page_json(id=""), "wrong_type"),
    "number-as-id": (page_json(id=7), "wrong_type"),
    "number-as-html": (page_json(text=None, html=1), "wrong_type"),
    "array-as-text": (page_json(text=["x"]), "wrong_type"),
    "number-as-body": (page_json(text=None, body=1), "wrong_type"),
    "number-as-content-type": (page_json(content_type=1), "wrong_type"),
    "boolean-as-charset": (page_json(charset=True), "wrong_type"),
    "string-as-status": (page_json(status="200"), "wrong_type"),
    "boolean-as-status": (page_json(status=True), "wrong_type"),
    "float-as-status": (page_json(status=200.5), "wrong_type"),
    "array-as-language": (page_json(language=["en"]), "wrong_type"),
    "string-as-score": (page_json(score="1"), "wrong_type"),
    "endless-score": (b'{"url": "http://a/", "text": "x", "score": 1e999}', "wrong_type"),
    "boolean-as-fetched-at": (page_json(fetched_at=True), "wrong_type"),
    "text-as-fetched-at": (page_json(fetched_at="yesterday"), "wrong_type"),
    "fetched-at-in-words": (page_json(fetched_at="2024-01-01T00:00:00 or so"), "wrong_type"),
    "fetched-at-on-no-day": (page_json(fetched_at="2024-02-30T00:00:00Z"), "wrong_type"),
    "fetched-at-of-many-digits": (page_json(fetched_at="9" * 100_000), "wrong_type"),
    "fetched-at-in-milliseconds": (page_json(fetched_at=1_700_000_000_000), "wrong_type"),
    "fetched-at-before-1970": (page_json(fetched_at="1969-12-31T23:59:59Z"), "wrong_type"),
    "negative-fetched-at": (page_json(fetched_at=-1), "wrong_type"),
    "huge-fetched-at": (b'{"url": "http://a/", "text": "x", "fetched_at": 1%s}' % (b"0" * 400), "wrong_type"),
    "no-body": (b'{"url": "http://a/"}', "not_one_body"),
    "only-null-bodies": (page_json(text=None, html=None), "not_one_body"),
    "two-bodies": (page_json(html="x"), "not_one_body"),
    "three-bodies": (page_json(html="x", body=""), "not_one_body"),
    "base64-without-padding": (page_json(text=None, body="YQ"), "bad_base64"),
    "base64-with-line-breaks": (page_json(text=None, body="YWFh\nYWFh"), "bad_base64"),
    "base64-of-the-url-alphabet": (page_json(text=None, body="_-8="), "bad_base64"),
    "no-base64-at-all": (page_json(text=None, body="<p>x"), "bad_base64"),
    "deep-meta": (b'{"url": "http://a/", "text": "x", "meta": ' + b"[" * 100_000, "over_limit"),
    "deep-unknown-field": (b'{"url": "http://a/", "text": "x", "y": ' + b'{"y":' * 100_000, "over_limit"),
}


@pytest.mark.parametrize(("value", "reason"), BAD_PAGES.values(), ids=BAD_PAGES.keys())
def test_a_page_that_can_never_succeed_says_why(value: bytes, reason: str) -> None:
    with pytest.raises(BadPage) as error:
        PageDecoder().decode(record(value))

    assert error.value.reason == reason
    assert error.value.detail.encode()


@pytest.mark.parametrize(
    ("text", "escape"), [(rb"\ud83d", r"\ud83d"), (rb"x\\\uDE00", r"\uDE00"), (rb"\ud83d\u0041", r"\ud83d")]
)
def test_the_escaped_half_of_a_surrogate_pair_is_named_with_its_place(text: bytes, escape: str) -> None:
    value = b'{"url": "http://a/", "text": "%b"}' % text

    with pytest.raises(BadPage) as error:
        PageDecoder().decode(record(value))

    at = value.index(escape.encode())
    assert error.value.detail == f"byte {at}: {escape} is half of a surrogate pair"


@pytest.mark.parametrize("value", [value for value, _ in BAD_PAGES.values()], ids=BAD_PAGES.keys())
def test_the_next_good_page_is_decoded_all_the_same(value: bytes) -> None:
    decoder = PageDecoder()

    with pytest.raises(BadPage):
        decoder.decode(record(value))

    assert decode(page_json(), decoder).text == "some words"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        pytest.param(page_json(text="a\0b"), "a\0b", id="escaped-nul"),
        pytest.param(b"\xef\xbb\xbf" + page_json(), "some words", id="bom-before-the-json"),
        pytest.param(page_json(text="\ufeffx"), "\ufeffx", id="bom-in-the-text"),
        pytest.param(rb'{"url": "http://a/", "text": "\ud83d\ude00"}', "\U0001f600", id="surrogate-pair"),
        pytest.param(rb'{"url": "http://a/", "text": "\\ud83d"}', r"\ud83d", id="escaped-backslash"),
        pytest.param(page_json(text=""), "", id="empty-text"),
        pytest.param(page_json(html=None, body=None), "some words", id="null-means-absent"),
        pytest.param(b" \n" + page_json() + b"\r\n", "some words", id="white-space-around"),
        pytest.param(page_json(unknown={"a": [1]}), "some words", id="unknown-field"),
        pytest.param(
            b'{"url": "http://a/", "text": "x", "y": 1%s}' % (b"0" * 9999),
            "x",
            id="huge-number-in-an-unknown-field",
        ),
        pytest.param(
            b'{"url": "http://a/", "text": "x", "text": "y"}', "y", id="the-last-of-two-names-counts"
        ),
    ],
)
def test_what_looks_odd_is_still_a_page(value: bytes, text: str) -> None:
    assert decode(value).text == text


@pytest.mark.parametrize("url", ["../a", "Example.com", "mailto:a@b", "//Host/a"])
def test_a_relative_or_odd_url_is_kept_as_it_is(url: str) -> None:
    page = decode(page_json(url=url))

    assert (page.url, page.id) == (url, url)


def test_the_url_is_kept_as_crawled_beside_the_canonical_id() -> None:
    page = decode(page_json(url="HTTP://Example.com:80/a#top"))

    assert (page.url, page.id) == ("HTTP://Example.com:80/a#top", "http://example.com/a")


def test_an_id_is_taken_verbatim() -> None:
    assert decode(page_json(id="HTTP://Example.com:80/#a")).id == "HTTP://Example.com:80/#a"


@pytest.mark.parametrize(
    ("fetched_at", "seconds"),
    [
        pytest.param("2023-11-14T22:13:20Z", 1_700_000_000.0, id="utc"),
        pytest.param("2023-11-15T00:13:20.5+02:00", 1_700_000_000.5, id="offset-and-fraction"),
        pytest.param("2023-11-14 22:13:20", 1_700_000_000.0, id="space-and-no-offset"),
        pytest.param("2023-11-14t22:13:20.123456789 z", 1_700_000_000.123456789, id="small-letters"),
        pytest.param("2023-11-14T17:13:20-0500", 1_700_000_000.0, id="offset-without-a-colon"),
        pytest.param("2023-11-14", 1_699_920_000.0, id="day-alone"),
        pytest.param("2016-12-31T23:59:60Z", 1_483_228_800.0, id="leap-second"),
        pytest.param("9999-12-31T23:59:59Z", 253_402_300_799.0, id="latest-time"),
        pytest.param("9999-12-31T23:59:59.5Z", 253_402_300_799.5, id="latest-half-second"),
        pytest.param(
            "9999-12-31T23:59:59." + "9" * 12 + "Z", nextafter(253_402_300_800, 0), id="latest-of-all"
        ),
        pytest.param(1_700_000_000, 1_700_000_000.0, id="integer"),
        pytest.param(1_700_000_000.25, 1_700_000_000.25, id="float"),
        pytest.param(0, 0.0, id="lowest"),
        pytest.param(253_402_300_799, 253_402_300_799.0, id="highest"),
        pytest.param(253_402_300_799.75, 253_402_300_799.75, id="highest-fraction"),
        pytest.param(None, 1_700_000_000.123, id="null-means-the-record's-time"),
    ],
)
def test_fetched_at_is_a_time_or_a_number_of_seconds(fetched_at: Any, seconds: float) -> None:
    assert decode(page_json(fetched_at=fetched_at)).fetched_at_seconds == seconds


@pytest.mark.parametrize("fetched_at", [253_402_300_800, "9999-12-31T23:59:60Z"])
def test_a_time_after_the_year_9999_is_no_time(fetched_at: float | str) -> None:
    with pytest.raises(BadPage, match="253402300800"):
        decode(page_json(fetched_at=fetched_at))


def test_a_record_without_a_time_counts_as_fetched_at_the_epoch() -> None:
    page = PageDecoder().decode(record(page_json(), timestamp_ms=-1))

    assert isinstance(page, Page)
    assert page.fetched_at_seconds == 0.0


@pytest.mark.parametrize(
    "meta",
    [
        pytest.param(b'{ "b" : 1,\n "a":[ ] }', id="spacing-and-order"),
        pytest.param(b'{"a":1,"a":2}', id="repeated-names"),
        pytest.param(b"123456789012345678901234567890.00e999", id="number-beyond-every-type"),
        pytest.param(rb'"\u00e9\/"', id="escapes"),
        pytest.param(b"false", id="no-object"),
    ],
)
def test_meta_is_carried_untouched(meta: bytes) -> None:
    page = decode(b'{"url": "http://a/", "meta": %s, "text": "x"}' % meta)

    assert page.meta is not None
    assert bytes(page.meta) == meta


def test_null_meta_is_no_meta() -> None:
    assert decode(page_json(meta=None)).meta is None


LIMITS = {
    "max_page_bytes": (
        PageLimits(max_page_bytes=len(page_json(text="x" * 100))),
        lambda n: {"text": "x" * n},
        100,
    ),
    "max_url_bytes": (PageLimits(max_url_bytes=100), lambda n: {"url": "u" * n, "id": "a"}, 100),
    "max_url_bytes in UTF-8": (
        PageLimits(max_url_bytes=100),
        lambda n: {"url": "é" + "u" * (n - 2), "id": "a"},
        100,
    ),
    "max_id_bytes given": (PageLimits(max_id_bytes=100), lambda n: {"id": "i" * n}, 100),
    "max_id_bytes derived": (
        PageLimits(max_id_bytes=100),
        lambda n: {"url": "http://a/%C3" + "u" * (n - 12)},
        100,
    ),
    "max_meta_bytes": (PageLimits(max_meta_bytes=100), lambda n: {"meta": "m" * (n - 2)}, 100),
}


@pytest.mark.parametrize(("limits", "fields", "limit"), LIMITS.values(), ids=LIMITS.keys())
@pytest.mark.parametrize("below", [1, 0])
def test_a_page_up_to_each_limit_is_a_page(limits: PageLimits, fields: Any, limit: int, below: int) -> None:
    assert decode(page_json(**fields(limit - below)), PageDecoder(limits))


@pytest.mark.parametrize(("limits", "fields", "limit"), LIMITS.values(), ids=LIMITS.keys())
def test_a_page_over_a_limit_is_bad_and_names_both_numbers(
    limits: PageLimits, fields: Any, limit: int
) -> None:
    with pytest.raises(BadPage, match=r"\d+ bytes, the limit is \d+") as error:
        PageDecoder(limits).decode(record(page_json(**fields(limit + 1))))

    assert error.value.reason == "over_limit"


def test_a_record_has_as_many_headers_as_its_limit() -> None:
    decoder, headers = PageDecoder(PageLimits(max_headers=2)), (("a", b""),) * 3

    assert decoder.decode(record(page_json(), headers=headers[:2]))
    assert decoder.decode(record(page_json(), headers=(*headers[:2], ("neardup.attempts", b"1"))))
    with pytest.raises(BadPage, match="3 headers, the limit is 2") as error:
        decoder.decode(record(page_json(), headers=headers))
    assert (error.value.reason, error.value.limit) == ("over_limit", "max_headers")


@pytest.mark.parametrize(
    "name", ["max_page_bytes", "max_url_bytes", "max_id_bytes", "max_meta_bytes", "max_headers"]
)
def test_a_limit_is_at_least_one(name: str) -> None:
    assert getattr(PageLimits(**{name: 1}), name) == 1
    with pytest.raises(ConfigError, match=f"limits.{name} is 0"):
        PageLimits(**{name: 0})


@pytest.mark.parametrize(
    ("fields", "statuses", "expected"),
    [
        pytest.param({"content_type": "image/png"}, set(), Skipped("content_type"), id="image"),
        pytest.param({"content_type": "image/png", "status": 404}, {200}, Skipped("content_type"), id="both"),
        pytest.param({"status": 404}, {200, 203}, Skipped("status"), id="status-not-wanted"),
    ],
)
def test_what_is_no_page_by_nature_is_skipped(
    fields: dict[str, Any], statuses: set[int], expected: Skipped
) -> None:
    value = page_json(text=None, body="YQ==", **fields)

    assert PageDecoder(statuses=statuses).decode(record(value)) == expected


@pytest.mark.parametrize(
    ("fields", "statuses"),
    [
        pytest.param({"status": 404}, set(), id="no-filter"),
        pytest.param({"status": 200}, {200}, id="status-wanted"),
        pytest.param({}, {200}, id="status-unknown"),
        pytest.param({"content_type": "image/png"}, set(), id="content-type-beside-text-says-nothing"),
    ],
)
def test_other_pages_are_not_skipped(fields: dict[str, Any], statuses: set[int]) -> None:
    assert decode(page_json(**fields), PageDecoder(statuses=statuses))


@pytest.mark.parametrize("reason", get_args(BadPageReason))
def test_every_reason_is_explained_for_crawlers(reason: str) -> None:
    explained = (Path(__file__).parents[3] / "docs" / "pages.md").read_text(encoding="utf-8")

    assert f"`{reason}`" in explained
