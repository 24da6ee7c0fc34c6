"""Show the progress of long work: on standard error, and on a terminal only."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from neardup_stream.streams.files.outputs import STANDARD_OUTPUT

__all__ = ["OnPart", "count_progress", "part_progress", "share_progress", "unseen", "working"]

OnPart = Callable[[str, int, int], None]
"""Receives the name of the work, how much of it is done, and of how much."""


@contextmanager
def count_progress(of: str, output: str | None = None) -> Iterator[Callable[[int], None] | None]:
    """Yield a function to call with how many pages or records are done so far; None without a terminal.

    Args:
        of: what is counted.
        output: where the command writes meanwhile; lines to a terminal are progress enough.
    """
    if not sys.stderr.isatty() or (output == STANDARD_OUTPUT and sys.stdout.isatty()):
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
def share_progress(on: str) -> Iterator[Callable[[int, int], None] | None]:
    """Yield a function to call with the number of parts done, and of all parts; None without a terminal."""
    if not sys.stderr.isatty():
        yield None
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
        yield unseen
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
    """Show nothing: there is no terminal."""
