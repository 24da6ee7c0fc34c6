"""The documentation: complete indexes without dead entries, and commands that a bare machine takes."""

import re
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


def test_a_decision_takes_one_line_in_the_index() -> None:
    lines = (_DOCS / "decisions" / "README.md").read_text(encoding="utf-8").split("\n")
    entries = [line for line in lines if line.startswith("- ")]

    assert all(re.fullmatch(r"- \[(\d{4})\]\(\1-[a-z0-9-]+\.md\) [A-Z`].+\.", line) for line in entries), (
        entries
    )
