"""Read the article of a page: the visible words of the one element in which a site's design puts it."""

from typing import NamedTuple

from benchmarks.quality.similarity import UNSEEN_TAGS, VisibleText, tokens_of

__all__ = ["ArticleElement", "article_tokens"]


class ArticleElement(NamedTuple):
    """The first element with this word in this attribute, such as `main` in `class`."""

    attribute: str
    word: str


def article_tokens(html: str, element: ArticleElement) -> list[str] | None:
    """Return all visible words of the article in order, or None if the page has no such element."""
    parser = _ArticleText(element)
    parser.feed(html)
    parser.close()
    return tokens_of(parser.parts) if parser.is_found else None


class _ArticleText(VisibleText):
    """Collects the visible text of one element.

    Only tags of the element's own name are counted, so tags without an end, such as <br>, do no harm.
    """

    def __init__(self, element: ArticleElement) -> None:
        super().__init__()
        self.is_found = False
        self._element = element
        self._tag = ""
        self._depth = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Enter a tag."""
        super().handle_starttag(tag, attrs)
        if self._depth:
            self._depth += tag == self._tag
        elif not self.is_found and tag not in UNSEEN_TAGS and self._is_article(attrs):
            self.is_found, self._tag, self._depth = True, tag, 1

    def handle_endtag(self, tag: str) -> None:
        """Leave a tag."""
        super().handle_endtag(tag)
        if self._depth and tag == self._tag:
            self._depth -= 1

    def handle_data(self, data: str) -> None:
        """Keep the text within the element."""
        if self._depth:
            super().handle_data(data)

    def _is_article(self, attrs: list[tuple[str, str | None]]) -> bool:
        return any(
            name == self._element.attribute and self._element.word in (value or "").split()
            for name, value in attrs
        )
