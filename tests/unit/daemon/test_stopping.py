"""A second signal cuts a block short: at once, or after the time that its rest is given."""

import asyncio
import os
import signal
from collections.abc import Iterator
from contextlib import suppress
from types import FrameType

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


async def test_behind_a_block_that_two_signals_cancelled_its_task_counts_as_not_cancelled() -> None:
    """The first signal cancels as well where nothing waits for it; the second comes during the cleaning."""
    stop = Stop()
    task = asyncio.current_task()
    assert task is not None

    with stop.on_signals():
        try:
            os.kill(os.getpid(), signal.SIGTERM)
            await asyncio.Event().wait()
        finally:
            os.kill(os.getpid(), signal.SIGINT)
            await asyncio.Event().wait()

    assert stop.is_cut_short
    assert task.cancelling() == 0


@pytest.mark.parametrize("ends", ["normally", "with an error"])
async def test_behind_a_block_that_ends_of_itself_its_task_counts_as_not_cancelled(ends: str) -> None:
    task = asyncio.current_task()
    assert task is not None

    with suppress(OSError), Stop().on_signals():
        try:
            os.kill(os.getpid(), signal.SIGTERM)
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            if ends == "with an error":
                raise OSError from None

    assert task.cancelling() == 0


async def test_a_block_counts_its_own_cancellations_alone() -> None:
    """Those of a block before it are not among them."""
    stop, begun = Stop(), asyncio.Event()

    async def work() -> None:
        with stop.on_signals():
            os.kill(os.getpid(), signal.SIGTERM)
            await asyncio.Event().wait()
        with stop.on_signals():
            begun.set()
            await asyncio.Event().wait()

    async with asyncio.timeout(30):
        working = asyncio.create_task(work())
        await begun.wait()
        working.cancel()
        with pytest.raises(asyncio.CancelledError):
            await working


@pytest.mark.parametrize("cancelled", ["alone", "beside-a-signal"])
async def test_a_block_that_another_task_cancels_ends_as_cancelled(cancelled: str) -> None:
    stop = Stop()
    stop.is_watched = cancelled == "alone"
    cleaning = asyncio.Event()

    async def work() -> None:
        with stop.on_signals():
            try:
                os.kill(os.getpid(), signal.SIGTERM)
                await stop.requested.wait()
                await asyncio.Event().wait()
            finally:
                cleaning.set()
                await asyncio.sleep(0.1)

    async with asyncio.timeout(30):
        working = asyncio.create_task(work())
        await (stop.requested if stop.is_watched else cleaning).wait()
        working.cancel()
        with pytest.raises(asyncio.CancelledError):
            await working


ENDING = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


@pytest.fixture
def handlers() -> Iterator[None]:
    before = {number: signal.getsignal(number) for number in ENDING}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.usefixtures("handlers")
async def test_behind_the_block_signals_are_handled_as_before() -> None:
    def handle(_number: int, _frame: FrameType | None) -> None: ...

    for handler in (handle, signal.SIG_IGN):
        for number in ENDING:
            signal.signal(number, handler)

        with Stop().on_signals():
            pass

        assert [signal.getsignal(number) for number in ENDING] == [handler] * len(ENDING)


@pytest.mark.usefixtures("handlers")
async def test_an_ignored_hangup_stays_so() -> None:
    signal.signal(signal.SIGHUP, signal.SIG_IGN)

    with Stop().on_signals():
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN


@pytest.mark.usefixtures("handlers")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda number: number.name)
async def test_other_signals_are_heard_also_where_the_parent_ignored_them(number: signal.Signals) -> None:
    signal.signal(number, signal.SIG_IGN)
    stop = Stop()

    async with asyncio.timeout(30):
        with stop.on_signals():
            os.kill(os.getpid(), number)
            await stop.requested.wait()
