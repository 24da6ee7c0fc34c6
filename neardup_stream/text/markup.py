"""Extract from HTML the text that a reader of the page sees.

All text keeps navigation, headings and footers. Main content omits, by heuristics, what looks like the site's
frame: it costs more than twice as much and makes pages that differ in little look alike. For the choice of
the library, and what each mode costs in quality, see docs/decisions/0002-markup.md.
"""

from collections.abc import Iterator
from html.entities import html5
from itertools import groupby
from typing import Final, Literal

from resiliparse.extract.html2text import extract_plain_text
from resiliparse.parse.html.exception import HTMLParserException

from neardup_stream.text.limits import MarkupLimits
from neardup_stream.text.markup_costs import is_over

__all__ = ["MAIN_CONTENT_LIMITS", "Extraction", "visible_text"]

Extraction = Literal["all_text", "main_content"]
"""Which part of a page's markup is its text."""

MAIN_CONTENT_LIMITS = MarkupLimits(max_depth=256, max_steps=1 << 23)
"""Markup above these limits yields all its text: the main-content heuristics visit all ancestors of each
element, and their time grows with the cube of the depth (minutes for a page made for it).
"""

_GROWING_REFERENCES = {
    f"&{name}": meaning for name, meaning in html5.items() if len(meaning.encode()) > len(f"&{name}")
}

_NO_TEXT = (
    *("img", "area"),  # whose `alt` the extractor takes for text
    *("video", "audio"),  # what stands in them is for browsers that play neither
    *("select", "option", "datalist", "input", "textarea"),  # what a visitor may choose or write
    ":is(svg, g, symbol, path, rect, circle) > :is(title, desc, metadata)",  # about a drawing, not its words
)
"""Elements without text of the page, beside those that the extractor always omits, as `script` and `iframe`.

Selectors name a parent at most: to look for an element around others takes quadratic time.
"""

_LANDMARKS = (
    *("nav", "aside", "footer", "body > header", "menu"),
    *(
        f"[role={role}]"
        for role in ("navigation", "banner", "contentinfo", "complementary", "search", "directory")
    ),
)
"""Elements that mark a site's frame, on sites that use them."""


_CELL_END: Final = "\t\t"
"""What the extractor writes between the cells of a row."""
_LINE_CHARACTERS: Final = 40
"""A cell of so many is a line of its own; shorter ones side by side, such as numbers, are one line."""


def visible_text(html: str, extraction: Extraction = "all_text", *, landmarks: bool = True) -> str:
    r"""Return the visible text; omits scripts, styles, templates and comments, and separates blocks.

    Omits what a visitor may choose or write in a form, and attributes: docs/pages.md lists the elements. The
    words of a button stand in brackets: `[ Menu ]`. Without `landmarks`, also omits navigation, footers and
    the like where the markup names them.

    Any input is valid HTML, as in a browser.

    Raises:
        MemoryError: the parser could not allocate memory.

    >>> visible_text("<p>a</p><p>b<b>o</b>ld<script>c</script>")
    'a\n\nbold'

    Cost: linear; 0.2 ms for a page of 13 KB, 0.5 ms for its main content. Holds the GIL.
    """
    main_content = extraction == "main_content" and not is_over(html, MAIN_CONTENT_LIMITS)
    try:
        text = extract_plain_text(
            _without_growing_references(_without_surrogates(html)),
            main_content=main_content,
            list_bullets=False,
            alt_texts=True,  # or all of `figure`, `figcaption`, `object` and `svg` is omitted
            form_fields=True,  # or all of `button` and `label` is
            skip_elements=_NO_TEXT if landmarks else _NO_TEXT + _LANDMARKS,
        )
    except HTMLParserException as error:  # any input is valid HTML
        raise MemoryError(str(error)) from error
    return _with_long_cells_as_lines(str(text))


def _with_long_cells_as_lines(text: str) -> str:
    """Return text in which what a site says in one cell is a line apart from the other cells of the row."""
    return "\n".join(_lines(text)) if _CELL_END in text else text


def _lines(text: str) -> Iterator[str]:
    for row in text.split("\n"):
        for is_line, cells in groupby(row.split(_CELL_END), lambda cell: len(cell) >= _LINE_CHARACTERS):
            if is_line:
                yield from cells
            else:
                yield _CELL_END.join(cells)


def _without_growing_references(html: str) -> str:
    """Return markup without character references that grow.

    The parser expands a reference in place: two of the names expand to more bytes than they have.
    """
    for name, meaning in _GROWING_REFERENCES.items():
        html = html.replace(name, meaning)
    return html


def _without_surrogates(html: str) -> str:
    """Return markup without lone surrogates, which the extractor cannot encode as UTF-8."""
    try:
        html.encode()
    except UnicodeEncodeError:
        return html.encode(errors="replace").decode()
    return html
