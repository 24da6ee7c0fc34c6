"""What crawlers really write, of two crawls of one site, through `dedup`, and through `produce` and a daemon.

`tests/data/crawlers/README.md` says which programs wrote it.
"""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

from tests.servers.daemon import start_daemon
from tests.system.conftest import Site, call
from tests.unit.streams.archives import response, warc_record

DATA = Path(__file__).parents[1] / "data" / "crawlers"
SITE = "http://127.0.0.1:8765"

WRITTEN = {
    "scrapy": ("scrapy-1.jsonl", "scrapy-2.jsonl", "scrapy"),
    "warcio": ("warcio-1.wacz", "warcio-2.wacz", "none"),
    "browsertrix": ("browsertrix-1.jsonl", "browsertrix-2.jsonl", "browsertrix"),
}
CHANGED = {
    "nutch-dump": ("nutch-dump-1.jsonl", "nutch-dump-2.jsonl", "nutch"),
    "nutch-warc-response": ("nutch-response-1.warc", "nutch-response-2.warc", "nutch"),
    "nutch-warc-resource": ("nutch-resource-1.warc", "nutch-resource-2.warc", "nutch"),
    "stormcrawler-index": ("stormcrawler-1.jsonl", "stormcrawler-2.jsonl", "stormcrawler"),
    "stormcrawler-warc": ("stormcrawler-1.warc", "stormcrawler-2.warc", "stormcrawler"),
}
PUBLISHED = {
    "scrapy": WRITTEN["scrapy"],
    "browsertrix": WRITTEN["browsertrix"],
    "nutch": CHANGED["nutch-dump"],
    "stormcrawler": CHANGED["stormcrawler-index"],
}


@pytest.mark.parametrize(("first", "second", "preset"), WRITTEN.values(), ids=WRITTEN)
def test_a_second_crawl_of_a_site_is_the_same_pages_again(first: str, second: str, preset: str) -> None:
    run = call("dedup", str(DATA / first), str(DATA / second), "--set", f"page.preset={preset}")

    (duplicate,) = [json.loads(line)["data"] for line in run.stdout.splitlines()]
    summary = run.stderr.decode()
    assert run.returncode == 0
    assert {duplicate["page"]["id"], *(match["id"] for match in duplicate["matches"])} == {
        f"{SITE}/page0.html",
        f"{SITE}/page5.html",
    }
    assert "7 unchanged" in summary
    assert "1 duplicate" in summary
    assert "dead" not in summary


@pytest.mark.parametrize(("first", "second", "preset"), CHANGED.values(), ids=CHANGED)
def test_of_a_second_crawl_only_the_page_that_changed_is_judged_again(
    first: str, second: str, preset: str
) -> None:
    run = call("dedup", str(DATA / first), str(DATA / second), "--page-preset", preset, "--events-unique")

    events = [json.loads(line) for line in run.stdout.splitlines()]
    summary = run.stderr.decode()
    assert run.returncode == 0
    assert [event["subject"] for event in events if ".duplicate." in event["type"]] == [f"{SITE}/page5.html"]
    assert sorted(event["subject"] for event in events if ".unique." in event["type"]) == [
        f"{SITE}/",
        *(f"{SITE}/page{number}.html" for number in (0, 1, 2, 3, 3, 4)),
    ]
    assert "7 unique, 6 unchanged, 1 duplicate" in summary
    assert "dead" not in summary


@pytest.mark.parametrize(("first", "second", "preset"), PUBLISHED.values(), ids=PUBLISHED)
def test_published_pages_of_a_crawler_have_the_ids_and_events_that_dedup_gives_them(
    site: Site, first: str, second: str, preset: str
) -> None:
    site.create_topics()
    files = [str(DATA / name) for name in (first, second)]

    local = site.call("dedup", *files, "--page-preset", preset, "--events-unique")
    published = site.call("produce", *files, "--page-preset", preset)
    with start_daemon([*site.settings, "events.unique=true"]) as daemon:
        daemon.wait_until_ready()
        daemon.wait_for_pages(14)
        outcomes = daemon.outcomes()
        assert daemon.stop() == 0

    assert (local.returncode, published.returncode) == (0, 0)
    assert "dead_letter" not in outcomes
    assert judged(site.events()) == judged(json.loads(line) for line in local.stdout.splitlines())


