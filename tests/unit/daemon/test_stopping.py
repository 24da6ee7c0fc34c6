"""A second signal cuts a block short: at once, or after the time that its rest is given."""

import asyncio
import os
import signal

import pytest
from neardup_daemon.stopping import Stop


async def signalled_twice(stop: Stop) -> None:
    """Send two signals to this process, and let its handlers run."""
    for number in (signal.SIGTERM, signal.SIGINT):
        os.kill(os.getpid(), number)
    await stop.requested.wait()


@pytest.mark.parametrize("seconds", [0, 0.05], ids=["at-once", "after-its-time"])
async def test_a_rest_without_end_is_cut_short(seconds: float) -> None:
    stop = Stop()
    stop.is_watched = True

    with stop.on_signals():
        stop.let_finish(seconds)
        await signalled_twice(stop)
        await asyncio.Event().wait()

    assert stop.is_cut_short
    assert stop.exit_code in {128 + signal.SIGTERM, 128 + signal.SIGINT}


async def test_a_rest_that_ends_in_its_time_is_not_cut_short() -> None:
    stop = Stop()
    stop.is_watched = True

    with stop.on_signals():
        stop.let_finish(60)
        await signalled_twice(stop)

    assert not stop.is_cut_short
    assert stop.exit_code == 0
