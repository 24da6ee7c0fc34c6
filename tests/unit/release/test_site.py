"""The documentation as a site."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from release.site import listing, site_links

ROOT = Path(__file__).parents[3]


def test_every_page_and_link_holds_on_the_site(tmp_path: Path) -> None:
    built = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path)],
        cwd=ROOT,
        env=os.environ | {"NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )

    assert built.returncode == 0, built.stderr
    for page in ("index.html", "changelog.html", "deploy/index.html", "decisions/index.html"):
        assert (tmp_path / page).exists()


@pytest.mark.parametrize(
    ("page", "link", "on_site"),
    [
        ("README.md", "docs/events.md#unique", "events.md#unique"),
        ("README.md", "docs/decisions", "decisions/README.md"),
        ("docs/upgrading.md", "../CHANGELOG.md", "changelog.md"),
        ("docs/deploying.md", "../deploy/compose", "deploy/compose/index.md"),
        ("docs/deploying.md", "../deploy/neardup-stream.service", "deploy/neardup-stream.service"),
        ("docs/decisions/0002-markup.md", "../performance.md#archives", "../performance.md#archives"),
        ("deploy/README.md", "../docs/monitoring.md", "../monitoring.md"),
        ("docs/events.md", "#unique", "#unique"),
        ("docs/events.md", "https://example.com/a.md", "https://example.com/a.md"),
        ("docs/events.md", "no-such-page.md", "no-such-page.md"),
    ],
)
def test_a_link_leads_to_the_same_file_on_the_site(page: str, link: str, on_site: str) -> None:
    assert site_links(ROOT, page, f"see [it]({link}).") == f"see [it]({on_site})."


def test_a_directory_is_listed_with_the_titles_of_its_pages(tmp_path: Path) -> None:
    (tmp_path / "guides").mkdir()
    (tmp_path / "guides" / "first.md").write_text("# How to begin\n\nText.\n")
    (tmp_path / "guides" / "rules.yml").write_text("groups: []\n")

    assert listing(tmp_path, "guides") == (
        "# Guides\n\n- [How to begin](first.md)\n- [rules.yml](rules.yml)\n"
    )
