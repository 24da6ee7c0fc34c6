"""The indexes of the documentation: complete, and without dead entries."""

import re
from pathlib import Path

import pytest

_DOCS = Path(__file__).parents[2] / "docs"
_LINKED = re.compile(r"\]\(([^)/#]+\.md)\)")


@pytest.mark.parametrize("directory", [_DOCS, _DOCS / "decisions"], ids=["docs", "decisions"])
def test_an_index_links_every_page_of_its_directory_once(directory: Path) -> None:
    linked = _LINKED.findall((directory / "README.md").read_text(encoding="utf-8"))

    assert sorted(linked) == sorted(path.name for path in directory.glob("*.md") if path.name != "README.md")


def test_a_decision_takes_one_line_in_the_index() -> None:
    lines = (_DOCS / "decisions" / "README.md").read_text(encoding="utf-8").split("\n")
    entries = [line for line in lines if line.startswith("- ")]

    assert all(re.fullmatch(r"- \[(\d{4})\]\(\1-[a-z0-9-]+\.md\) [A-Z`].+\.", line) for line in entries), (
        entries
    )
