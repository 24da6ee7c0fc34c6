"""The Python files of the project, for tests that hold rules about code."""

import ast
import subprocess
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

__all__ = ["OURS", "SourceFile", "source_files"]

_ROOT: Final = Path(__file__).parents[1]

OURS: Final = frozenset({"neardup_stream", "neardup_daemon", "benchmarks", "monitoring", "release", "tests"})
"""Our packages, as they are imported."""


class SourceFile(NamedTuple):
    """A Python file.

    Attributes:
        path: from the root of the project.
        text: the whole file.
    """

    path: str
    text: str

    @property
    def tree(self) -> ast.Module:
        """The file, parsed once."""
        return _parsed(self.text)

    @property
    def line_count(self) -> int:
        return len(self.text.splitlines())


@cache
def source_files(
    folders: Iterable[str] = ("neardup_stream", "daemon", "benchmarks", "monitoring", "release"),
) -> tuple[SourceFile, ...]:
    """Return all files of these folders that git tracks, or would add."""
    listed = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "--", *folders]
    names = subprocess.run(listed, cwd=_ROOT, capture_output=True, text=True, check=True).stdout.split()
    paths = [name for name in names if name.endswith(".py") and (_ROOT / name).exists()]
    return tuple(SourceFile(path, (_ROOT / path).read_text(encoding="utf-8")) for path in paths)


@cache
def _parsed(text: str) -> ast.Module:
    return ast.parse(text)
