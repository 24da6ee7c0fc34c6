"""HTML to the text a reader of the page would see.

All text keeps navigation, headings and footers. Main content leaves out, by heuristics, what looks like the
site's frame: it costs more than twice as much and blurs pages that differ in little. Why this library, and
what each choice costs in quality: docs/decisions/0002-markup.md.
"""

from html.entities import html5
from typing import Literal

from resiliparse.extract.html2text import extract_plain_text
from resiliparse.parse.html.exception import HTMLParserException

from neardup_stream.text.limits import MarkupLimits
from neardup_stream.text.markup_costs import is_over

__all__ = ["MAIN_CONTENT_LIMITS", "Extraction", "visible_text"]

Extraction = Literal["all_text", "main_content"]
"""Which part of a page's markup counts as its text."""

MAIN_CONTENT_LIMITS = MarkupLimits(max_depth=256, max_steps=1 << 23)
"""Markup over these gives all its text: at each element the heuristics pass all elements around it, and their
time grows with the third power of the depth (minutes for a page made for it)."""

_GROWING_REFERENCES = {
    f"&{name}": meaning for name, meaning in html5.items() if len(meaning.encode()) > len(f"&{name}")
}

_LANDMARKS = (
    *("nav", "aside", "footer", "body > header", "menu"),
    *(
        f"[role={role}]"
        for role in ("navigation", "banner", "contentinfo", "complementary", "search", "directory")
    ),
)
"""Elements that hold a site's frame rather than a page's content, where a site says so."""


def visible_text(html: str, extraction: Extraction = "all_text", *, landmarks: bool = True) -> str:
    r"""The visible text; scripts, styles, templates and comments are left out, blocks separate words.

    Without `landmarks`, navigation, footers and the like are left out too, as far as the markup names them.

    Whatever comes in is some HTML, as for a browser.

    Raises:
        MemoryError: the parser got none.

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
            alt_texts=False,
            skip_elements=() if landmarks else _LANDMARKS,
        )
    except HTMLParserException as error:  # whatever comes is some HTML
        raise MemoryError(str(error)) from error
    return str(text)


def _without_growing_references(html: str) -> str:
    """The parser writes what a reference means into the room of the reference: two names mean more bytes."""
    for name, meaning in _GROWING_REFERENCES.items():
        html = html.replace(name, meaning)
    return html


def _without_surrogates(html: str) -> str:
    """The extractor takes text that can be UTF-8; half a surrogate pair cannot."""
    try:
        html.encode()
    except UnicodeEncodeError:
        return html.encode(errors="replace").decode()
    return html
