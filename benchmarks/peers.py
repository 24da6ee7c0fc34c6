"""How fast is `dedup` in memory beside libraries that keep MinHash in memory, and how much do they find?

    python -m benchmarks.peers [--pages 20000] [--rounds 3] [--only gaoya,rensa] [--json]

Pages of 500 words of a made-up language, of which 15 % are copies with 5, 10 or 20 edited words, are written
to a file of JSON Lines. Each program reads it in a process of its own, start-up included; the programs take
turns. The peers (gaoya, rensa, datasketch, from PyPI in `.cache/peers`) only report pairs; `dedup` also
verifies them, clusters pages, decides what each page is, and writes events. What each has found is compared
with the truth before a figure is printed.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import venv
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final, NamedTuple

import msgspec
import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks.quality.edits import PAGE_WORDS, Vocabulary, edited_pages
from benchmarks.timed_programs import Spent, adopt_orphans, event_pairs, run_timed

ROOT: Final = Path(__file__).parents[1]
PEERS: Final = ("gaoya", "gaoya-bulk", "rensa", "rensa-words", "datasketch")
PACKAGES: Final = ("gaoya", "rensa", "datasketch")
WORKERS: Final = (1, 2)
EDITED_WORDS: Final = (5, 10, 20)
COPIES: Final = 0.05
"""Share of the pages for each number of edited words."""

OURS_FIND: Final = {5: 1.0, 10: 1.0, 20: 0.99}
SEED: Final = 5


class Corpus(NamedTuple):
    """A file of pages.

    Attributes:
        path: of the file.
        page_count: how many there are.
        copies: which page is a copy of which, by the number of edited words.
    """

    path: Path
    page_count: int
    copies: dict[int, dict[int, int]]


class Run(NamedTuple):
    """One run of one program, and the pairs that it found."""

    spent: Spent
    found: set[tuple[int, int]]


@dataclass(frozen=True)
class Figures:
    """What was measured of one program: medians over the rounds.

    Attributes:
        pages_per_second: wall clock, start-up included.
        cpu_us: CPU time a page, of all processes, start-up included.
        recall: of the copies, by the number of edited words.
        false_pairs: pairs found that are no copies.
    """

    pages_per_second: float
    cpu_us: float
    recall: dict[int, float]
    false_pairs: int


def main() -> None:
    """Make the pages, run all programs in turns, print them side by side."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pages", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", default=",".join(PEERS), help="peers, with commas between them")
    parser.add_argument("--json", action="store_true", help="one JSON line instead of the table")
    arguments = parser.parse_args()
    peers = [name for name in arguments.only.split(",") if name]
    with tempfile.TemporaryDirectory() as folder:
        figures = measure(arguments.pages, arguments.rounds, peers, Path(folder))
    load = os.getloadavg()[0]
    if arguments.json:
        named = {name: asdict(each) for name, each in figures.items()}
        print(json.dumps({"pages": arguments.pages, "load": load, **named}))
    else:
        print_table(arguments.pages, figures, load)


def measure(page_count: int, round_count: int, peers: Sequence[str], folder: Path) -> dict[str, Figures]:
    """Run every program on the same pages, taking turns; the first turn warms up and is not counted."""
    adopt_orphans()
    corpus = write_corpus(page_count, folder)
    python = _environment(PACKAGES)
    commands = {f"dedup, {count} workers": _dedup(corpus, count, folder) for count in WORKERS}
    programs = Path(__file__).with_name("peer_programs.py")
    for name in peers:
        commands[name] = [str(python), str(programs), name, str(corpus.path), str(folder / "found")]
    runs: defaultdict[str, list[Run]] = defaultdict(list)
    for turn in range(round_count + 1):
        for name, command in commands.items():
            run = _run(command, folder / "found", is_ours=name.startswith("dedup"))
            if turn:
                runs[name].append(run)
    figures = {name: _figures(corpus, each) for name, each in runs.items()}
    for name, each in figures.items():
        if name.startswith("dedup"):
            lacking = {
                words: each.recall[words] for words, least in OURS_FIND.items() if each.recall[words] < least
            }
            assert not lacking, f"{name}: recall {lacking}"
            assert not each.false_pairs, f"{name}: {each.false_pairs} false pairs"
    return figures


