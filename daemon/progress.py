"""How far long work has come: on standard error, and on a terminal only."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

__all__ = ["page_progress", "share_progress", "working"]


@contextmanager
def page_progress() -> Iterator[Callable[[int], None] | None]:
    """A function to be told the number of pages done so far; None where nobody would see it."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console  # noqa: PLC0415 - only a terminal wants it
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn  # noqa: PLC0415 - the same

    columns = (
        SpinnerColumn(),
        TextColumn("{task.completed:,} pages, {task.fields[rate]:,.0f} a second"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("pages", total=None, rate=0.0)
        # The speed is not known before the second update.
        yield lambda count: progress.update(task, completed=count, rate=progress.tasks[0].speed or 0.0)


@contextmanager
def share_progress(on: str) -> Iterator[Callable[[int, int], None] | None]:
    """A function to be told how many parts are done, of how many; None where nobody would see it."""
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
    """Say what is being worked on, where somebody would see it; it disappears when that is done."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console  # noqa: PLC0415 - only a terminal wants it

    with Console(stderr=True).status(on):
        yield
