"""Write markup that is XML, such as XHTML, so that a parser of HTML reads the same elements and text."""

import re
from collections.abc import Iterator
from html import escape

__all__ = ["as_html", "is_xml"]

_VOID = "area|base|basefont|bgsound|br|col|embed|frame|hr|img|input|keygen|link|meta|param|source|track|wbr"
_EMPTY = re.compile(
    rf"""<(?!(?i:{_VOID})[\s/])([A-Za-z][^\s/<>"'=]*+)
         ((?:\s++[^\s/<>"'=]++\s*+=\s*+(?:"[^"<]*+"|'[^'<]*+'))*+) \s*+/>""",
    re.VERBOSE,
)
"""An element that closes itself, for which HTML takes none but the void ones.

Nothing in it may be a `<`, so that looking for one takes linear time in any markup.
"""
_NOT_TAGS = re.compile(r"<!--|<!\[CDATA\[")
_SECTION, _SECTION_END, _COMMENT_END = "<![CDATA[", "]]>", "-->"


def is_xml(content_type: str | None) -> bool:
    """Return whether a media type is one of XML.

    >>> is_xml("application/xhtml+xml; charset=utf-8"), is_xml("text/html"), is_xml(None)
    (True, False, False)
    """
    return (content_type or "").partition(";")[0].strip().lower().endswith("xml")


def as_html(xml: str) -> str:
    r"""Return XML as HTML: empty elements get an end tag, and sections of character data become text.

    Else a parser of HTML takes what is behind `<script src="a.js"/>` for the script, sections for comments.

    >>> as_html("<title/><p>a<br/><![CDATA[<b>]]></p>")
    '<title></title><p>a<br/>&lt;b&gt;</p>'

    Cost: linear; 0.2 µs a byte at most, where there is nothing but empty elements.
    """
    return "".join(_pieces(xml)) if "/>" in xml or _SECTION in xml else xml


def _pieces(xml: str) -> Iterator[str]:
    at = 0
    while found := _NOT_TAGS.search(xml, at):
        if at < found.start():
            yield _with_end_tags(xml[at : found.start()])
        is_section = found[0] == _SECTION
        closing = _SECTION_END if is_section else _COMMENT_END
        end = xml.find(closing, found.end())
        at = len(xml) if end < 0 else end + len(closing)
        is_text = is_section and end >= 0
        yield escape(xml[found.end() : end], quote=False) if is_text else xml[found.start() : at]
    yield _with_end_tags(xml[at:])


def _with_end_tags(xml: str) -> str:
    return _EMPTY.sub(_as_two_tags, xml)


def _as_two_tags(tag: re.Match[str]) -> str:
    name, attributes = tag.groups()
    return f"<{name}{attributes}></{name}>"