def judged(events: Iterable[Mapping[str, Any]]) -> list[tuple[str, str, list[str]]]:
    """Return what was found of which page, in whatever order."""
    return sorted(
        (
            event["type"],
            event["subject"],
            sorted(match["id"] for match in event["data"].get("matches", [])),
        )
        for event in events
    )


def test_lines_of_browsertrix_without_its_preset_are_warned_about_once() -> None:
    files = [str(DATA / name) for name in WRITTEN["browsertrix"][:2]]

    plain, preset = call("dedup", *files), call("dedup", *files, "--page-preset", "browsertrix")

    assert plain.stderr.decode().count("warning: a header of Browsertrix (json-pages-1.0)") == 1
    assert b"--page-preset browsertrix" in plain.stderr
    assert b"warning" not in preset.stderr


@pytest.mark.parametrize("command", ["dedup", "freeze", "produce"])
def test_a_crawl_without_texts_is_warned_about_and_the_option_that_keeps_them_named(
    site: Site, tmp_path: Path, command: str
) -> None:
    site.create_topics()
    lines = (DATA / WRITTEN["browsertrix"][0]).read_text().splitlines()
    pages = tmp_path / "pages.jsonl"
    without = [{name: value for name, value in json.loads(line).items() if name != "text"} for line in lines]
    pages.write_text("".join(json.dumps(line) + "\n" for line in without))
    options = ["-o", str(tmp_path / "crawl.nda")] if command == "freeze" else []

    run = site.call(command, str(pages), "--set", "page.preset=browsertrix", *options)

    assert run.returncode == 0, run.stderr
    assert "have no text (no_text): if they are pages, crawl with --text to-pages" in run.stderr.decode()


@pytest.mark.parametrize("command", ["dedup", "freeze", "produce"])
def test_revisits_in_the_places_of_pages_are_warned_about(site: Site, tmp_path: Path, command: str) -> None:
    site.create_topics()
    crawl = tmp_path / "crawl.warc"
    crawl.write_bytes(crawl_with_revisits())
    options = ["-o", str(tmp_path / "crawl.nda")] if command == "freeze" else []

    run = site.call(command, str(crawl), *options)

    assert run.returncode == 0
    assert run.stderr.decode().count("warning: 2 revisit records skipped") == 1
    assert b"(2 revisit)" in run.stderr or b"left out: 2 revisit\n" in run.stderr


@pytest.mark.parametrize("command", ["dedup", "produce"])
def test_revisits_in_a_damaged_file_are_warned_about_too(site: Site, tmp_path: Path, command: str) -> None:
    site.create_topics()
    crawl = tmp_path / "crawl.warc"
    crawl.write_bytes(crawl_with_revisits() + response(f"{SITE}/d", b"<p>words")[:-9])

    run = site.call(command, str(crawl))

    assert run.returncode == 4
    assert run.stderr.decode().count("warning: 2 revisit records skipped") == 1


def crawl_with_revisits() -> bytes:
    """Return an archive of a page and two copies of which only revisits were written."""
    copies = [f"{SITE}/{name}" for name in "bc"]
    revisits = [
        warc_record("revisit", copy, b"HTTP/1.1 200 OK\r\n\r\n", "application/http") for copy in copies
    ]
    return response(f"{SITE}/a", b"<p>words") + b"".join(revisits)


def test_a_parquet_file_of_other_columns_is_refused_with_their_names(tmp_path: Path) -> None:
    path = tmp_path / "crawl.parquet"
    parquet.write_table(pa.table({"address": ["https://example.com/"], "markup": ["<p>words"]}), path)

    run = call("dedup", str(path))

    assert run.returncode == 2
    assert f"the columns of {path} are address, markup" in run.stderr.decode()