def write_corpus(page_count: int, folder: Path) -> Corpus:
    """Originals first, then their copies."""
    rng = np.random.default_rng(SEED)
    vocabulary = Vocabulary.make(rng)
    copy_count = round(COPIES * page_count)
    originals = vocabulary.draw(rng, page_count - copy_count * len(EDITED_WORDS), PAGE_WORDS)
    texts = vocabulary.write(originals)
    copies: dict[int, dict[int, int]] = {}
    for turn, words in enumerate(EDITED_WORDS):
        first = turn * copy_count
        copies[words] = {len(texts) + at: first + at for at in range(copy_count)}
        texts += vocabulary.write(edited_pages(originals[first : first + copy_count], words, vocabulary, rng))
    path = folder / "pages.jsonl"
    with path.open("wb") as file:
        for number, text in enumerate(texts):
            page = {"id": str(number), "url": f"https://site-{number % 100}.example/{number}", "text": text}
            file.write(msgspec.json.encode(page) + b"\n")
    return Corpus(path, len(texts), copies)


def _environment(packages: Sequence[str]) -> Path:
    """Return the Python of the peers' own environment, made at the first call."""
    folder = ROOT / ".cache" / "peers"
    python = folder / "bin" / "python"
    if not python.exists():
        venv.create(folder, with_pip=True)
    subprocess.run([str(python), "-m", "pip", "install", "--quiet", *packages], check=True)
    return python


def _dedup(corpus: Corpus, workers: int, folder: Path) -> list[str]:
    command = [sys.executable, "-m", "neardup_daemon", "dedup", str(corpus.path)]
    return [*command, "--events", str(folder / "found"), "--workers", str(workers)]


def _run(command: Sequence[str], found: Path, *, is_ours: bool) -> Run:
    spent = run_timed(command)
    if is_ours:
        return Run(spent, {(int(one), int(other)) for one, other in event_pairs(found)})
    return Run(spent, {_pair(line) for line in found.read_bytes().splitlines()})


def _pair(line: bytes) -> tuple[int, int]:
    one, other = line.split()
    return int(one), int(other)


def _figures(corpus: Corpus, runs: Sequence[Run]) -> Figures:
    originals = {copy: original for made in corpus.copies.values() for copy, original in made.items()}
    found = runs[0].found
    families = {(one, other) for one, other in found if _source(originals, one) == _source(originals, other)}
    recall = {
        words: sum((copy, original) in found for copy, original in made.items()) / len(made)
        for words, made in corpus.copies.items()
    }
    return Figures(
        pages_per_second=corpus.page_count / statistics.median(run.spent.seconds for run in runs),
        cpu_us=1e6 * statistics.median(run.spent.cpu_seconds for run in runs) / corpus.page_count,
        recall=recall,
        false_pairs=len(found - families),
    )


def _source(originals: dict[int, int], page: int) -> int:
    return originals.get(page, page)


def print_table(page_count: int, figures: dict[str, Figures], load: float) -> None:
    """One row a program."""
    table = Table(title=f"{page_count:,} pages of {PAGE_WORDS} words, start-up included; load {load:.1f}")
    for title in (
        "program",
        "pages/s",
        "CPU µs a page",
        *(f"recall at {words}" for words in EDITED_WORDS),
        "false",
    ):
        table.add_column(title, justify="left" if title == "program" else "right")
    for name, each in figures.items():
        recalls = [f"{each.recall[words]:.3f}" for words in EDITED_WORDS]
        table.add_row(
            name, f"{each.pages_per_second:,.0f}", f"{each.cpu_us:.0f}", *recalls, f"{each.false_pairs:,}"
        )
    Console().print(table)


if __name__ == "__main__":
    main()
