"""Show the progress of long work on a terminal; write a line now and then elsewhere."""

import logging
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from time import monotonic
from typing import Final

from neardup_daemon.logs import are_for_collectors, log_event
from neardup_stream.streams.files.outputs import STANDARD_OUTPUT

__all__ = [
    "LOG_INTERVAL_SECONDS",
    "OnPart",
    "ProgressLog",
    "count_progress",
    "part_progress",
    "share_progress",
    "unseen",
    "working",
]

OnPart = Callable[[str, int, int], None]
"""Receives the name of the work, how much of it is done, and of how much."""

LOG_INTERVAL_SECONDS: Final = 30
_logger = logging.getLogger(__name__)


class ProgressLog:
    """Writes how far the work is, at most once in `LOG_INTERVAL_SECONDS`, and not before they are over.

    It is the log event `work_progressed` for log collectors, else a line of text.
    """

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._due_seconds = clock() + LOG_INTERVAL_SECONDS

    def report(self, work: str, done: int, total: int | None = None) -> None:
        """Say how much of the work is done, and of how much where that is known."""
        now = self._clock()
        if now < self._due_seconds:
            return
        self._due_seconds = now + LOG_INTERVAL_SECONDS
        if are_for_collectors():
            known = {} if total is None else {"total": total}
            log_event(_logger, "work_progressed", work=work, done=done, **known)
            return
        share = f"{done:,}" if total is None else f"{done:,} of {total:,}"
        with suppress(OSError):
            sys.stderr.write(f"{work}: {share}\n")


@contextmanager
def count_progress(of: str, output: str | None = None) -> Iterator[Callable[[int], None] | None]:
    """Yield a function to call with how many pages or records are done so far; None to show none.

    Args:
        of: what is counted.
        output: where the command writes meanwhile; lines to a terminal are progress enough.
    """
    if not sys.stderr.isatty():
        yield partial(ProgressLog().report, of)
        return
    if output == STANDARD_OUTPUT and sys.stdout.isatty():
        yield None
        return
    from rich.console import Console  # noqa: PLC0415 - only a terminal wants it
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn  # noqa: PLC0415 - the same

    columns = (
        SpinnerColumn(),
        TextColumn("{task.completed:,} {task.description}, {task.fields[rate]:,.0f} a second"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(of, total=None, rate=0.0)
        # The speed is not known before the second update.
        yield lambda count: progress.update(task, completed=count, rate=progress.tasks[0].speed or 0.0)


@contextmanager
def share_progress(on: str) -> Iterator[Callable[[int, int], None]]:
    """Yield a function to call with the number of parts done, and of all parts."""
    if not sys.stderr.isatty():
        yield partial(ProgressLog().report, on)
        return
    from rich.console import Console  # noqa: PLC0415 - only a terminal wants it
    from rich.progress import Progress  # noqa: PLC0415 - the same

    with Progress(console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(on, total=None)
        yield lambda done, total: progress.update(task, completed=done, total=total)


@contextmanager
def working(on: str) -> Iterator[None]:
    """Show the name of the work on a terminal until it is done."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console  # noqa: PLC0415 - only a terminal wants it

    with Console(stderr=True).status(on):
        yield


@contextmanager
def part_progress() -> Iterator[OnPart]:
    """Yield a function that shows the progress, with one bar for each kind of work."""
    if not sys.stderr.isatty():
        yield ProgressLog().report
        return
    from rich.console import Console  # noqa: PLC0415 - only a terminal wants it
    from rich.progress import Progress, TaskID  # noqa: PLC0415 - the same

    with Progress(console=Console(stderr=True), transient=True) as progress:
        tasks: dict[str, TaskID] = {}

        def on_part(name: str, done: int, total: int) -> None:
            if name not in tasks:
                tasks[name] = progress.add_task(name, total=total)
            progress.update(tasks[name], completed=done, total=total)

        yield on_part


def unseen(_name: str, _done: int, _total: int) -> None:
    """Show nothing."""
