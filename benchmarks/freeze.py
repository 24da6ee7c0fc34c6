"""How many text pages a second does `freeze` take, and what does each of its processes cost?

    python -m benchmarks.freeze [--texts 50000] [--hosts 1] [--rounds 3] [--json]

`freeze` runs over JSON Lines of 3.5 KB texts as a process, with one worker and with two in turns. Their
archives must be equal, byte for byte, and hold every page. Of few hosts the frames are known soon; with
hundreds, every page is compared with the latest ones of its host. CPU times are those of each process, those
of an input of one page taken off: the machine may be busy. What two free cores would do follows from them.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path

import msgspec
from rich.console import Console
from rich.table import Table

from benchmarks.crawls import text_pages
from benchmarks.timed_programs import adopt_orphans
from neardup_stream.archive.frozen import FrozenIndex

WORKERS = (1, 2)
CORES = 2
PARAGRAPH_WORDS = 60
TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Figures:
    """What was measured with so many workers, medians over the rounds.

    Attributes:
        pages_a_second: on this machine as busy as it was, start-up included.
        pages_a_second_after_start: the same without the time of a run with one page.
        start_wall_seconds: the time of a run with one page.
        main_us: CPU of the process that builds the archive, a page.
        workers_us: CPU of all workers, and of loading those after the first, a page.
        busiest_us: CPU of the process that has most, a page.
        two_cores_pages_a_second: what two free cores would do without start-up: limited by the busiest
            process, and by both cores.
        start_seconds: CPU before the first page, of all processes.
        peak_mib: of the largest process.
    """

    pages_a_second: float
    pages_a_second_after_start: float
    start_wall_seconds: float
    main_us: float
    workers_us: float
    busiest_us: float
    two_cores_pages_a_second: float
    start_seconds: float
    peak_mib: float


@dataclass(frozen=True)
class Run:
    """One run: seconds, CPU seconds of the main process and of the processes of its workers, and MiB."""

    seconds: float
    main: float
    workers: Sequence[float]
    peak_mib: float


def main() -> None:
    """Write the pages, freeze them in turns, check, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--texts", type=int, default=50_000)
    parser.add_argument("--hosts", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", action="store_true", help="one JSON line instead of the table")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        figures = measure(arguments.texts, arguments.hosts, arguments.rounds, Path(directory))
    if arguments.json:
        shown = {f"{workers}_workers": asdict(each) for workers, each in figures.items()}
        print(json.dumps({"texts": arguments.texts, "hosts": arguments.hosts, **shown}))
    else:
        print_table(arguments.texts, arguments.hosts, figures)


def measure(text_count: int, host_count: int, round_count: int, directory: Path) -> dict[int, Figures]:
    """Return the figures for each number of workers."""
    adopt_orphans()
    crawl, one = directory / "crawl.jsonl", directory / "one.jsonl"
    write_pages(crawl, text_count, host_count)
    write_pages(one, 1, 1)
    freeze(one, 1)  # compiles what is not compiled yet
    start = freeze(one, 1)
    runs: dict[int, list[Run]] = {workers: [] for workers in WORKERS}
    archives: set[bytes] = set()
    for _ in range(round_count):
        for workers, of_workers in runs.items():
            of_workers.append(freeze(crawl, workers))
            archives.add(archive_of(crawl).read_bytes())
    assert len(archives) == 1, "the archive depends on the number of workers"
    index = FrozenIndex(archive_of(crawl))
    index.file.check_all()
    assert index.header.page_count == text_count
    return {workers: medians(of_workers, start, text_count, workers) for workers, of_workers in runs.items()}


def write_pages(path: Path, count: int, host_count: int) -> None:
    """Write pages, in turns of each host."""
    with path.open("wb") as file:
        for number, page in enumerate(islice(text_pages(count), count)):
            url = f"https://site{number % host_count}.example/{number}"
            file.write(msgspec.json.encode({"url": url, "text": in_paragraphs(page.text)}) + b"\n")


def in_paragraphs(text: str) -> str:
    """Return a text in lines, as most texts are: no frame is looked for in a text of one line."""
    words = text.split()
    return "\n".join(
        " ".join(words[start : start + PARAGRAPH_WORDS]) for start in range(0, len(words), PARAGRAPH_WORDS)
    )


def archive_of(crawl: Path) -> Path:
    """Return where a crawl is frozen to."""
    return crawl.with_suffix(".nda")


def freeze(crawl: Path, workers: int) -> Run:
    """Freeze a crawl, and wait for every process."""
    command = [*(sys.executable, "-m", "neardup_daemon", "freeze", str(crawl), "-o", str(archive_of(crawl)))]
    start = time.perf_counter()
    process = subprocess.Popen([*command, "--force", "--workers", str(workers)], stderr=subprocess.DEVNULL)
    main, of_workers, peak, seconds = 0.0, [], 0.0, 0.0
    while True:
        try:
            ended = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOWAIT)
        except ChildProcessError:
            break
        assert ended is not None
        own, of_children = cpu_seconds(ended.si_pid)
        _, status, usage = os.wait4(ended.si_pid, 0)
        peak = max(peak, usage.ru_maxrss / 1024)
        if ended.si_pid == process.pid:
            assert os.waitstatus_to_exitcode(status) == 0
            main, seconds = own, time.perf_counter() - start
            process.returncode = 0
            of_workers.append(of_children)  # whichever it has waited for itself
        else:
            of_workers.append(own + of_children)
    return Run(seconds, main, of_workers, peak)


def cpu_seconds(pid: int) -> tuple[float, float]:
    """Return the CPU time of a process that has ended, and of the processes that it has waited for."""
    stat = Path(f"/proc/{pid}/stat").read_text(encoding="ascii")
    user, system, of_children, system_of_children = map(int, stat.rpartition(")")[2].split()[11:15])
    return (user + system) / TICKS_PER_SECOND, (of_children + system_of_children) / TICKS_PER_SECOND


def medians(runs: Sequence[Run], start: Run, count: int, worker_count: int) -> Figures:
    """Return the figures of some runs, without the CPU time of a run with one page."""
    main = statistics.median(run.main for run in runs) - start.main
    workers = statistics.median(sum(run.workers) for run in runs) - sum(start.workers)
    busiest = max(main, workers / worker_count)
    seconds = statistics.median(run.seconds for run in runs)
    return Figures(
        pages_a_second=count / seconds,
        pages_a_second_after_start=count / (seconds - start.seconds),
        start_wall_seconds=start.seconds,
        main_us=1e6 * main / count,
        workers_us=1e6 * workers / count,
        busiest_us=1e6 * busiest / count,
        two_cores_pages_a_second=count / max(busiest, (main + workers) / CORES),
        start_seconds=start.main + sum(start.workers),
        peak_mib=max(run.peak_mib for run in runs),
    )


def print_table(text_count: int, host_count: int, figures: dict[int, Figures]) -> None:
    """Print them side by side."""
    table = Table(title=f"freeze, {text_count:,} texts of {host_count:,} hosts", title_justify="left")
    table.add_column("figure")
    for workers in figures:
        table.add_column(f"{workers} workers", justify="right")
    for name in asdict(next(iter(figures.values()))):
        table.add_row(name.replace("_", " "), *(f"{getattr(each, name):,.1f}" for each in figures.values()))
    Console().print(table)


if __name__ == "__main__":
    main()
