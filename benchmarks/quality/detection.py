"""What `dedup` makes of a labelled set: the program as delivered, over a file, with a server of its own."""

import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from benchmarks.quality.labelled_set import Pair, pair
from benchmarks.quality.manuals import HtmlPage

__all__ = ["Answer", "run_dedup"]

COPIED_PAGES = 50
"""Pages that are read a second time, at another address: every copy must be found."""

COPY_PREFIX = "copy-of/"

SETTINGS = ("verdict.matches_limit=10000", "index.expected_pages=10000", "log.level=warning")


class Answer(NamedTuple):
    """The pairs that events name, and the clusters at the end, copies left out."""

    matches: set[Pair]
    clusters: list[list[str]]


class _Id(msgspec.Struct):
    id: str


class _Data(msgspec.Struct):
    page: _Id
    matches: list[_Id] = []


class _Event(msgspec.Struct):
    type: str
    data: msgspec.Raw


class _Cluster(msgspec.Struct):
    members: list[str]


def run_dedup(pages: Sequence[HtmlPage], rule: str) -> Answer:
    """Deduplicate pages, and some of them once more; all of those must be found.

    Args:
        pages: in the order to be read.
        rule: a value of `clusters.rule`.
    """
    copies = [HtmlPage(COPY_PREFIX + page.id, page.html) for page in pages[:COPIED_PAGES]]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        encoded = [msgspec.json.encode(_as_input(page)) for page in (*pages, *copies)]
        (folder / "pages.jsonl").write_bytes(b"\n".join(encoded))
        command = [sys.executable, "-m", "daemon", "dedup", f"--clusters-rule={rule}", "pages.jsonl"]
        command += ["--events=events.jsonl", "--clusters=clusters.jsonl"]
        command += [argument for setting in SETTINGS for argument in ("--set", setting)]
        subprocess.run(command, check=True, cwd=folder, stderr=subprocess.DEVNULL)
        matches = _read_matches(folder / "events.jsonl")
        clusters = _read_clusters(folder / "clusters.jsonl")
    assert {pair(page.id, COPY_PREFIX + page.id) for page in pages[:COPIED_PAGES]} <= matches
    return Answer(
        {both for both in matches if not any(map(_is_copy, both))},
        [[page for page in members if not _is_copy(page)] for members in clusters],
    )


def _as_input(page: HtmlPage) -> dict[str, str]:
    return {"id": page.id, "url": f"https://manuals.example/{page.id}", "html": page.html}


def _read_matches(events: Path) -> set[Pair]:
    matches = set()
    for line in events.read_bytes().splitlines():
        event = msgspec.json.decode(line, type=_Event)
        if event.type == "io.neardup.duplicate.v1":
            data = msgspec.json.decode(event.data, type=_Data)
            matches |= {pair(data.page.id, match.id) for match in data.matches}
    return matches


def _read_clusters(file: Path) -> list[list[str]]:
    return [msgspec.json.decode(line, type=_Cluster).members for line in file.read_bytes().splitlines()]


def _is_copy(page_id: str) -> bool:
    return page_id.startswith(COPY_PREFIX)
