"""What does it take to remove the near-duplicates from a Parquet file, and are the right rows kept?

    python -m benchmarks.corpus [--pages 100000] [--workers 2] [--json]

Pages of 500 words of a made-up language, 15 % of them copies with 5, 10 or 20 edited words, are written to a
Parquet file with a column of its own that `dedup` does not know. `dedup --keep-representatives` writes the
file without the copies, and the clusters beside it. Which rows are kept is compared with the truth before a
figure is printed.
"""

import argparse
import json
import os
import resource
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from rich.console import Console
from rich.table import Table

from benchmarks.quality.edits import PAGE_WORDS, Vocabulary, edited_pages
from benchmarks.timed_programs import run_timed

EDITED_WORDS: Final = (5, 10, 20)
COPIES: Final = 0.05
"""Share of the pages for each number of edited words."""

LEAST_FOUND: Final = 0.99
BLOCK_PAGES: Final = 10_000
SEED: Final = 6


@dataclass(frozen=True)
class Figures:
    """What was measured.

    Attributes:
        pages: in the input.
        kept: rows of the output.
        copies_left: copies that the output still has.
        input_mb: size of the input.
        output_mb: of the output.
        seconds: wall clock, start-up included.
        cpu_us: CPU time a page of all processes.
        peak_mb: resident memory of the largest process.
        load: of the machine, before.
    """

    pages: int
    kept: int
    copies_left: int
    input_mb: float
    output_mb: float
    seconds: float
    cpu_us: float
    peak_mb: float
    load: float


def main() -> None:
    """Make the file, run `dedup`, check what it has written, print what it took."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pages", type=int, default=100_000)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--json", action="store_true", help="one JSON line instead of the table")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        figures = measure(arguments.pages, arguments.workers, Path(folder))
    if arguments.json:
        print(json.dumps(asdict(figures)))
        return
    table = Table(title=f"Parquet to Parquet, pages of {PAGE_WORDS} words, start-up included")
    for name in asdict(figures):
        table.add_column(name.replace("_", " "), justify="right")
    table.add_row(
        *(f"{value:,.1f}" if isinstance(value, float) else f"{value:,}" for value in asdict(figures).values())
    )
    Console().print(table)


def measure(page_count: int, workers: int, folder: Path) -> Figures:
    """Run `dedup` once over a file of so many pages."""
    source, kept, clusters = (folder / f"{name}.parquet" for name in ("pages", "kept", "clusters"))
    original_count = write_pages(page_count, source)
    load = os.getloadavg()[0]
    command = [sys.executable, "-m", "neardup_daemon", "dedup", str(source), "--events", os.devnull]
    outputs = ["--keep-representatives", str(kept), "--clusters", str(clusters)]
    spent = run_timed([*command, *outputs, "--workers", str(workers)])
    rows = pq.read_table(kept)
    numbers = rows["number"].to_pylist()
    assert rows.schema.names == ["url", "text", "number"], rows.schema
    assert numbers == sorted(numbers), "the rows keep their order"
    assert numbers[:original_count] == list(range(original_count)), "an original page is missing"
    copies_left = len(numbers) - original_count
    copy_count = page_count - original_count
    assert copies_left <= (1 - LEAST_FOUND) * copy_count, f"{copies_left} of {copy_count} copies are left"
    dropped = sum(len(each) - 1 for each in pq.read_table(clusters)["members"].to_pylist())
    assert dropped == page_count - len(numbers), "the clusters have dropped as many as are missing"
    return Figures(
        pages=page_count,
        kept=len(numbers),
        copies_left=copies_left,
        input_mb=source.stat().st_size / 1e6,
        output_mb=kept.stat().st_size / 1e6,
        seconds=spent.seconds,
        cpu_us=1e6 * spent.cpu_seconds / page_count,
        peak_mb=resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1e3,
        load=load,
    )


def write_pages(page_count: int, path: Path) -> int:
    """Write original pages, then copies of some; return how many originals there are."""
    rng = np.random.default_rng(SEED)
    vocabulary = Vocabulary.make(rng)
    copy_count = round(COPIES * page_count)
    originals = vocabulary.draw(rng, page_count - copy_count * len(EDITED_WORDS), PAGE_WORDS)

    def blocks() -> Iterator[list[str]]:
        for first in range(0, len(originals), BLOCK_PAGES):
            yield vocabulary.write(originals[first : first + BLOCK_PAGES])
        for turn, words in enumerate(EDITED_WORDS):
            copied = originals[turn * copy_count : (turn + 1) * copy_count]
            yield vocabulary.write(edited_pages(copied, words, vocabulary, rng))

    schema = pa.schema([("url", pa.string()), ("text", pa.string()), ("number", pa.int64())])
    number = 0
    with pq.ParquetWriter(path, schema) as writer:
        for texts in blocks():
            numbers = range(number, number + len(texts))
            urls = [f"https://site-{each % 100}.example/{each}" for each in numbers]
            writer.write_table(pa.table([urls, texts, list(numbers)], schema=schema))
            number += len(texts)
    return len(originals)


if __name__ == "__main__":
    main()
