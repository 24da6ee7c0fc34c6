"""Work that ends its process in the way that its request names; for tests of worker processes."""

import ctypes
import mmap
import os
import signal
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from neardup_stream.frames.table import LineHashes
from neardup_stream.message import Record
from neardup_stream.page import Page
from neardup_stream.pipeline.arrival import Prepared
from neardup_stream.pipeline.preparation import OnRecord, Prepares
from neardup_stream.pipeline.worker_main import OnItem, Work

__all__ = ["BadPreparation", "do_bad_work", "load", "load_killed", "load_nothing"]


def load() -> Work:
    return _work


def load_nothing() -> Work:
    raise ValueError("there is nothing to load")


def load_killed(starts: str, times: int) -> Work:
    """Load, unless this is one of the first so many times, which a file counts."""
    with Path(starts).open("ab") as file:
        file.write(b".")
    if Path(starts).stat().st_size <= times:
        os.kill(os.getpid(), signal.SIGKILL)
    return load()


def _work(request: bytes, on_item: OnItem) -> bytes:
    """Do what the request asks for at the item whose place stands before the first colon; else at none."""
    place, _, _ = request.rpartition(b":")
    on_item(int(place) if place else None)
    return do_bad_work(request)


def do_bad_work(request: bytes) -> bytes:
    """Echo the request, unless it asks for something bad."""
    for word, deed in _DEEDS.items():
        if word in request:
            deed()
    return request


def _spin_in_compiled_code() -> None:
    sum(range(1 << 40))


def _be_busy() -> None:
    end = time.process_time() + 0.1
    while time.process_time() < end:
        pass


def _take_memory() -> None:
    taken = []
    while True:
        taken.append(bytes(1 << 24))


def _keep_memory() -> None:
    """Map it: memory that was free in a forked process would not make it grow."""
    _KEPT.append(mmap.mmap(-1, 48 << 20, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS))


def _crash() -> None:
    ctypes.string_at(0)


def _fail() -> None:
    raise ValueError("the library says no")


def _vanish() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _take_parent_along() -> None:
    os.kill(os.getppid(), signal.SIGKILL)
    os.kill(os.getpid(), signal.SIGKILL)


_KEPT: list[mmap.mmap] = []

_DEEDS: dict[bytes, Callable[[], None]] = {
    b"-busy-": _be_busy,
    b"-keep-": _keep_memory,
    b"-spin-": _spin_in_compiled_code,
    b"-grow-": _take_memory,
    b"-crash-": _crash,
    b"-fail-": _fail,
    b"-vanish-": _vanish,
    b"-orphan-": _take_parent_along,
}


class BadPreparation:
    """Prepares as another one does, but does what the values of records ask for, at each of them.

    What stands behind `all:` is done once all are read.
    """

    batches_at_once = 1

    def __init__(self, preparation: Prepares, on_record: OnRecord, *, is_broken: bool = False) -> None:
        self._preparation = preparation
        self._on_record = on_record
        self._is_broken = is_broken  # from the second batch on
        self._count = 0

    def prepare(self, records: Sequence[Record]) -> Prepared:
        for record in records:
            self._on_record(record)
            do_bad_work((record.value or b"").partition(b"all:")[0])
        self._on_record(None)
        for record in records:
            do_bad_work((record.value or b"").partition(b"all:")[2])
        if self._is_broken and self._count > 0:
            raise ValueError("nothing works")
        self._count += 1
        return self._preparation.prepare(records)

    def lines_outside_landmarks(self, page: Page) -> LineHashes | None:
        do_bad_work((page.html or "").encode())
        return self._preparation.lines_outside_landmarks(page)
