"""How long does `find-all` take for a million hashes, and how much memory?

Usage: python -m benchmarks.find_all [--hashes 1000000] [--runs 5] [--json]

A tenth of the hashes lie within 3 bits of another. The answer is checked first. Each run is a process of
its own, start-up, reading and writing included. Machines differ, and so does what else they do: the time
to sort as many random words, measured between the runs, shows how fast this one is now.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import NamedTuple

import numpy as np

from neardup_stream.bits.words import Words

BLOCKS, DISTANCE_BITS = 6, 3

STOPWATCH = """
import os, sys, time
start = time.perf_counter()
pid = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ)
_, status, usage = os.wait4(pid, 0)
print(time.perf_counter() - start, usage.ru_maxrss)
sys.exit(os.waitstatus_to_exitcode(status))
"""


class Case(NamedTuple):
    """An input, and the words in it that must be found together."""

    name: str
    words: Words
    distance_bits: int
    originals: Words
    copies: Words


class Run(NamedTuple):
    """What one process took."""

    wall_seconds: float
    peak_bytes: int


def main() -> None:
    """Build the inputs, check the answers, measure, print."""
    arguments = parsed_arguments()
    rng = np.random.default_rng(arguments.seed)
    cases = [
        planted(arguments.hashes, rng),
        hot_bucket(arguments.hashes // 5, rng),
        Case(
            "start-up",
            rng.integers(0, 2**64, 10, dtype=np.uint64),
            DISTANCE_BITS,
            *np.empty((2, 0), np.uint64),
        ),
    ]
    report = {
        "benchmark": "find_all",
        "machine": f"{platform.machine()}, {os.cpu_count()} processors, Python {platform.python_version()}",
        "numpy_sort_seconds": median(sort_seconds(arguments.hashes, rng) for _ in range(arguments.runs)),
    }
    with tempfile.TemporaryDirectory() as folder:
        for case in cases:
            report[case.name] = measured(case, Path(folder), arguments.runs)
    show = print_json if arguments.json else print_table
    show(report)


def parsed_arguments() -> argparse.Namespace:
    """Return the parsed command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--hashes", type=int, default=1_000_000)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", action="store_true", help="one line, to be kept")
    return parser.parse_args()


def planted(count: int, rng: np.random.Generator) -> Case:
    """Random words, a tenth of them a copy of another with up to three bits flipped."""
    originals = rng.integers(0, 2**64, count - count // 10, dtype=np.uint64)
    copies = originals[: count // 10].copy()
    for _ in range(DISTANCE_BITS):
        copies ^= np.uint64(1) << rng.integers(0, 64, copies.size).astype(np.uint64)
    words = rng.permutation(np.concatenate([originals, copies]))
    return Case("planted", words, DISTANCE_BITS, originals[: count // 10], copies)


def hot_bucket(count: int, rng: np.random.Generator) -> Case:
    """Return words that share their leading 40 bits; a few have a copy with one bit flipped."""
    words = np.uint64(0xABCDEF1234 << 24) | rng.integers(0, 2**24, count, dtype=np.uint64)
    copies = words[:1000] ^ np.uint64(1)
    return Case("hot bucket", np.concatenate([words, copies]), 1, words[:1000], copies)


def sort_seconds(count: int, rng: np.random.Generator) -> float:
    """Time to sort `count` random words."""
    words = rng.integers(0, 2**64, count, dtype=np.uint64)
    start = perf_counter()
    words.sort()
    return perf_counter() - start


def measured(case: Case, folder: Path, runs: int) -> dict[str, float]:
    """Check the answer once, which also warms the file cache; then time the process `runs` times."""
    source, target = folder / "hashes", folder / "pairs"
    source.write_text("".join(f"{word}\n" for word in case.words.tolist()))
    find_all(source, target, case.distance_bits)
    assert_found(case, target)
    done = [find_all(source, target, case.distance_bits) for _ in range(runs)]
    return {
        "hashes": case.words.size,
        "distance_bits": case.distance_bits,
        "pairs": len(target.read_text().splitlines()),
        "median_seconds": median(run.wall_seconds for run in done),
        "least_seconds": min(run.wall_seconds for run in done),
        "peak_bytes": max(run.peak_bytes for run in done),
    }


def find_all(source: Path, target: Path, distance_bits: int) -> Run:
    """Run the command once, from a small process: a peak counts from that of the process that forks."""
    options = ["-b", str(BLOCKS), "-d", str(distance_bits), "-i", str(source), "-o", str(target)]
    command = [sys.executable, "-m", "neardup_daemon", "find-all", *options]
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", STOPWATCH, *command], check=True, capture_output=True, text=True
    )
    wall_seconds, peak_kib = done.stdout.split()
    return Run(float(wall_seconds), int(peak_kib) * 1024)


def assert_found(case: Case, target: Path) -> None:
    """Every planted pair is in the answer, and every pair of the answer is within the distance."""
    pairs = {tuple(json.loads(line)) for line in target.read_text().splitlines()}
    expected = {
        (min(pair), max(pair))
        for pair in zip(case.originals.tolist(), case.copies.tolist(), strict=True)
        if pair[0] != pair[1]
    }
    assert expected <= pairs, f"{len(expected - pairs)} planted pairs are missing"
    assert all((left ^ right).bit_count() <= case.distance_bits for left, right in pairs)


def print_json(report: dict[str, object]) -> None:
    """One line."""
    print(json.dumps(report))


def print_table(report: dict[str, object]) -> None:
    """For people."""
    print(report["machine"])
    print(f"numpy.sort of as many words: {report['numpy_sort_seconds']:.3f} s\n")
    print(f"{'input':<12}{'hashes':>10}{'bits':>6}{'pairs':>9}{'median s':>10}{'least s':>9}{'peak MB':>9}")
    for name, row in report.items():
        if isinstance(row, dict):
            print(
                f"{name:<12}{row['hashes']:>10,}{row['distance_bits']:>6}{row['pairs']:>9,}"
                f"{row['median_seconds']:>10.2f}{row['least_seconds']:>9.2f}{row['peak_bytes'] / 1e6:>9.0f}"
            )


if __name__ == "__main__":
    main()
