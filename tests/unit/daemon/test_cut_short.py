"""Work in a thread ends before the command does, however it ends."""

import asyncio
import threading
from collections.abc import Callable

import pytest
from neardup_daemon.cut_short import in_thread


async def test_the_result_of_the_work_is_returned() -> None:
    assert await in_thread(lambda _check: 7) == 7


async def test_an_error_of_the_work_is_raised() -> None:
    def work(_check: Callable[[], None]) -> None:
        raise ValueError("of the work")

    with pytest.raises(ValueError, match="of the work"):
        await in_thread(work)


async def test_work_that_is_cut_short_ends_at_its_next_check_and_is_waited_for() -> None:
    has_begun, ends = threading.Event(), list[str]()

    def work(check: Callable[[], None]) -> None:
        has_begun.set()
        try:
            while True:
                check()
        finally:
            ends.append("the work")

    task = asyncio.create_task(in_thread(work))
    await asyncio.to_thread(has_begun.wait)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert ends == ["the work"]


@pytest.mark.parametrize("count", [1, 2, 3])
async def test_work_that_comes_to_its_end_all_the_same_has_its_result(count: int) -> None:
    has_begun, may_end = threading.Event(), threading.Event()

    def work(_check: Callable[[], None]) -> int:
        has_begun.set()
        may_end.wait()
        return 7

    task = asyncio.create_task(in_thread(work))
    await asyncio.to_thread(has_begun.wait)
    for _ in range(count):
        task.cancel()
        await asyncio.wait([task], timeout=0)
    asyncio.get_running_loop().call_soon(may_end.set)

    assert await task == 7
    assert not task.cancelling()
