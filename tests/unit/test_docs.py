"""The documentation: complete indexes without dead entries, and commands that a bare machine takes."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

_DOCS = Path(__file__).parents[2] / "docs"
_LINKED = re.compile(r"\]\(([^)/#]+\.md)\)")


@pytest.mark.parametrize("directory", [_DOCS, _DOCS / "decisions"], ids=["docs", "decisions"])
def test_an_index_links_every_page_of_its_directory_once(directory: Path) -> None:
    linked = _LINKED.findall((directory / "README.md").read_text(encoding="utf-8"))

    assert sorted(linked) == sorted(path.name for path in directory.glob("*.md") if path.name != "README.md")


def test_each_quick_start_of_the_readme_installs_into_a_virtual_environment() -> None:
    readme = (_DOCS.parent / "README.md").read_text(encoding="utf-8")
    installing = [block for block in readme.split("```")[1::2] if "pip install" in block]

    assert len(installing) == 2
    assert all("-m venv" in block.partition("pip install")[0] for block in installing)


def test_a_row_of_a_table_is_one_line() -> None:
    root = _DOCS.parent
    pages = [*root.glob("*.md"), *_DOCS.rglob("*.md"), *(root / "deploy").rglob("*.md")]

    broken = [
        f"{page.relative_to(root)}: {line}"
        for page in pages
        for line in _torn_rows(page.read_text(encoding="utf-8"))
    ]

    assert _DOCS / "faults.md" in pages
    assert broken == []


def _torn_rows(text: str) -> Iterator[str]:
    """Yield lines that begin a row without ending it, and those behind a row that are neither row nor blank.

    Code between fences is left out.
    """
    for block in text.split("```")[::2]:
        lines = block.split("\n")
        for line, following in zip(lines, [*lines[1:], ""], strict=True):
            if not line.startswith("|"):
                continue
            if not line.endswith("|"):
                yield line
            if following and not following.startswith("|"):
                yield following


def test_a_decision_takes_one_line_in_the_index() -> None:
    lines = (_DOCS / "decisions" / "README.md").read_text(encoding="utf-8").split("\n")
    entries = [line for line in lines if line.startswith("- ")]

    assert all(re.fullmatch(r"- \[(\d{4})\]\(\1-[a-z0-9-]+\.md\) [A-Z`].+\.", line) for line in entries), (
        entries
    )
