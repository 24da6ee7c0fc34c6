"""The hooks of MkDocs that make a site of the repository's Markdown, with links that hold there.

On the site `docs/` is the root and README.md the home page; what they link to elsewhere is beside them.
A link to a directory leads to a list of its files.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from posixpath import dirname, join, normpath, relpath

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

__all__ = ["listing", "on_files", "on_page_markdown", "site_links", "site_path"]

_ROOT = Path(__file__).parents[1]
_WITH_README = ("deploy/", "docs/decisions/")
_HOME = {"README.md": "index.md", "CHANGELOG.md": "changelog.md"}
_LINK = re.compile(r"(?<=\]\()(?![a-z]+:|#)([^)#\s]+)(?=[)#])")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages and files that are not in `docs/`, and the lists of directories."""
    for name in (*_HOME, *(str(path) for path in _deployed())):
        files.append(File.generated(config, site_path(name), abs_src_path=str(_ROOT / name)))
    for directory in _directories():
        files.append(File.generated(config, site_path(directory), content=listing(_ROOT, directory)))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:  # noqa: ARG001 - MkDocs'
    """Let the links of a page hold on the site."""
    return site_links(_ROOT, _repository_path(page.file.src_uri), markdown)


def site_links(root: Path, page: str, markdown: str) -> str:
    """Return the page with its links to other files of the repository as they are on the site.

    Args:
        root: of the repository.
        page: its path there.
        markdown: its text.
    """

    def on_site(link: re.Match[str]) -> str:
        target = normpath(join(dirname(page), link[1]))
        if not (root / target).exists():
            return link[1]
        path = site_path(f"{target}/" if (root / target).is_dir() else target)
        return relpath(path, dirname(site_path(page)) or ".")

    return _LINK.sub(on_site, markdown)


def site_path(path: str) -> str:
    """Return where a file of the repository stands on the site; of a directory, its list.

    >>> site_path("docs/events.md"), site_path("README.md"), site_path("deploy/compose/")
    ('events.md', 'index.md', 'deploy/compose/index.md')
    """
    if path.endswith("/"):
        path += "README.md" if path in _WITH_README else "index.md"
    return _HOME.get(path, path.removeprefix("docs/"))


def listing(root: Path, directory: str) -> str:
    """Return a page that lists the files of a directory, by their first headings or their paths."""
    base = root / directory
    paths = sorted(path for path in base.rglob("*") if path.is_file())
    lines = [f"- [{_title(path) or path.relative_to(base)}]({path.relative_to(base)})" for path in paths]
    return "\n".join([f"# {base.name.capitalize()}", "", *lines, ""])


def _title(path: Path) -> str:
    first = path.read_text(encoding="utf-8").partition("\n")[0] if path.suffix == ".md" else ""
    return first.removeprefix("# ")


def _deployed() -> Iterator[Path]:
    return (path.relative_to(_ROOT) for path in sorted((_ROOT / "deploy").rglob("*")) if path.is_file())


def _directories() -> Iterator[str]:
    """Yield the directories that pages may link to, except those with a README."""
    for path in sorted((_ROOT / "deploy").rglob("*")):
        if path.is_dir():
            yield f"{path.relative_to(_ROOT)}/"


def _repository_path(src_uri: str) -> str:
    """Return where a page of the site stands in the repository: the inverse of `site_path`."""
    homes = {site: name for name, site in _HOME.items()}
    return homes.get(src_uri) or (src_uri if src_uri.startswith("deploy/") else f"docs/{src_uri}")
