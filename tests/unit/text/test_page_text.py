import pytest

from neardup_stream.errors import BadPage
from neardup_stream.page import Page, PageId
from neardup_stream.text.limits import MarkupLimits, TextLimits
from neardup_stream.text.page_text import PageText, page_text


def _page(
    *,
    html: str | None = None,
    text: str | None = None,
    body: bytes | None = None,
    content_type: str | None = None,
    charset: str | None = None,
) -> Page:
    return Page(
        id=PageId("p"),
        url="https://site.example/p",
        fetched_at_seconds=0.0,
        html=html,
        text=text,
        body=body,
        content_type=content_type,
        charset=charset,
    )


PAGES = {
    "text-is-taken-as-it-is": (_page(text="a <b>"), "a <b>", False),
    "html-is-markup": (_page(html="<p>a"), "a", True),
    "body-of-html": (_page(body=b"<p>a", content_type="text/html; charset=utf-8"), "a", True),
    "body-of-xhtml": (_page(body=b"<p>a</p>", content_type="application/xhtml+xml"), "a", True),
    "body-of-no-media-type": (_page(body=b" <p>a", content_type=""), "a", True),
    "body-of-a-charset-alone": (_page(body=b"<p>a", content_type="charset=utf-8"), "a", True),
    "body-of-no-markup": (_page(body=b"a < b", content_type=""), "a < b", False),
    "body-of-plain-text": (_page(body=b"<p>a", content_type="text/plain"), "<p>a", False),
    "body-that-looks-like-markup": (_page(body=b"\n <p>a"), "a", True),
    "body-that-does-not": (_page(body=b"a < b"), "a < b", False),
    "empty-body": (_page(body=b""), "", False),
}


@pytest.mark.parametrize(("page", "text", "is_markup"), PAGES.values(), ids=PAGES)
def test_text_of_a_page(*, page: Page, text: str, is_markup: bool) -> None:
    assert page_text(page, "all_text") == PageText(text, charset_fell_back=False, is_markup=is_markup)


HTML = "<nav>menu</nav><main>said</main><div role=search>find</div><footer>imprint</footer>"


@pytest.mark.parametrize(
    "page",
    [_page(html=HTML), _page(body=HTML.encode(), content_type="text/html"), _page(body=HTML.encode())],
    ids=["html", "body", "body-that-looks-like-markup"],
)
def test_the_landmarks_of_markup_may_be_left_out(page: Page) -> None:
    assert page_text(page, "all_text").text.split() == ["menu", "said", "find", "imprint"]
    assert page_text(page, "all_text", landmarks=False).text.split() == ["said"]


@pytest.mark.parametrize(
    "html",
    [
        "<nav>frame</nav>",
        "<aside>frame</aside>",
        "<footer>frame</footer>",
        "<body><header>frame</header>",
        "<menu>frame</menu>",
        *(f"<div role={role}>frame</div>" for role in ("navigation", "banner", "contentinfo")),
        *(f"<div role={role}>frame</div>" for role in ("complementary", "search", "directory")),
    ],
)
def test_each_landmark_is_left_out(html: str) -> None:
    assert page_text(_page(html=f"{html}<p>said</p>"), "all_text", landmarks=False).text.split() == ["said"]


def test_the_header_of_an_article_is_no_landmark() -> None:
    page = _page(html="<article><header>title</header><p>said</article>")

    assert page_text(page, "all_text", landmarks=False).text.split() == ["title", "said"]


@pytest.mark.parametrize(
    "page", [_page(text=HTML), _page(body=HTML.encode(), content_type="text/plain")], ids=["text", "body"]
)
def test_plain_text_has_no_landmarks(page: Page) -> None:
    assert page_text(page, "all_text", landmarks=False) == page_text(page, "all_text")


def test_a_wrong_charset_label_is_reported() -> None:
    page = _page(body="<p>größer".encode(), charset="klingon")

    assert page_text(page, "all_text") == PageText("größer", charset_fell_back=True, is_markup=True)


def _limits(max_text_bytes: int) -> TextLimits:
    return TextLimits(MarkupLimits(), max_text_bytes)


@pytest.mark.parametrize(
    ("page", "size_bytes"),
    [
        (_page(text="a" * 100), 100),
        (_page(text="\u00e9" * 50), 100),
        (_page(html="<p>" + "a" * 100), 100),
        (_page(body=b"a" * 100, content_type="text/plain"), 100),
        (_page(text="\ufdfa"), 33),
        (_page(text="\u2126" * 20), 60),
    ],
    ids=["ascii", "two-bytes-each", "html", "body", "a-sentence-in-one-character", "canonically-shorter"],
)
def test_a_text_may_be_as_long_as_its_limit_and_no_longer(page: Page, size_bytes: int) -> None:
    assert page_text(page, "all_text", limits=_limits(size_bytes)) == page_text(page, "all_text")

    with pytest.raises(BadPage, match="max_text_bytes") as refused:
        page_text(page, "all_text", limits=_limits(size_bytes - 1))
    assert (refused.value.reason, refused.value.limit) == ("over_limit", "max_text_bytes")


def test_markup_is_held_to_its_limits_before_it_is_parsed() -> None:
    page = _page(body=b"<div>" * 2_000, content_type="text/html")

    with pytest.raises(BadPage, match="max_depth"):
        page_text(page, "all_text", limits=TextLimits())
    assert page_text(page, "all_text").text == ""


def test_plain_text_may_look_like_any_markup() -> None:
    page = _page(text="<div>" * 2_000)

    assert page_text(page, "all_text", limits=TextLimits()).text == page.text
