"""What do the passages of a million pages take, how fast are they found, and which are missed?

    python -m benchmarks.passages [--pages 1048576] [--manuals 300] [--json] [--cache DIR]

First, lists: pages of 100 random hashes, asked with 1,000; times are CPU times of one core, file in memory.
Then, passages: pages of public manuals, of which some are asked about. The truth is every common run of so
many tokens, by comparing windows of whole tokens. Beside it the suffix array of the same tokens
(`pydivsufsort`, where it is installed), which finds every run: by its size and its time.
"""

import argparse
import importlib
import json
import resource
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import groupby
from pathlib import Path
from random import Random

import numpy as np
from neardup_daemon.gc_tuning import collect_rarely
from numpy.typing import NDArray

from benchmarks.quality.manuals import MANUALS
from benchmarks.quality.packages import Package, draw_place, html_files
from neardup_stream.archive.building import ArchiveBuilder, sorting_bytes
from neardup_stream.archive.log_blocks import LoggedPage
from neardup_stream.archive.logged import LoggedArchive
from neardup_stream.archive.pages import FrozenPage
from neardup_stream.archive.parts import PartWriter
from neardup_stream.archive.passage_lists import PassagesWriter
from neardup_stream.archive.passage_reading import PassageLists
from neardup_stream.archive.texts import TextsWriter
from neardup_stream.archive.writing import ArchiveWriter
from neardup_stream.fingerprints.located import locate_tokens
from neardup_stream.fingerprints.selective import stored_recipe
from neardup_stream.indexes.passages import Passage, PassageIndex
from neardup_stream.pipeline.kept_text import keep_text
from neardup_stream.text.markup import visible_text

ROOT = Path(__file__).parents[1]
HASHES = 100
ASKED_HASHES = 1000
ASKINGS = 50
MEMORY_BYTES = 1 << 30
ASKED_PAGES = 100
RUNS = (50, 100)
LEAST = 30
SEED = 5
PARTS = frozenset({"passages", "texts"})

Tokens = NDArray[np.uint64]


@dataclass(frozen=True)
class ListFigures:
    """Of random hashes; times are CPU times of one core."""

    pages: int
    bytes_a_page: float
    build_pages_a_second: float
    build_peak_mib: int
    ms_for_1000_hashes: float
    file_pages_for_1000_hashes: float
    chance_hits: float
    expected_chance_hits: float


@dataclass(frozen=True)
class PassageFigures:
    """Of pages of manuals."""

    pages: int
    tokens_a_page: float
    asked: int
    runs: dict[str, int]
    recall: dict[str, float]
    recall_estimated: dict[str, float]
    precision: float
    precision_estimated: float
    bytes_a_page: float
    text_bytes_a_page: float
    raw_text_bytes_a_page: float
    ms_a_query: float
    suffix_array_bytes_a_page: float | None
    suffix_array_build_seconds: float | None


