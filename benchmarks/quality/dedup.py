"""Run `dedup`, the program as delivered, over pages that are streamed to it, with a server of its own."""

import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from threading import Thread
from typing import IO, NamedTuple

import msgspec

__all__ = ["Duplicate", "InputPage", "find_duplicates"]


class InputPage(msgspec.Struct, frozen=True, omit_defaults=True):
    """A page as `dedup` reads it, with markup or text."""

    id: str
    url: str
    html: str = ""
    text: str = ""


class Duplicate(NamedTuple):
    """An event: a page, the earlier pages that it matches, and how many there are if not all are named."""

    page: str
    matches: list[str]
    total: int


class _Id(msgspec.Struct):
    id: str


class _Data(msgspec.Struct):
    page: _Id
    matches: list[_Id] = []
    matches_total: int = 0


class _Event(msgspec.Struct):
    type: str
    data: msgspec.Raw


class _Cluster(msgspec.Struct):
    members: list[str]


def find_duplicates(
    pages: Iterable[InputPage], settings: Sequence[str], take: Callable[[Duplicate], None]
) -> list[list[str]]:
    """Pass every duplicate event to `take`, in order, and return the clusters at the end.

    Neither pages nor events are kept in memory. `dedup` must report that it read all pages.

    Args:
        pages: in the order to be read; ids are distinct.
        settings: `section.key=value` each.
        take: called for each duplicate event.

    Raises:
        subprocess.CalledProcessError: `dedup` failed.
    """
    with tempfile.TemporaryDirectory() as name:
        clusters, log = Path(name, "clusters.jsonl"), Path(name, "log")
        command = [sys.executable, "-m", "neardup_daemon", "dedup", "-", f"--clusters={clusters}"]
        command += [argument for setting in settings for argument in ("--set", setting)]
        with (
            log.open("wb") as errors,
            subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors
            ) as program,
        ):
            assert program.stdin is not None
            assert program.stdout is not None
            feeder = _Feeder(program.stdin, pages)
            feeder.start()
            for line in program.stdout:
                _take_event(line, take)
            feeder.join()
        report = log.read_text(errors="replace")
        if program.returncode:
            sys.stderr.write(report)
            raise subprocess.CalledProcessError(program.returncode, command)
        assert f"{feeder.count:,} records in" in report, f"fed {feeder.count:,} pages, but: {report}"
        lines = clusters.read_bytes().splitlines()
    return [msgspec.json.decode(line, type=_Cluster).members for line in lines]


class _Feeder(Thread):
    """Writes pages to the program and counts them."""

    def __init__(self, stdin: IO[bytes], pages: Iterable[InputPage]) -> None:
        super().__init__(daemon=True)
        self.count = 0
        self._stdin = stdin
        self._pages = pages

    def run(self) -> None:
        """Write all pages; a program that ended early is reported by its exit status."""
        try:
            with self._stdin:
                for page in self._pages:
                    self._stdin.write(msgspec.json.encode(page) + b"\n")
                    self.count += 1
        except BrokenPipeError:
            pass


def _take_event(line: bytes, take: Callable[[Duplicate], None]) -> None:
    event = msgspec.json.decode(line, type=_Event)
    if event.type == "io.neardup.duplicate.v1":
        data = msgspec.json.decode(event.data, type=_Data)
        take(Duplicate(data.page.id, [match.id for match in data.matches], data.matches_total))
