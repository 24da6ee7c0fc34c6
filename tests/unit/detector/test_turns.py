"""One task at a time has the turn, whichever loops the tasks are in, and a cancelled one does not keep it."""

import asyncio
import gc
from threading import Event

import pytest

from neardup_stream.detector import turns as turns_module
from neardup_stream.detector.turns import Turns


async def take(turns: Turns, taken: list[str], name: str) -> None:
    async with turns.next():
        taken.append(name)
        await asyncio.sleep(0)


async def begun(turns: Turns, taken: list[str], name: str) -> asyncio.Task[None]:
    """Return a task that has asked for the turn."""
    task = asyncio.create_task(take(turns, taken, name))
    await asyncio.sleep(0)
    return task


async def test_tasks_have_the_turn_in_the_order_in_which_they_asked() -> None:
    turns, taken = Turns(), list[str]()

    await asyncio.gather(*(take(turns, taken, name) for name in "abc"))

    assert taken == ["a", "b", "c"]


async def test_a_task_that_is_cancelled_while_it_waits_is_passed_over() -> None:
    turns, taken = Turns(), list[str]()
    async with turns.next():
        waiting, last = await begun(turns, taken, "waiting"), await begun(turns, taken, "last")
        waiting.cancel()

    await last

    assert waiting.cancelled()
    assert taken == ["last"]


async def test_a_task_that_is_cancelled_as_its_turn_comes_passes_it_on() -> None:
    turns, taken = Turns(), list[str]()
    async with turns.next():
        next_one, last = await begun(turns, taken, "next"), await begun(turns, taken, "last")
    next_one.cancel()

    await last

    assert next_one.cancelled()
    assert taken == ["last"]


async def test_what_fails_in_its_turn_passes_it_on() -> None:
    turns, taken = Turns(), list[str]()
    with pytest.raises(ZeroDivisionError):
        async with turns.next():
            raise ZeroDivisionError

    await take(turns, taken, "last")

    assert taken == ["last"]


async def test_a_task_of_another_loop_waits_for_its_turn() -> None:
    turns, taken, has_asked = Turns(), list[str](), Event()

    async def ask() -> None:
        asyncio.get_running_loop().call_soon(has_asked.set)
        await take(turns, taken, "other loop")

    async with turns.next():
        other_loop = asyncio.create_task(asyncio.to_thread(lambda: asyncio.run(ask())))
        await asyncio.to_thread(has_asked.wait)
        taken.append("this loop")
    await other_loop

    assert taken == ["this loop", "other loop"]


async def test_a_task_whose_loop_was_closed_is_passed_over() -> None:
    turns, taken, closed_loop = Turns(), list[str](), asyncio.new_event_loop()
    closed_loop.set_exception_handler(lambda *_lost: None)  # says that a task of it waits for ever

    async with turns.next():
        lost = await asyncio.to_thread(
            lambda: closed_loop.run_until_complete(begun(turns, taken, "closed loop"))
        )
        closed_loop.close()
        next_one = await begun(turns, taken, "this loop")
    await next_one

    assert not lost.done()
    assert taken == ["this loop"]


async def test_a_task_that_was_cancelled_in_a_loop_that_rests_is_passed_over() -> None:
    turns, taken, resting_loop = Turns(), list[str](), asyncio.new_event_loop()

    async def wait_in_vain() -> None:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(take(turns, taken, "resting loop"), 0.01)

    async with turns.next():
        await asyncio.to_thread(resting_loop.run_until_complete, wait_in_vain())
    await asyncio.wait_for(take(turns, taken, "this loop"), 10)
    resting_loop.close()

    assert taken == ["this loop"]


async def keep(turns: Turns) -> None:
    """End with the turn, as an interruption between two steps can."""
    await turns.next().__aenter__()


async def test_the_turn_of_a_task_that_has_ended_is_taken_over() -> None:
    turns, taken = Turns(), list[str]()
    await asyncio.create_task(keep(turns))

    await take(turns, taken, "next")

    assert taken == ["next"]


async def test_a_task_that_asks_while_it_has_the_turn_takes_it_over_from_itself() -> None:
    turns, taken = Turns(), list[str]()
    await keep(turns)

    await take(turns, taken, "again")

    assert taken == ["again"]


@pytest.mark.parametrize("is_waiting", [True, False])
async def test_the_turn_of_a_task_whose_loop_was_closed_is_taken_over_and_never_passed_on_by_it(
    monkeypatch: pytest.MonkeyPatch, *, is_waiting: bool
) -> None:
    monkeypatch.setattr(turns_module, "_LOOK_SECONDS", 0.01)
    turns, taken, closed_loop = Turns(), list[str](), asyncio.new_event_loop()
    closed_loop.set_exception_handler(lambda *_lost: None)  # says that a task of it waits for ever

    async def hold() -> None:
        async with turns.next():
            await asyncio.Event().wait()

    async def begin() -> asyncio.Task[None]:
        task = asyncio.create_task(hold())
        await asyncio.sleep(0)
        return task

    lost = [await asyncio.to_thread(closed_loop.run_until_complete, begin())]
    next_one = [await begun(turns, taken, "next")] if is_waiting else []
    closed_loop.close()
    await asyncio.wait_for(asyncio.gather(*next_one), 30)

    async with turns.next():
        lost.clear()
        gc.collect()
        last = await begun(turns, taken, "last")
        assert taken == ["next"] * is_waiting
    await last

    assert taken == ["next"] * is_waiting + ["last"]
