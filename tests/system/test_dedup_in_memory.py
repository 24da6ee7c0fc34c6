"""`dedup` without `--redis` or `--state` keeps its index in its own memory, and says the same."""

import asyncio
import json
import os
import re
from pathlib import Path
from typing import Any

import pytest
from neardup_daemon.files_run import run_over_files
from neardup_daemon.files_run_options import FilesRun
from neardup_daemon.settings.settings import Settings
from neardup_daemon.tally import Tally

from neardup_stream.streams.files.digests import EarlyDigests
from tests.pipelines import essay, page_json
from tests.system.conftest import StoredIndex, call

OUTPUTS = ("events", "clusters", "dead-letters")


@pytest.fixture(scope="module")
def crawl(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Copies, edits, sites with frames and too short pages; then pages that have changed, or come again."""
    path = tmp_path_factory.mktemp("crawl") / "crawl.jsonl"
    assert call("demo", "--write", str(path)).returncode == 0
    first = path.read_bytes().splitlines()
    pages = [page for page in map(read, first) if page and "html" in page]
    again = [page_json("short", "too short")]
    again += [line({**new, "url": old["url"]}) for old, new in zip(pages[::9], pages[7::9], strict=False)]
    again += [line(page) for page in pages[5:60]]
    path.write_bytes(b"".join(each + b"\n" for each in (*first, b"no page", *again)))
    return path


def read(value: bytes) -> dict[str, Any] | None:
    try:
        return dict(json.loads(value))
    except ValueError:
        return None


def line(page: dict[str, Any]) -> bytes:
    return json.dumps(page).encode()


class Named:
    """Numbers the names of clusters, which are made by chance, in the order in which they are met."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def __call__(self, text: str) -> str:
        return re.sub(r"\b[0-9a-f]{16}\.\d+", self._number, text)

    def _number(self, name: re.Match[str]) -> str:
        return str(self._numbers.setdefault(name[0], len(self._numbers)))


def outputs(index: StoredIndex, folder: Path, crawl: Path, *words: str) -> list[object]:
    """Events, clusters, dead letters and summary of a run, without what is made by chance or takes time."""
    paths = [folder / f"{name}.jsonl" for name in OUTPUTS]
    flags = [f"--{name}={path}" for name, path in zip(OUTPUTS, paths, strict=True)]
    run = index.call("dedup", str(crawl), "--events-unique", *flags, *words)
    assert run.returncode == 0, run.stderr
    events, clusters, letters = (path.read_text() for path in paths)
    number = Named()
    made_by_chance = r'"specversion":"1.0","id":"\w+"|"index":"\w+",'
    return [
        number(re.sub(made_by_chance, "", events)).splitlines(),
        sorted(number(clusters).splitlines()),
        letters,
        re.search(r"records in .* s: (.*)", run.stderr.decode())[1],  # type: ignore[index] # it is there
    ]


@pytest.mark.parametrize("setting", ["verdict.scope=everything", "verdict.scope=host", "frames.scope=off"])
def test_it_says_what_the_same_run_on_redis_says(
    index: StoredIndex, crawl: Path, tmp_path: Path, setting: str
) -> None:
    words = ("--set", setting)

    own = outputs(index, tmp_path, crawl, *words, "--workers", "2")
    on_redis = outputs(index, tmp_path, crawl, *words, "--redis")

    assert own == on_redis
    assert len(own[0]) > 300  # type: ignore[arg-type] # they are events


def test_it_starts_no_server(tmp_path: Path) -> None:
    run = call("dedup", "-", stdin=page_json("a", "words " * 50), environ={"PATH": str(tmp_path)})

    assert run.returncode == 0, run.stderr
    assert b"embedded_server" not in run.stderr


def test_an_output_that_is_not_asked_for_is_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The device for nothing may have been replaced by a file, which could hold no clusters by its name."""
    crawl, null, events = tmp_path / "crawl.jsonl", tmp_path / "null", tmp_path / "events.jsonl"
    crawl.write_bytes(page_json("broken", essay(1))[:-1] + b"\n" + page_json("page", essay(1)))
    null.touch()
    monkeypatch.setattr(os, "devnull", str(null))
    run = FilesRun((str(crawl),), str(events), None, None, None, None, uses_redis=False)

    with EarlyDigests(run.files) as digests:
        running = run_over_files(run, Settings(), Tally(), lambda *_: None, lambda: "", (), digests.identify)
        end = asyncio.run(running)

    assert (end.shortfall, len(end.first_dead_letters)) == ("", 1)
    assert null.read_bytes() == b""
