"""What do the stores cost a page: this process and Redis, by kind of call?

    python -m benchmarks.stores [--stored 100000] [--beside CHECKOUT] [--rounds 10] [--json]

Generated pages, one in five a near copy of an earlier one, are registered, probed and inserted, fetched,
decided, ranked and trimmed in batches of 512, on a Redis of their own that holds so many pages before. Each
answer is checked. CPU time is counted, so a busy machine matters less; with `--beside`, the stores of another
checkout of this project take turns with those of this one, over the same pages, and the ratios say more than
the figures. Figures are medians over the rounds.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path

from rich.console import Console
from rich.table import Table

CHUNK_PAGES = 5_120
SIDE = Path(__file__).with_name("stores_side.py")
HERE = SIDE.parent.parent

Figures = Mapping[str, tuple[float, float]]
"""By kind of call, microseconds a page of the client and of Redis."""


def main() -> None:
    """Measure, and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--stored", type=int, default=100_000)
    parser.add_argument("--beside", type=Path, help="another checkout")
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--json", action="store_true", help="one JSON line instead of the table")
    arguments = parser.parse_args()
    checkouts = {"before": arguments.beside} if arguments.beside else {}
    figures = measure({**checkouts, "here": HERE}, arguments.stored, arguments.rounds)
    if arguments.json:
        print(json.dumps({"stored": arguments.stored, **figures}))
    else:
        print_table(arguments.stored, figures)


def measure(checkouts: Mapping[str, Path], stored: int, rounds: int) -> dict[str, Figures]:
    """Let the checkouts take turns; the medians of each."""
    with ExitStack() as stack:
        sides = {name: stack.enter_context(_started(path, stored)) for name, path in checkouts.items()}
        stored_bytes = {name: _answer(side)["bytes"][0] for name, side in sides.items()}
        runs: dict[str, list[dict[str, list[float]]]] = {name: [] for name in sides}
        for _ in range(rounds):
            for name, side in sides.items():
                assert side.stdin is not None
                side.stdin.write("\n")
                side.stdin.flush()
                runs[name].append(_answer(side))
        for side in sides.values():
            assert side.stdin is not None
            side.stdin.close()
            side.wait()
    return {
        name: {**_medians(runs[name]), "bytes stored": (0.0, stored_bytes[name] / stored)} for name in sides
    }


def _started(checkout: Path, stored: int) -> subprocess.Popen[str]:
    paths = os.pathsep.join((str(checkout), str(checkout / "daemon")))
    return subprocess.Popen(
        [sys.executable, str(SIDE), "--stored", str(stored), "--chunk", str(CHUNK_PAGES)],
        env={**os.environ, "PYTHONPATH": paths},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def _answer(side: subprocess.Popen[str]) -> dict[str, list[float]]:
    assert side.stdout is not None
    line = side.stdout.readline()
    if not line:
        raise SystemExit("a process that drives the stores failed; its error is above")
    answer: dict[str, list[float]] = json.loads(line)
    return answer


def _medians(runs: list[dict[str, list[float]]]) -> dict[str, tuple[float, float]]:
    medians = {
        kind: (
            statistics.median(run[kind][0] for run in runs),
            statistics.median(run[kind][1] for run in runs),
        )
        for kind in runs[0]
    }
    total = tuple(
        statistics.median(sum(pair[side] for pair in run.values()) for run in runs) for side in (0, 1)
    )
    return {**medians, "all": (total[0], total[1])}


def print_table(stored: int, figures: Mapping[str, Figures]) -> None:
    """Side by side, with the ratio of the last to the first."""
    table = Table(title=f"CPU µs a page, {stored:,} pages stored", title_justify="left")
    table.add_column("calls", no_wrap=True)
    for name in [*figures, *["ratio"] * (len(figures) > 1)]:
        table.add_column(f"{name}:\nclient", justify="right")
        table.add_column("\nRedis", justify="right")
    for kind in next(iter(figures.values())):
        pairs = [each[kind] for each in figures.values()]
        cells = [f"{value:,.1f}" for pair in pairs for value in pair]
        if len(pairs) > 1:
            cells += [f"{pairs[-1][at] / pairs[0][at]:.2f}" if pairs[0][at] else "" for at in (0, 1)]
        table.add_row(kind, *cells)
    Console().print(table)


if __name__ == "__main__":
    main()
