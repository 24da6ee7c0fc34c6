import asyncio

from neardup_stream.pipeline.page_locks import PageLocks


async def test_others_pass_and_the_same_page_waits_until_it_has_left() -> None:
    page_locks = PageLocks()
    passed: list[str] = []

    async def pass_through(*page_ids: str) -> None:
        await page_locks.enter({*page_ids})
        passed.append("".join(page_ids))

    await pass_through("a", "b")
    async with asyncio.TaskGroup() as group:
        group.create_task(pass_through("b", "c"))
        group.create_task(pass_through("d"))
        for _ in range(5):
            await asyncio.sleep(0)
        before = list(passed)
        await page_locks.leave({"a", "b"})

    assert before == ["ab", "d"]
    assert passed == ["ab", "d", "bc"]
