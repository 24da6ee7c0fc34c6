"""What does an archive of a million pages take, and how fast does it answer?

    python -m benchmarks.archives [--pages 1000000] [--json]

Pages are made up as the fingerprint kernel would leave them: a text fingerprint, 12 band words, a sketch, and
URLs of some 70 characters on 10,000 hosts. 30 % are copies of an earlier page. Times are CPU times of one
core. `benchmarks.freeze` measures the command, texts and all.
"""

import argparse
import json
import resource
import tempfile
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from random import Random

import numpy as np
from neardup_daemon.gc_tuning import collect_rarely

from neardup_stream.archive.building import ArchiveBuilder, sorting_bytes
from neardup_stream.archive.frozen import FrozenIndex
from neardup_stream.archive.keys import KeyedPage, page_keys
from neardup_stream.archive.log_blocks import LoggedPage
from neardup_stream.archive.matching import MatchingWriter
from neardup_stream.archive.pages import FrozenPage
from neardup_stream.archive.writing import ArchiveWriter

BANDS = 12
SKETCH_BYTES = 80
COPIED = 0.3
HOSTS = 10_000
BATCH = 256
UNKNOWN_KEYS = 10_000_000
ASKED_PAGES = 100_000
MEMORY_BYTES = 1 << 30
SEED = 11
MADE_SCHEMA = {"of": "a benchmark"}


@dataclass(frozen=True)
class Figures:
    """What was measured; times are CPU seconds of one core."""

    pages: int
    bytes_a_page: float
    log_bytes_a_page: float
    raw_log_bytes_a_page: float
    bits_a_key: float
    keys: int
    build_pages_a_second: float
    build_peak_mib: int
    probe_us_a_page: float
    copies_us_a_page: float
    key_ns: float
    false_keys: int
    expected_false_keys: float


def main() -> None:
    """Build, check, ask, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pages", type=int, default=1_000_000)
    parser.add_argument("--json", action="store_true", help="one JSON line instead of the table")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        figures = measure(arguments.pages, Path(directory))
    if arguments.json:
        print(json.dumps(asdict(figures)))
    else:
        for name, value in asdict(figures).items():
            print(f"{name:>24} {value:,.2f}" if isinstance(value, float) else f"{name:>24} {value:,}")


def measure(page_count: int, directory: Path) -> Figures:
    """Measure everything, and return all figures."""
    path = directory / "pages.nda"
    collect_rarely()  # as the command does
    rng = np.random.default_rng(SEED)
    made = MadePages(page_count, rng)
    build_seconds = build(path, made)
    peak_mib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
    index = FrozenIndex(path)
    index.file.check_all()
    sizes = {section.name: section.size_bytes for section in index.header.sections}
    unknown_seconds = ask(index, MadePages(ASKED_PAGES, rng))
    known_seconds = ask(index, made)
    start = time.process_time()
    values = index.values(rng.integers(0, 1 << 64, UNKNOWN_KEYS, dtype=np.uint64))
    key_seconds = time.process_time() - start
    raw_bytes = sum(len(url(number)) + len("2026-10-01T00:00:00Z") for number in range(1000)) / 1000
    return Figures(
        pages=page_count,
        bytes_a_page=index.header.file_bytes / page_count,
        log_bytes_a_page=sum(size for name, size in sizes.items() if name.startswith("log.")) / page_count,
        raw_log_bytes_a_page=raw_bytes,
        bits_a_key=8 * sum(sizes[f"key.{name}"] for name in ("parts", "owners", "ranks")) / index.key_count,
        keys=index.key_count,
        build_pages_a_second=page_count / build_seconds,
        build_peak_mib=peak_mib,
        probe_us_a_page=1e6 * unknown_seconds / ASKED_PAGES,
        copies_us_a_page=1e6 * known_seconds / ASKED_PAGES,
        key_ns=1e9 * key_seconds / UNKNOWN_KEYS,
        false_keys=int(np.count_nonzero(values != -1)),
        expected_false_keys=UNKNOWN_KEYS / (1 << 16),
    )


class MadePages:
    """What the keys of pages are made of; copies have all of them in common with an earlier page."""

    def __init__(self, count: int, rng: np.random.Generator) -> None:
        self.count = count
        self._texts = rng.integers(0, 1 << 64, count, dtype=np.uint64)
        self._bands = rng.integers(0, 1 << 32, (count, BANDS), dtype=np.uint32)
        originals = (rng.random(count) * np.arange(count)).astype(np.int64)
        self._sources = np.where(rng.random(count) < COPIED, originals, np.arange(count))

    def batch(self, first: int) -> list[KeyedPage]:
        """Return the next BATCH pages."""
        sources = self._sources[first : first + BATCH]
        bands = self._bands[sources].astype(">u4")
        return [
            KeyedPage(text, [words.tobytes()])
            for text, words in zip(self._texts[sources].tolist(), bands, strict=True)
        ]


def build(path: Path, made: MadePages, schema: Mapping[str, str | int] = MADE_SCHEMA) -> float:
    """CPU seconds from fingerprinted pages to the finished file."""
    rng = np.random.default_rng(SEED)
    seconds = 0.0
    with (
        ArchiveWriter(path) as writer,
        ArchiveBuilder(
            writer,
            path.parent,
            MEMORY_BYTES,
            [MatchingWriter(path.parent, SKETCH_BYTES, sorting_bytes(MEMORY_BYTES) // 4)],
        ) as builder,
    ):
        for first in range(0, made.count, BATCH):
            batch = made.batch(first)
            sketches = rng.bytes(SKETCH_BYTES * len(batch))
            logged = [
                LoggedPage(url(first + i), url(first + i), 1_790_000_000_000 + 1000 * first)
                for i in range(len(batch))
            ]
            start = time.process_time()
            keys, owners = page_keys(batch)
            ends = np.cumsum(np.bincount(owners)).tolist()
            for i, end in enumerate(ends):
                builder.add(
                    FrozenPage(
                        logged=logged[i],
                        fingerprint=first + i,
                        text_fingerprint=batch[i].text_fingerprint,
                        sketch=sketches[SKETCH_BYTES * i : SKETCH_BYTES * (i + 1)],
                        shingle_count=500 + i,
                        keys=keys[ends[i - 1] if i else 0 : end].tobytes(),
                    )
                )
            seconds += time.process_time() - start
        start = time.process_time()
        builder.finish({"schema": schema})
        return seconds + time.process_time() - start


def url(number: int) -> str:
    """Return a URL of some 70 characters."""
    random = Random(number)
    words = [
        random.choice(("news", "article", "shop", "item", "blog", "about", "review", "forum"))
        for _ in range(4)
    ]
    return f"https://www.site{random.randrange(HOSTS)}.example.com/{'/'.join(words)}/{random.randrange(10**9)}.html"


def ask(index: FrozenIndex, made: MadePages) -> float:
    """CPU seconds from the words of pages to their candidates and the sketches of these, in batches."""
    seconds = 0.0
    for first in range(0, ASKED_PAGES, BATCH):
        batch = made.batch(first)
        start = time.process_time()
        found = index.probe(*page_keys(batch))
        index.sketches(np.unique(found.rows))
        seconds += time.process_time() - start
    return seconds


if __name__ == "__main__":
    main()
