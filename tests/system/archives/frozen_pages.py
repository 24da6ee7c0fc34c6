"""The pages of an archive, and what commands print of it."""

import json
from pathlib import Path
from typing import Any

from tests.pipelines import essay, page_json
from tests.system.conftest import call

__all__ = ["PAGES", "freeze_pages", "json_of"]

PAGES = [page_json(str(n), essay(n)) for n in range(30)]


def json_of(*words: str, stdin: bytes = b"") -> Any:
    run = call(*words, stdin=stdin)
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)


def freeze_pages(folder: Path) -> Path:
    """Write a crawl, `crawl.jsonl`, and its archive into a folder; return the path of the archive."""
    (pages := folder / "crawl.jsonl").write_bytes(b"\n".join(PAGES) + b"\n")
    run = call("freeze", str(pages), "-o", str(archive := folder / "crawl.nda"))
    assert run.returncode == 0, run.stderr
    assert b"30 pages" in run.stderr
    return archive
