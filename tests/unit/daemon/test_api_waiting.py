"""Requests that wait for decisions share their look-ups, and each gets its own."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager

import pytest
from neardup_daemon.query_api.awaited_decisions import AwaitedDecisions

from neardup_stream.clusters.placements import AlreadyDecided, Decided
from neardup_stream.clusters.unclustered import Unclustered
from neardup_stream.errors import ConfigError, CorruptData, InvariantBroken, StoreUnavailable
from neardup_stream.message import Partition, Position
from neardup_stream.stores.memory.clusters import MemoryClusters

LONG = 60.0
FIRST, SECOND, THIRD = (Position(Partition("pages", 0), offset) for offset in range(3))


class Decider(Unclustered):
    """Has the decision records that a test puts in, and fails when it is to."""

    def __init__(self) -> None:
        super().__init__(MemoryClusters())
        self.outcomes: dict[Position, Decided] = {}
        self.finished: set[Position] = set()
        self.errors: list[Exception] = []
        self.looked_up: list[frozenset[Position]] = []
        self.on_look_up: Callable[[], object] = lambda: None

    async def already_decided(self, positions: Sequence[Position]) -> AlreadyDecided:
        self.looked_up.append(frozenset(positions))
        self.on_look_up()
        if self.errors:
            raise self.errors.pop()
        outcomes = {each: self.outcomes[each] for each in positions if each in self.outcomes}
        return AlreadyDecided(outcomes, frozenset(self.finished & set(positions)), 0)


@asynccontextmanager
async def waiting() -> AsyncIterator[tuple[Decider, AwaitedDecisions]]:
    decider = Decider()
    decisions = AwaitedDecisions(decider)
    async with asyncio.timeout(LONG):
        yield decider, decisions
    await decisions.close()


async def test_each_request_gets_the_decision_of_its_position() -> None:
    async with waiting() as (decider, decisions):
        requests = [asyncio.create_task(decisions.wait(each, LONG)) for each in (FIRST, SECOND, THIRD)]
        await asyncio.sleep(0)
        decider.outcomes = {FIRST: Decided(1, b"one"), THIRD: Decided(2, b"three")}
        decider.finished = {SECOND}

        assert await asyncio.gather(*requests) == [Decided(1, b"one"), "trimmed", Decided(2, b"three")]
        assert decider.looked_up[0] == {FIRST, SECOND, THIRD}


async def test_a_decision_that_does_not_come_in_time_is_pending() -> None:
    async with waiting() as (decider, decisions):
        assert await decisions.wait(FIRST, 0.01) == "pending"
        assert await decisions.look_up(FIRST) == "pending"

        decider.outcomes = {FIRST: Decided(1, b"one")}

        assert await decisions.look_up(FIRST) == Decided(1, b"one")


async def test_while_the_store_is_unavailable_requests_go_on_waiting() -> None:
    async with waiting() as (decider, decisions):
        decider.errors = [StoreUnavailable("unavailable")] * 3
        decider.outcomes = {FIRST: Decided(1, b"one")}

        assert await decisions.wait(FIRST, LONG) == Decided(1, b"one")
        assert len(decider.looked_up) == 4


@pytest.mark.parametrize("error", [CorruptData("corrupt"), ConfigError("refused"), InvariantBroken("a bug")])
async def test_an_error_that_waiting_does_not_help_ends_every_request_and_no_later_one(
    error: Exception,
) -> None:
    async with waiting() as (decider, decisions):
        decider.errors = [error]
        requests = [asyncio.create_task(decisions.wait(each, LONG)) for each in (FIRST, SECOND)]
        for request in requests:
            with pytest.raises(type(error)):
                await request

        decider.outcomes = {FIRST: Decided(1, b"one")}

        assert await decisions.wait(FIRST, LONG) == Decided(1, b"one")


@pytest.mark.parametrize("error", [TimeoutError("a bug"), ConnectionResetError("a bug")])
async def test_an_error_of_the_system_is_neither_the_end_of_a_wait_nor_of_a_client(error: OSError) -> None:
    async with waiting() as (decider, decisions):
        decider.errors = [error]

        with pytest.raises(InvariantBroken, match="a bug"):
            await decisions.wait(FIRST, LONG)


async def test_a_request_that_was_cancelled_meanwhile_keeps_no_error_from_the_others() -> None:
    async with waiting() as (decider, decisions):
        decider.errors = [CorruptData("corrupt")]
        cancelled, other = [asyncio.create_task(decisions.wait(each, LONG)) for each in (FIRST, SECOND)]
        decider.on_look_up = cancelled.cancel

        with pytest.raises(CorruptData):
            await other
        assert cancelled.cancelled()
