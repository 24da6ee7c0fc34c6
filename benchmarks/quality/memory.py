"""What a table setting costs: bytes of Redis a page, all in, after `dedup` over pages of one size.

A fifth of the pages are near-duplicates of another, so clusters count too. Addresses have 60 characters.
"""

import asyncio
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import msgspec
import redis
from neardup_daemon.demo.sample_crawl.plain_texts import TextPage, generate_texts
from neardup_daemon.embedded import EmbeddedServer

from benchmarks.quality.table_settings import TableSetting
from benchmarks.redis_readings import used_bytes

__all__ = ["bytes_per_page"]

PAGE_WORDS = 150
"""Enough that a sketch is full; what is stored of a longer page is no larger."""

URL = "https://www.manuals.example/pages/at/some/depth/{:012}".format
assert len(URL(0)) == 60


async def bytes_per_page(settings: Sequence[TableSetting], page_count: int) -> dict[str, float]:
    """Memory of the server, less that of an empty one, a page.

    Tombstones are kept for a second only, so that this is a corpus at rest.
    Settings that differ only in what the bytes say, not in how many there are, share one run.
    """
    measured: dict[tuple[str, ...], float] = {}
    with tempfile.TemporaryDirectory() as folder:
        pages = _write_pages(Path(folder, "pages.jsonl"), page_count)
        for assignments in {_assignments(setting): None for setting in settings}:
            async with EmbeddedServer() as server:
                used_bytes = await asyncio.to_thread(_fill, server.url, assignments, pages, page_count)
            measured[assignments] = used_bytes / page_count
    return {setting.name: measured[_assignments(setting)] for setting in settings}


def _write_pages(path: Path, page_count: int) -> Path:
    with path.open("wb") as file:
        for number, page in enumerate(generate_texts(page_count, words=PAGE_WORDS)):
            file.write(msgspec.json.encode(_as_input(number, page)) + b"\n")
    return path


def _as_input(number: int, page: TextPage) -> dict[str, str]:
    return {"url": URL(number), "text": page.text}


def _fill(url: str, assignments: Sequence[str], pages: Path, page_count: int) -> int:
    client = redis.Redis.from_url(url)
    empty_bytes = used_bytes(client)
    command = [sys.executable, "-m", "neardup_daemon", "dedup", "--redis", "--events=/dev/null", str(pages)]
    corpus = (f"redis.url={url}", f"index.expected_pages={page_count}", "clusters.tombstone_ttl_seconds=1")
    for assignment in (*corpus, *assignments):
        command += ["--set", assignment]
    subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
    return used_bytes(client) - empty_bytes


def _assignments(setting: TableSetting) -> tuple[str, ...]:
    """Return the settings of the program that change how many bytes are stored."""
    tables = (f"index.blocks={setting.tables.blocks}", f"index.distance_bits={setting.tables.distance_bits}")
    sketch = setting.verdict.sketch
    if sketch is None:
        return (*tables, "verdict.scheme=simhash")
    bands = f"index.bands={sketch.bands}"
    return (*tables, bands, f"sketch.bins={sketch.bins}", f"sketch.code_bits={sketch.code_bits}")
