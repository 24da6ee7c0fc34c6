"""The sites of the real sets: documentation packages, each version a capture of one site in some design.

Two generators changed their design while the text stayed: Scaladoc from 2.11 to 2.12, and Javadoc from 8 to
11 and to 17. Scaladoc 3 puts a menu of the whole site on every page.
"""

from typing import NamedTuple

from benchmarks.quality.frames.article import ArticleElement
from benchmarks.quality.packages import Package

__all__ = ["DESIGN_SITES", "SIBLING_SITES", "Capture", "Site"]

_JAVADOC = ArticleElement("class", "contentContainer")
_JAVADOC_17 = ArticleElement("role", "main")
_SCALADOC_2 = ArticleElement("id", "template")
_SCALADOC_3 = ArticleElement("id", "content")


class Capture(NamedTuple):
    """A site as it was at one time.

    Attributes:
        package: holds the pages.
        article: the element that holds the article in this design.
    """

    package: Package
    article: ArticleElement

    @property
    def folder(self) -> str:
        """The part of an address in which captures of a site differ."""
        return f"{self.package.name.rpartition(':')[2]}-{self.package.version}"


class Site(NamedTuple):
    """A host with pages of some documents in every capture.

    Attributes:
        host: of the addresses.
        documents: a regular expression; the paths that it matches from the start are taken.
        captures: the older one first.
    """

    host: str
    documents: str
    captures: tuple[Capture, ...]


def _captured(element: ArticleElement, name: str, *versions: str) -> tuple[Capture, ...]:
    return tuple(Capture(Package("maven", name, version), element) for version in versions)


_DOCUMENTS = r"(?!.*(/package-|/doc-files/|/src-html/|/overview))\w+/.*\w+\.html$"
"""Not the lists that a generator makes."""

_OWN_TEXT_OF_CATS = r"cats/(?!instances/|syntax/)[^$]*\w\.html$"
"""Not the pages of implicits, which have hardly a word of their own."""

DESIGN_SITES = (
    Site(
        "scala-2.cats.example",
        _OWN_TEXT_OF_CATS,
        (
            *_captured(_SCALADOC_2, "org.typelevel:cats-core_2.11", "2.0.0"),
            *_captured(_SCALADOC_2, "org.typelevel:cats-core_2.12", "2.0.0"),
        ),
    ),
    Site(
        "scala-3.cats.example",
        r"cats/(?!instances/|syntax/).*\w+\.html$",
        _captured(_SCALADOC_3, "org.typelevel:cats-core_3", "2.9.0", "2.10.0"),
    ),
    Site("mockito.example", _DOCUMENTS, _captured(_JAVADOC, "org.mockito:mockito-core", "3.12.4", "4.11.0")),
    Site("testng.example", _DOCUMENTS, _captured(_JAVADOC, "org.testng:testng", "7.4.0", "7.8.0")),
    Site(
        "sqlalchemy.example",
        r"doc/.*\w+\.html$",
        tuple(
            Capture(Package("python", "sqlalchemy", version), ArticleElement("id", "docs-body"))
            for version in ("1.3.24", "1.4.54")
        ),
    ),
)
"""One article in two designs, and many articles in one design."""

SIBLING_SITES = (
    Site(
        "spring.example",
        r".*/\w+Exception\.html$",
        (
            *_captured(_JAVADOC, "org.springframework:spring-tx", "5.3.29"),
            *_captured(_JAVADOC_17, "org.springframework:spring-tx", "6.0.11"),
        ),
    ),
    Site(
        "poi.example",
        r"org/apache/poi/ss/formula/functions/\w+\.html$",
        _captured(_JAVADOC, "org.apache.poi:poi", "4.1.2", "5.0.0", "5.2.3"),
    ),
    Site(
        "lucene.example",
        r".*/\w+Factory\.html$",
        (
            *_captured(_JAVADOC, "org.apache.lucene:lucene-analyzers-common", "8.11.2"),
            *_captured(_JAVADOC, "org.apache.lucene:lucene-analysis-common", "9.4.0"),
        ),
    ),
    Site(
        "instances.cats.example",
        r"cats/(instances|syntax)/.*\w+\.html$",
        _captured(_SCALADOC_3, "org.typelevel:cats-core_3", "2.9.0", "2.10.0"),
    ),
)
"""Pages that have nearly all in common, but are about different things: exceptions, functions, factories."""
