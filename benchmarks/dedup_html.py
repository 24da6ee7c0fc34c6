"""What does `dedup` take for HTML pages, and what share of it is to extract their text?

    python -m benchmarks.dedup_html [--pages 6000] [--rounds 3] [--json]

Pages of 560 words in the frames of 100 sites, one in five a near copy of an earlier one on its site, are read
with and without frames, by one worker and by two, in turns. Each time a file of one page is read as well, and
what that takes, the start of the processes, is left out of the figures. Text is extracted once more in this
process. Every copy must be found, and no other pair, before a figure is printed.
"""

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Final, NamedTuple

import msgspec
from neardup_daemon.demo.sample_crawl.plain_texts import TextPage
from rich.console import Console
from rich.table import Table

from benchmarks.crawls import html_pages
from benchmarks.timed_programs import Spent, adopt_orphans, event_pairs, run_timed
from neardup_stream.text.markup import visible_text

LEAST_FOUND: Final = 0.99


class Case(NamedTuple):
    """One way to run `dedup`."""

    frames: str
    workers: int


class Figures(NamedTuple):
    """Medians over the rounds, without the start of the processes.

    Attributes:
        seconds: wall clock for all pages.
        cpu_us: CPU time a page of all processes.
        extraction: share of that which extracts text.
    """

    seconds: float
    cpu_us: float
    extraction: float


def main() -> None:
    """Measure, and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pages", type=int, default=6_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", action="store_true", help="one JSON line instead of the table")
    arguments = parser.parse_args()
    load = os.getloadavg()[0]
    pages = list(html_pages(arguments.pages))
    with tempfile.TemporaryDirectory() as folder:
        figures = measure(pages, arguments.rounds, Path(folder))
    extraction_us = 1e6 * extraction_seconds(pages) / len(pages)
    shown = {
        case: Figures(seconds, cpu_us, extraction_us / cpu_us) for case, (seconds, cpu_us) in figures.items()
    }
    if arguments.json:
        named = {f"frames {case.frames}, {case.workers}": each._asdict() for case, each in shown.items()}
        print(json.dumps({"pages": len(pages), "load": load, "extraction_us": extraction_us, **named}))
    else:
        print_table(len(pages), extraction_us, shown, load)


def measure(pages: Sequence[TextPage], rounds: int, folder: Path) -> dict[Case, tuple[float, float]]:
    """Return seconds and CPU µs a page of each case; the first round warms up and is not counted."""
    adopt_orphans()
    whole, one = folder / "pages.jsonl", folder / "page.jsonl"
    write(pages, whole)
    write(pages[:1], one)
    spent: defaultdict[Case, list[Spent]] = defaultdict(list)
    for turn, frames, workers in product(range(rounds + 1), ("on", "off"), (1, 2)):
        case = Case(frames, workers)
        start, run = (dedup(path, case, folder / "events") for path in (one, whole))
        check(pages, folder / "events", case)
        if turn:
            spent[case].append(Spent(run.seconds - start.seconds, run.cpu_seconds - start.cpu_seconds))
    return {
        case: (
            statistics.median(each.seconds for each in runs),
            1e6 * statistics.median(each.cpu_seconds for each in runs) / len(pages),
        )
        for case, runs in spent.items()
    }


def write(pages: Sequence[TextPage], path: Path) -> None:
    """Write pages as JSON Lines, by their URLs."""
    lines = (msgspec.json.encode({"url": page.url, "html": page.text}) for page in pages)
    path.write_bytes(b"".join(line + b"\n" for line in lines))


def dedup(path: Path, case: Case, events: Path) -> Spent:
    """Run it in a process of its own."""
    scope = {"on": "host", "off": "off"}[case.frames]
    command = [sys.executable, "-m", "neardup_daemon", "dedup", str(path), "--events", str(events)]
    command += ["--workers", str(case.workers), "--set", f"frames.scope={scope}"]
    return run_timed(command)


def check(pages: Sequence[TextPage], events: Path, case: Case) -> None:
    """Compare the pairs that events name with those that were made; without frames more pages are alike."""
    urls = {page.id: page.url for page in pages}
    made = {(page.url, urls[page.near_duplicate_of]) for page in pages if page.near_duplicate_of}
    found = event_pairs(events)
    share = len(found & made) / len(made)
    assert share >= LEAST_FOUND, f"{case}: {share:.3f} of the copies"
    originals = dict(made)
    others = {pair for pair in found if _family(originals, pair[0]) != _family(originals, pair[1])}
    assert case.frames == "off" or not others, f"{case}: {len(others)} false pairs"


def _family(originals: dict[str, str], page: str) -> str:
    while page in originals:
        page = originals[page]
    return page


def extraction_seconds(pages: Sequence[TextPage]) -> float:
    """Return the CPU time to extract the text of all pages, the second time."""
    spent = 0.0
    for _ in range(2):
        start = time.process_time()
        for page in pages:
            visible_text(page.text)
        spent = time.process_time() - start
    return spent


def print_table(count: int, extraction_us: float, figures: dict[Case, Figures], load: float) -> None:
    """One row a case."""
    title = f"{count:,} HTML pages without start-up; text extraction {extraction_us:.0f} µs; load {load:.1f}"
    table = Table(title=title)
    for name in ("frames", "workers", "seconds", "CPU µs a page", "of it extraction"):
        table.add_column(name, justify="left" if name == "frames" else "right")
    for case, each in figures.items():
        cells = (f"{each.seconds:.2f}", f"{each.cpu_us:.0f}", f"{each.extraction:.2f}")
        table.add_row(case.frames, str(case.workers), *cells)
    Console().print(table)


if __name__ == "__main__":
    main()
