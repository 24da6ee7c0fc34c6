"""Manuals in two versions each, out of the packages that carry them: pages that are alike by nature."""

from collections.abc import Iterator
from pathlib import Path
from typing import Literal, NamedTuple

from benchmarks.quality.packages import Package, draw_place, html_files

__all__ = ["MANUALS", "HtmlPage", "Manual", "read_manual"]

PAGES_PER_VERSION = 200
"""Of a larger manual a sample is taken, of the same files in both versions."""


class Manual(NamedTuple):
    """A package with a manual in HTML.

    Attributes:
        registry: a source distribution in Python's, or the javadoc jar of an artifact in Maven's.
        name: as the registry knows it.
        versions: the two that are compared.
    """

    registry: Literal["python", "maven"]
    name: str
    versions: tuple[str, str]


class HtmlPage(NamedTuple):
    """A page of a manual; its id is unique among all manuals and versions."""

    id: str
    html: str


MANUALS = (
    Manual("python", "sqlalchemy", ("1.4.50", "1.4.54")),
    Manual("python", "lxml", ("4.9.4", "5.2.0")),
    Manual("python", "alembic", ("1.12.1", "1.13.0")),
    Manual("python", "mako", ("1.2.4", "1.3.0")),
    Manual("maven", "org.apache.commons:commons-lang3", ("3.13.0", "3.14.0")),
    Manual("maven", "org.apache.commons:commons-collections4", ("4.3", "4.4")),
    Manual("maven", "commons-io:commons-io", ("2.14.0", "2.15.1")),
    Manual("maven", "com.google.guava:guava", ("31.1-jre", "32.1.3-jre")),
    Manual("maven", "joda-time:joda-time", ("2.10.14", "2.12.5")),
    Manual("maven", "org.junit.jupiter:junit-jupiter-api", ("5.9.3", "5.10.1")),
    Manual("maven", "org.apache.lucene:lucene-core", ("9.7.0", "9.8.0")),
    Manual("maven", "org.codehaus.groovy:groovy", ("3.0.17", "3.0.19")),
)
"""Written by hand in Sphinx and AsciiDoc, and made by three generators."""


def read_manual(manual: Manual, cache: Path) -> Iterator[HtmlPage]:
    """Yield the sampled pages of both versions; the packages are fetched if they are not in `cache` yet."""
    for version in manual.versions:
        files = html_files(Package(manual.registry, manual.name, version), cache)
        for path in sorted(files, key=draw_place)[:PAGES_PER_VERSION]:
            yield HtmlPage(f"{manual.registry}/{manual.name}/{version}/{path}", files[path])
