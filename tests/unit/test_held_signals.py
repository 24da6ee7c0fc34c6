"""Signals that come while foreign code runs."""

import asyncio
import signal
from collections.abc import Iterator
from threading import Thread

import pytest

from neardup_stream.held_signals import held_signals


@pytest.fixture
def interruptible() -> Iterator[None]:
    """Handle SIGINT as Python does, also where these tests began with it ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
def test_a_signal_is_handled_once_the_block_has_ended() -> None:
    steps = []

    def work() -> None:
        with held_signals():
            signal.raise_signal(signal.SIGINT)
            steps.append("the rest of the block")

    with pytest.raises(KeyboardInterrupt):
        work()

    assert steps == ["the rest of the block"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_without_a_signal_every_handler_is_as_before() -> None:
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)]

    with held_signals():
        pass

    assert before == [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)]


async def test_an_event_loop_hears_its_signals_once() -> None:
    heard: asyncio.Queue[int] = asyncio.Queue()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, heard.put_nowait, number)
    try:
        with held_signals():
            signal.raise_signal(signal.SIGTERM)
        signal.raise_signal(signal.SIGHUP)
        received = [await heard.get(), await heard.get()]
    finally:
        for number in (signal.SIGTERM, signal.SIGHUP):
            loop.remove_signal_handler(number)

    assert received == [signal.SIGTERM, signal.SIGHUP]


def test_another_thread_leaves_signals_as_they_are() -> None:
    seen: list[object] = []

    def work() -> None:
        with held_signals():
            seen.append(signal.getsignal(signal.SIGINT))

    thread = Thread(target=work)
    thread.start()
    thread.join()

    assert seen == [signal.getsignal(signal.SIGINT)]
