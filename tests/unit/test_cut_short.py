"""Work in a thread ends before the command does, however it ends."""

import asyncio
import threading
from collections.abc import Callable, Coroutine

import pytest

from neardup_stream.cut_short import check_cut, in_thread, in_thread_for_its_result


async def test_the_result_of_the_work_is_returned() -> None:
    assert await in_thread(lambda: 7) == 7


async def test_an_error_of_the_work_is_raised() -> None:
    def work() -> None:
        raise ValueError("of the work")

    with pytest.raises(ValueError, match="of the work"):
        await in_thread(work)


@pytest.mark.parametrize("run", [in_thread, in_thread_for_its_result])
async def test_work_that_is_cut_short_ends_at_its_next_check_and_is_waited_for(
    run: Callable[[Callable[[], None]], Coroutine[None, None, None]],
) -> None:
    has_begun, ends = threading.Event(), list[str]()

    def work() -> None:
        has_begun.set()
        try:
            while True:
                check_cut()
        finally:
            ends.append("the work")

    task = asyncio.create_task(run(work))
    await asyncio.to_thread(has_begun.wait)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert ends == ["the work"]


@pytest.mark.parametrize("count", [1, 2, 3])
async def test_work_that_comes_to_its_end_all_the_same_has_its_result(count: int) -> None:
    has_begun, may_end = threading.Event(), threading.Event()

    def work() -> int:
        has_begun.set()
        may_end.wait()
        return 7

    task = asyncio.create_task(in_thread_for_its_result(work))
    await asyncio.to_thread(has_begun.wait)
    for _ in range(count):
        task.cancel()
        await asyncio.wait([task], timeout=0)
    asyncio.get_running_loop().call_soon(may_end.set)

    assert await task == 7
    assert not task.cancelling()


@pytest.mark.parametrize("count", [1, 2, 3])
async def test_a_cancelled_task_is_cancelled_though_its_work_came_to_its_end(count: int) -> None:
    has_begun, may_end = threading.Event(), threading.Event()

    def work() -> None:
        has_begun.set()
        may_end.wait()

    task = asyncio.create_task(in_thread(work))
    await asyncio.to_thread(has_begun.wait)
    for _ in range(count):
        task.cancel()
        await asyncio.wait([task], timeout=0)
    may_end.set()

    with pytest.raises(asyncio.CancelledError):
        await task
    assert task.cancelling() == 1


def test_work_of_no_such_thread_is_not_cut_short() -> None:
    check_cut()
