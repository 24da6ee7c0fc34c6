"""Calls that are cancelled at any moment: none reads the answer of another, all return their connections."""

import asyncio
from collections import Counter
from random import Random

from neardup_stream.gather_all import gather_all
from neardup_stream.stores.redis.client import RedisClient, Script, ScriptCall

ECHO = Script.of("return {KEYS[1], ARGV[1], ARGV[2]}")
TASKS, ROUNDS, MOST_CALLS = 12, 100, 20
MOST_TURNS = 12
"""Turns of the loop before a call is cancelled, at most; by then most have ended."""
SEED = 3


async def echo(client: RedisClient, name: str, random: Random) -> None:
    """Run some calls; each answer is that of its call."""
    filling = b"x" * random.choice((1, 100, 20_000))
    count = random.randint(1, MOST_CALLS)
    calls = [ScriptCall([f"{name}:{number}"], [f"{name}/{number}", filling]) for number in range(count)]

    answers = await client.run(ECHO, calls)

    assert answers == [
        [f"{name}:{number}".encode(), f"{name}/{number}".encode(), filling] for number in range(count)
    ]


async def echo_and_cancel(client: RedisClient, number: int, ends: Counter[str]) -> None:
    """Run calls one after the other; half of them are cancelled after some turns of the loop."""
    random = Random(SEED + number)
    for round_number in range(ROUNDS):
        call = asyncio.create_task(echo(client, f"{number}.{round_number}", random))
        if random.random() < 0.5:
            for _ in range(random.randrange(MOST_TURNS)):
                await asyncio.sleep(0)
            call.cancel()
        if random.random() < 0.05:
            await client.by_master("SCRIPT FLUSH")
        try:
            await call
            ends["answered"] += 1
        except asyncio.CancelledError:
            ends["cancelled"] += 1


async def test_each_answer_is_that_of_its_call_though_others_are_cancelled(client: RedisClient) -> None:
    ends: Counter[str] = Counter()

    await gather_all(echo_and_cancel(client, number, ends) for number in range(TASKS))

    assert min(ends["answered"], ends["cancelled"]) > TASKS
    async with client._supervisor.client() as connected:
        if client.is_cluster:
            in_use = sum(len(node._connections) - len(node._free) for node in connected.get_nodes())
        else:
            in_use = len(connected.connection_pool._in_use_connections)
    assert in_use == 0
