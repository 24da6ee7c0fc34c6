"""XHTML and other XML: what it says is text of the page, though a parser of HTML reads it."""

import pytest

from neardup_stream.page import Page, PageId
from neardup_stream.text.page_text import page_text
from neardup_stream.text.xml_markup import as_html

XHTML = "application/xhtml+xml"


def text_of(body: str, content_type: str) -> str:
    page = Page(
        id=PageId("p"),
        url="https://site.example/p",
        fetched_at_seconds=0,
        body=body.encode(),
        content_type=content_type,
    )
    return page_text(page, "all_text").text


@pytest.mark.parametrize(
    ("xml", "text"),
    [
        pytest.param('<head><script src="a.js"/></head><body><p>said</p></body>', "said", id="script"),
        pytest.param("<p>said <iframe src='a'/>here</p>", "said here", id="iframe"),
        pytest.param("<title/><p>said</p>", "said", id="title"),
        pytest.param('<textarea rows="1"\n title="a > b"\n/><p>said</p>', "said", id="attributes-on-lines"),
        pytest.param('<svg><xlink:a b:c="d"/></svg><p>said</p>', "said", id="prefixes"),
        pytest.param("<p>said<br/>here<hr /></p>", "said\nhere", id="void-elements"),
        pytest.param("<p><![CDATA[said]]> here</p>", "said here", id="section"),
        pytest.param("<p><![CDATA[a <b> & c]] >]]></p>", "a <b> & c]] >", id="section-with-markup"),
        pytest.param(
            "<script>//<![CDATA[\nwrite('</script>')\n//]]></script><p>said</p>",
            "said",
            id="section-in-script",
        ),
        pytest.param(
            '<script><!--//--><![CDATA[//><!--\nwrite("</script>")\n//--><!]]></script><p>said</p>',
            "said",
            id="section-that-html-takes-for-a-comment",
        ),
        pytest.param("<!-- <![CDATA[ <iframe/> --><p>said</p>]]>", "said\n\n]]>", id="section-in-a-comment"),
    ],
)
@pytest.mark.parametrize("content_type", [XHTML, "text/xml; charset=utf-8", "application/rss+xml"])
def test_all_that_xml_says_is_read(xml: str, text: str, content_type: str) -> None:
    assert text_of(xml, content_type) == text


@pytest.mark.parametrize("content_type", ["text/html", ""])
def test_a_tag_of_html_does_not_close_itself(content_type: str) -> None:
    assert text_of("<p>said</p><iframe/><p>not shown</p>", content_type) == "said"


@pytest.mark.parametrize(
    "xml",
    [
        "<p>no such thing</p>",
        '<a title="b/>c">d</a>',
        "<a b=c/>",
        "<a 'b/>",
        "</a/>",
        "a </> b < c/>",
        "<br/><BR/><img alt='a'/><input\n/>",
        "<!-- <a/> --> ]]>",
        "<!-- <a/>",
        "<p><![CDATA[cut off <a/>",
    ],
)
def test_other_markup_stays_as_it_is(xml: str) -> None:
    assert as_html(xml) == xml


@pytest.mark.parametrize("end", ["", "/>", "]]>", "-->"])
@pytest.mark.parametrize(
    "unit",
    [
        "<script ",
        "<![CDATA[",
        "<![CDATA[]]>",
        "<!--",
        "<!---->",
        "<a/>",
        '<a b="',
        "<a b='c' ",
        "<a ",
        "<a\n=",
    ],
)
def test_hostile_markup_takes_time_in_proportion_to_its_bytes(unit: str, end: str) -> None:
    markup = unit * (500_000 // len(unit))

    assert len(as_html(markup + end)) < 2 * len(markup)