def main() -> None:
    """Build, check, ask, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--pages", type=int, default=1 << 20)
    parser.add_argument("--manuals", type=int, default=300, help="pages of each manual, at most")
    parser.add_argument("--cache", type=Path, default=ROOT / ".cache" / "quality", help="of packages")
    parser.add_argument("--json", action="store_true", help="one JSON line instead of the table")
    arguments = parser.parse_args()
    collect_rarely()
    with tempfile.TemporaryDirectory() as directory:
        figures = {
            "lists": asdict(measure_lists(arguments.pages, Path(directory))),
            "passages": asdict(
                measure_passages(list(manual_texts(arguments.cache, arguments.manuals)), Path(directory))
            ),
        }
    if arguments.json:
        print(json.dumps(figures))
        return
    for part, values in figures.items():
        for name, value in values.items():
            print(f"{part:>9} {name:<28} {f'{value:,.4g}' if isinstance(value, float) else value}")


def measure_lists(page_count: int, directory: Path) -> ListFigures:
    """Build lists of random hashes and ask them."""
    path = directory / "lists.nda"
    seconds = build_lists(path, page_count)
    archive = LoggedArchive(path)
    lists = PassageLists(archive)
    sections = [section for section in archive.header.sections if section.name.startswith("passages.")]
    known = made_hashes(0, 1)[0]
    found = lists.find(known, page_count)
    assert set(found.queries[found.rows == 0].tolist()) == set(range(HASHES)), "a stored hash was not found"
    rng = np.random.default_rng(SEED + 1)
    touched, spent, hits = [], [], 0
    for _ in range(ASKINGS):
        hashes = rng.integers(0, 2**64, ASKED_HASHES, np.uint64)
        archive.file.seen[1:] = 0
        lists.find(hashes, page_count)
        touched.append(int(archive.file.seen[1:].sum()))
        start = time.process_time()
        hits += lists.find(hashes, page_count).rows.size
        spent.append(time.process_time() - start)
    bits = min(28 + max(0, (page_count - 1).bit_length() - 20), 63)
    return ListFigures(
        pages=page_count,
        bytes_a_page=sum(section.size_bytes for section in sections) / page_count,
        build_pages_a_second=page_count / seconds,
        build_peak_mib=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10,
        ms_for_1000_hashes=1000 * sorted(spent)[ASKINGS // 2],
        file_pages_for_1000_hashes=float(np.mean(touched)),
        chance_hits=hits / ASKINGS,
        expected_chance_hits=ASKED_HASHES * HASHES * page_count / 2**bits,
    )


def made_hashes(first: int, count: int) -> NDArray[np.uint64]:
    """Return the hashes of some pages."""
    return np.random.default_rng([SEED, first]).integers(0, 2**64, (count, HASHES), np.uint64)


def build_lists(path: Path, page_count: int, batch: int = 1 << 14) -> float:
    """Write an archive of lists; return the CPU seconds that the lists took, without the log."""
    part = TimedPassages(path.parent, sorting_bytes(MEMORY_BYTES) // 8, stored_recipe(), page_count)
    with ArchiveWriter(path) as writer, ArchiveBuilder(writer, path.parent, MEMORY_BYTES, [part]) as builder:
        for first in range(0, page_count, batch):
            hashes = made_hashes(first, min(batch, page_count - first))
            for number, own in enumerate(hashes, start=first):
                page = f"https://example.com/{number:09}"
                builder.add(FrozenPage(LoggedPage(page, page, 0), token_count=500, passages=own.tobytes()))
        builder.finish({"schema": {}})
    return part.seconds


class TimedPassages(PassagesWriter):
    """Counts the CPU time that lists take."""

    seconds = 0.0

    def add(self, pages: Sequence[FrozenPage], first_row: int) -> None:
        """The same, timed."""
        start = time.process_time()
        super().add(pages, first_row)
        self.seconds += time.process_time() - start

    def write(self, writer: ArchiveWriter, page_count: int) -> None:
        """The same, timed."""
        start = time.process_time()
        super().write(writer, page_count)
        self.seconds += time.process_time() - start


def manual_texts(cache: Path, most: int) -> Iterator[str]:
    """Yield the visible texts of the manuals' pages, of the newer version of each manual."""
    for manual in MANUALS:
        files = html_files(Package(manual.registry, manual.name, manual.versions[1]), cache)
        for path in sorted(files, key=draw_place)[:most]:
            yield visible_text(files[path])


def measure_passages(texts: Sequence[str], directory: Path) -> PassageFigures:
    """Ask about some of these pages, and compare with all common runs."""
    paths = [directory / "exact.nda", directory / "estimated.nda"]
    tokens = [locate_tokens(text).hashes for text in texts]
    for path, has_texts in zip(paths, (True, False), strict=True):
        build_passages(path, texts, tokens, has_texts=has_texts)
    asked = Random(SEED).sample(range(len(texts)), min(ASKED_PAGES, len(texts)))
    truth = {least: common_runs(tokens, asked, least) for least in RUNS}
    recalls, precisions, spent = [], [], 0.0
    for path in paths:
        index = PassageIndex.open(path)
        found: dict[tuple[int, int], list[tuple[int, int]]] = {}
        right = reported = 0
        start = time.process_time()
        answers = [index.overlaps(texts[number], min_tokens=LEAST) for number in asked]
        spent = spent or time.process_time() - start
        for number, answer in zip(asked, answers, strict=True):
            own = locate_tokens(texts[number])
            for overlap in answer.found:
                other = int(overlap.page.url.rpartition("/")[2])
                spans = [token_span(passage, own.starts, own.ends) for passage in overlap.passages]
                found[number, other] = spans
                if other != number:
                    reported += len(spans)
                    right += sum(holds_half(tokens[number], tokens[other], span) for span in spans)
        recalls.append({least: recall(runs, found) for least, runs in truth.items()})
        precisions.append(right / max(reported, 1))
    suffix_bytes, suffix_seconds = suffix_array(tokens)
    archive = LoggedArchive(paths[0])
    sizes = {section.name: section.size_bytes for section in archive.header.sections}
    return PassageFigures(
        pages=len(texts),
        tokens_a_page=sum(map(len, tokens)) / len(tokens),
        asked=len(asked),
        runs={str(least): len(runs) for least, runs in truth.items()},
        recall={str(least): share for least, share in recalls[0].items()},
        recall_estimated={str(least): share for least, share in recalls[1].items()},
        precision=precisions[0],
        precision_estimated=precisions[1],
        bytes_a_page=sum(size for name, size in sizes.items() if name.startswith("passages.")) / len(texts),
        text_bytes_a_page=sizes["texts.frames"] / len(texts),
        raw_text_bytes_a_page=sum(len(text.encode("utf-8", "replace")) for text in texts) / len(texts),
        ms_a_query=1000 * spent / len(asked),
        suffix_array_bytes_a_page=suffix_bytes and suffix_bytes / len(texts),
        suffix_array_build_seconds=suffix_seconds,
    )


