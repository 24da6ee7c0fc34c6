"""Threads of the query API: few, of its own, and free of calls that were given up."""

import asyncio
from threading import Event, current_thread

from neardup_daemon.query_api.threads import Threads

SECONDS = 30


async def test_a_call_that_finds_all_threads_taken_waits_and_others_of_the_process_do_not() -> None:
    begun, go = Event(), Event()

    def hold() -> str:
        begun.set()
        assert go.wait(SECONDS)
        return current_thread().name

    async with asyncio.timeout(SECONDS):
        with Threads(1) as threads:
            first = asyncio.create_task(threads.run(hold))
            await asyncio.to_thread(begun.wait)
            second = asyncio.create_task(threads.run(lambda: current_thread().name))
            assert await asyncio.to_thread(lambda: "elsewhere") == "elsewhere"
            assert not second.done()

            go.set()

            names = await asyncio.gather(first, second)
            assert names[0] == names[1]
            assert names[0].startswith("query-api")


async def test_a_call_that_was_given_up_before_it_began_never_runs() -> None:
    begun, go = Event(), Event()
    ran: list[str] = []

    def hold() -> None:
        begun.set()
        assert go.wait(SECONDS)

    async with asyncio.timeout(SECONDS):
        with Threads(1) as threads:
            first = asyncio.create_task(threads.run(hold))
            await asyncio.to_thread(begun.wait)
            second = asyncio.create_task(threads.run(ran.append, "given up"))
            await asyncio.sleep(0)
            second.cancel()
            await asyncio.gather(second, return_exceptions=True)
            go.set()
            await first
            await threads.run(ran.append, "later")

    assert ran == ["later"]
