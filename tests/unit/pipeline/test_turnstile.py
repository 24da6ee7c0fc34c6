import asyncio

from neardup_stream.pipeline.page_locks import Turnstile


async def test_others_pass_and_the_same_page_waits_until_it_has_left() -> None:
    turnstile = Turnstile()
    passed: list[str] = []

    async def pass_through(*page_ids: str) -> None:
        await turnstile.enter({*page_ids})
        passed.append("".join(page_ids))

    await pass_through("a", "b")
    async with asyncio.TaskGroup() as group:
        group.create_task(pass_through("b", "c"))
        group.create_task(pass_through("d"))
        for _ in range(5):
            await asyncio.sleep(0)
        before = list(passed)
        await turnstile.leave({"a", "b"})

    assert before == ["ab", "d"]
    assert passed == ["ab", "d", "bc"]