def build_passages(path: Path, texts: Sequence[str], tokens: Sequence[Tokens], *, has_texts: bool) -> None:
    sorting = sorting_bytes(MEMORY_BYTES)
    parts: list[PartWriter] = [
        PassagesWriter(path.parent, sorting // 8, stored_recipe()),
        TextsWriter(path.parent),
    ]
    with (
        ArchiveWriter(path) as writer,
        ArchiveBuilder(writer, path.parent, MEMORY_BYTES, parts[: 1 + has_texts]) as builder,
    ):
        for number, (text, own) in enumerate(zip(texts, tokens, strict=True)):
            page = f"https://example.com/{number}"
            kept = keep_text(text, own, PARTS)
            builder.add(FrozenPage(LoggedPage(page, page, 0), **kept._asdict()))
        builder.finish({"schema": {}})


def common_runs(
    tokens: Sequence[Tokens], asked: Sequence[int], least: int
) -> list[tuple[int, int, int, int]]:
    """Page asked about, other page, first token and the one behind of every common run: the truth."""
    places: dict[bytes, set[int]] = defaultdict(set)
    wanted = {bytes(each) for number in asked for each in windows_of(tokens[number], least)}
    for number, own in enumerate(tokens):
        for each in windows_of(own, least):
            if (key := bytes(each)) in wanted:
                places[key].add(number)
    runs = []
    for number in asked:
        pairs = [
            (other, start)
            for start, each in enumerate(windows_of(tokens[number], least))
            for other in places[bytes(each)]
            if other != number
        ]
        pairs.sort()
        for (other, _), group in groupby(enumerate(pairs), lambda each: (each[1][0], each[1][1] - each[0])):
            starts = [start for _, (_, start) in group]
            runs.append((number, other, starts[0], starts[-1] + least))
    return runs


def windows_of(tokens: Tokens, size: int) -> Iterator[NDArray[np.uint64]]:
    """Return all runs of so many tokens."""
    return (tokens[start : start + size] for start in range(tokens.size - size + 1))


def token_span(passage: Passage, starts: NDArray[np.int64], ends: NDArray[np.int64]) -> tuple[int, int]:
    """Return the first token of a passage and the one behind it."""
    return int(np.searchsorted(starts, passage.start)), int(np.searchsorted(ends, passage.end)) + 1


def recall(
    runs: Sequence[tuple[int, int, int, int]], found: dict[tuple[int, int], list[tuple[int, int]]]
) -> float:
    """Return the share of the runs of which a passage has a part."""
    met = sum(
        any(start < run_end and run_start < end for start, end in found.get((number, other), ()))
        for number, other, run_start, run_end in runs
    )
    return met / max(len(runs), 1)


def holds_half(own: Tokens, other: Tokens, span: tuple[int, int]) -> bool:
    """Return whether a run of half the length of a passage is on the other page."""
    size = max(1, (span[1] - span[0]) // 2)
    theirs = {bytes(each) for each in windows_of(other, size)}
    return any(bytes(each) in theirs for each in windows_of(own[span[0] : span[1]], size))


def suffix_array(tokens: Sequence[Tokens]) -> tuple[float | None, float | None]:
    """Bytes and CPU seconds of the suffix array of all tokens; None where the package is not installed."""
    try:
        divsufsort = importlib.import_module("pydivsufsort").divsufsort
    except ImportError:
        print("pydivsufsort is not installed: pip install pydivsufsort", file=sys.stderr)
        return None, None
    _, numbers = np.unique(np.concatenate(tokens), return_inverse=True)
    sequence = numbers.astype(np.int32)
    start = time.process_time()
    array = divsufsort(sequence)
    return float(array.nbytes + sequence.nbytes), time.process_time() - start


if __name__ == "__main__":
    main()
