import asyncio

import pytest

from neardup_stream.gather_all import gather_all


async def after(turns: int, name: str, ended: list[str]) -> str:
    for _ in range(turns):
        await asyncio.sleep(0)
    ended.append(name)
    if name == "bad":
        raise OSError(name)
    return name


async def test_results_come_in_the_order_of_the_work() -> None:
    assert await gather_all([after(2, "a", []), after(1, "b", [])]) == ["a", "b"]


async def test_a_failure_is_raised_once_everything_has_ended() -> None:
    ended: list[str] = []

    with pytest.raises(OSError, match="bad"):
        await gather_all([after(1, "bad", ended), after(5, "slow", ended)])

    assert ended == ["bad", "slow"]
