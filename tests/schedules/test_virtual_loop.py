"""The loop on which the daemons run: what its time, its processes and its dice promise."""

import asyncio
import os
import random
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial

import pytest

from tests.schedules.run import run
from tests.schedules.virtual_loop import Stuck, VirtualLoop


@pytest.fixture
def loop() -> Iterator[VirtualLoop]:
    loop = VirtualLoop(random.Random(1), start_seconds=100.0)
    yield loop
    loop.close_all()


class Diary:
    """What processes did, and when."""

    def __init__(self, loop: VirtualLoop) -> None:
        self.lines: list[tuple[str, float]] = []
        self._loop = loop

    async def keep(self, name: str, pauses: int) -> None:
        """A line before each pause of a second, and one at the end, whatever the end is."""
        try:
            for _ in range(pauses):
                self.lines.append((name, self._loop.time()))
                await asyncio.sleep(1)
        finally:
            self.lines.append((f"end of {name}", self._loop.time()))


def at(loop: VirtualLoop, seconds: float, act: Callable[..., None], *arguments: object) -> None:
    """The world acts."""
    loop.call_at(seconds, act, *arguments, context=loop.world_context)


def test_an_hour_passes_at_once(loop: VirtualLoop) -> None:
    loop.run_until_complete(asyncio.sleep(3600))
    assert loop.time() == 3700.0


def test_a_timeout_is_measured_in_virtual_time(loop: VirtualLoop) -> None:
    async def wait() -> None:
        async with asyncio.timeout(5):
            await asyncio.sleep(10)

    with pytest.raises(TimeoutError):
        loop.run_until_complete(wait())
    assert loop.time() == 105.0


def test_a_killed_process_does_not_even_clean_up(loop: VirtualLoop) -> None:
    diary = Diary(loop)
    process = loop.start("a", diary.keep("a", 5))
    at(loop, 101.5, loop.kill, process)
    loop.run_until_complete(asyncio.sleep(10))
    assert diary.lines == [("a", 100.0), ("a", 101.0)]


def test_a_stopped_process_continues_where_it_was_and_time_has_passed(loop: VirtualLoop) -> None:
    diary = Diary(loop)
    process = loop.start("a", diary.keep("a", 2))
    at(loop, 100.5, partial(setattr, process, "is_stopped", 1))
    at(loop, 107.5, partial(setattr, process, "is_stopped", 0))
    loop.run_until_complete(asyncio.sleep(20))
    assert diary.lines == [("a", 100.0), ("a", 107.5), ("end of a", 108.5)]


def test_within_a_process_callbacks_keep_their_order_and_processes_take_turns(loop: VirtualLoop) -> None:
    seen: list[tuple[str, int]] = []

    async def schedule(name: str) -> None:
        for number in range(20):
            asyncio.get_running_loop().call_soon(seen.append, (name, number))

    for name in "ab":
        loop.start(name, schedule(name))
    loop.run_until_complete(asyncio.sleep(1))
    assert [each for each in seen if each[0] == "a"] == [("a", number) for number in range(20)]
    assert seen != sorted(seen, key=lambda each: each[0])


def test_when_nothing_waits_for_a_time_the_run_is_stuck(loop: VirtualLoop) -> None:
    with pytest.raises(Stuck):
        loop.run_until_complete(asyncio.Event().wait())


def test_what_a_callback_raises_is_kept(loop: VirtualLoop) -> None:
    loop.call_soon([].pop)
    loop.run_until_complete(asyncio.sleep(1))
    assert [type(defect) for defect in loop.defects] == [IndexError]


def test_a_seed_means_one_run_whatever_the_order_of_sets() -> None:
    lines: list[str] = []
    run(7, on_line=lines.append)
    elsewhere = subprocess.run(
        [sys.executable, "-m", "tests.schedules", "7"],
        env={**os.environ, "PYTHONHASHSEED": "1"},
        capture_output=True,
        check=True,
        text=True,
        timeout=60,
    )
    assert len(lines) > 100
    assert elsewhere.stdout == "".join(f"{line}\n" for line in lines)
