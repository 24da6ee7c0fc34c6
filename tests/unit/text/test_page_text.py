import pytest

from neardup_stream.page import Page, PageId
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


def test_a_wrong_charset_label_is_told() -> None:
    page = _page(body="<p>größer".encode(), charset="klingon")

    assert page_text(page, "all_text") == PageText("größer", charset_fell_back=True, is_markup=True)
