"""Two daemons, each with a page of its own in flight at the same step."""

import signal
import time
from collections.abc import Sequence
from contextlib import ExitStack

from neardup_stream.message import Message
from tests.chaos.arena import Arena
from tests.chaos.fleet import serving
from tests.chaos.judging import wait_until_quiet
from tests.pipelines import page_json
from tests.servers.daemon import Daemon
from tests.servers.process import wait_until

__all__ = ["MEETING_POINTS", "meet", "page"]

MEETING_POINTS = (
    "before records.replace",
    "before index.probe_and_insert",
    "after index.probe_and_insert",
    "before cluster_store.commit",
    "after cluster_store.commit",
    "before source.commit",
)
"""Where two pages in flight may stand beside each other."""

_STEP_SECONDS = 180


def meet(arena: Arena, pages: Sequence[Message], point: str, still_seconds: float) -> None:
    """Process each page by a daemon of its own; all are paused at this point before any resumes.

    Args:
        arena: with one partition for each page.
        pages: one for each partition.
        point: where they stand.
        still_seconds: for how long. Past the session timeout, each is read again by the first one to resume.
    """
    settings = [*arena.settings, f"failpoints.stop={point}"]
    with ExitStack() as stack:
        daemons = serving(stack, settings, len(pages))
        wait_until(lambda: all(_partition_count(each) == 1 for each in daemons), _STEP_SECONDS)
        arena.place(dict(enumerate(pages)))
        wait_until(lambda: all(each.is_paused() for each in daemons), _STEP_SECONDS)
        time.sleep(still_seconds)
        for daemon in daemons:
            daemon.signal(signal.SIGCONT)
        wait_until_quiet(arena.settings, _STEP_SECONDS)
        assert [daemon.stop() for daemon in daemons] == [0] * len(daemons)


def page(name: str, text: str) -> Message:
    """Return the record of a page, with its name as the key."""
    return Message(key=name.encode(), value=page_json(name, text))


def _partition_count(daemon: Daemon) -> int:
    return sum(name.startswith("neardup_lag_records") for name in daemon.metrics())
