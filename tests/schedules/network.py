"""Calls between processes: a request travels, is served at once as a whole, and its answer travels back.

The server belongs to the world, so a request that is on its way is served although its sender has died or
sleeps. Now and then a connection breaks: the caller learns that the other side is unavailable, while the
request was never served, was served already, or will be served when no caller waits for it any more.
"""

import asyncio
import random
from collections.abc import Awaitable, Callable, Coroutine
from contextvars import Context, copy_context
from dataclasses import dataclass
from inspect import iscoroutinefunction
from typing import Any, NamedTuple

from neardup_stream.errors import NeardupError, Unavailable
from tests.schedules.virtual_loop import VirtualLoop

__all__ = ["Network", "Weather"]


@dataclass(frozen=True, slots=True)
class Weather:
    """How the network behaves.

    Attributes:
        usual_seconds: mean time of one way.
        slow_share: how many ways take much longer.
        slow_seconds: mean time of those.
        broken_share: how many calls meet a connection that breaks.
    """

    usual_seconds: float = 0.02
    slow_share: float = 0.1
    slow_seconds: float = 1.0
    broken_share: float = 0.0


class _Call(NamedTuple):
    """One request, and who waits for the answer."""

    sender: str
    method: Callable[..., Coroutine[Any, Any, Any]]
    arguments: tuple[Any, ...]
    answer: asyncio.Future[Any]
    caller: Context


class Network:
    """Carries calls.

    Args:
        loop: of all processes.
        dice: decide how long a way takes, and what breaks.
        weather: how likely that is.
        on_call: awaited by every caller before its call is sent.
        on_answer: called with the caller, the call, its arguments and the answer.
    """

    def __init__(
        self,
        loop: VirtualLoop,
        dice: random.Random,
        weather: Weather,
        on_call: Callable[[], Awaitable[None]],
        on_answer: Callable[..., None],
    ) -> None:
        self._loop = loop
        self._dice = dice
        self._weather = weather
        self._on_call = on_call
        self._on_answer = on_answer

    def calm(self) -> None:
        """From now on it is good."""
        self._weather = Weather()

    def to(self, server: Any, error: type[Unavailable]) -> Any:
        """Return the same object across this network: its coroutine methods are calls.

        Args:
            server: what serves them; its methods never wait.
            error: raised by a call whose connection breaks.
        """
        return _Remote(server, self, error)

    async def call(
        self,
        method: Callable[..., Coroutine[Any, Any, Any]],
        arguments: tuple[Any, ...],
        error: type[Unavailable],
    ) -> Any:
        """Call `method` at the server that it belongs to."""
        await self._on_call()
        sender, answer = self._loop.owner().name, self._loop.create_future()
        call = _Call(sender, method, arguments, answer, copy_context())
        if self._dice.random() < self._weather.broken_share:
            self._break(call, error)
        else:
            self._at_the_server(self._way_seconds(), self._serve, call)
        return await call.answer

    def _serve(self, call: _Call) -> None:
        deliver, outcome = self._outcome(call)
        self._loop.call_later(self._way_seconds(), deliver, call.answer, outcome, context=call.caller)

    def _outcome(self, call: _Call) -> tuple[Callable[[asyncio.Future[Any], Any], None], Any]:
        """Serve a call at once; return how to complete its answer, and with what."""
        running = call.method(*call.arguments)
        try:
            running.send(None)
        except StopIteration as returned:
            self._on_answer(call.sender, call.method.__name__, *call.arguments, "->", returned.value)
            return _succeed, returned.value
        except NeardupError as error:
            return _fail, error
        raise AssertionError(f"{call.method} waits in the middle of serving a call")

    def _break(self, call: _Call, error: type[Unavailable]) -> None:
        fate = self._dice.choice(["lost", "served", "late"])
        noticed_seconds = self._way_seconds()
        if fate == "served":
            self._at_the_server(noticed_seconds * self._dice.random(), self._outcome, call)
        elif fate == "late":
            self._at_the_server(noticed_seconds + self._way_seconds(), self._outcome, call)
        failure = error(f"the connection broke, and the call was {fate}")
        self._loop.call_later(noticed_seconds, _fail, call.answer, failure)

    def _at_the_server(self, seconds: float, serve: Callable[[_Call], object], call: _Call) -> None:
        self._loop.call_later(seconds, serve, call, context=self._loop.world_context)

    def _way_seconds(self) -> float:
        is_slow = self._dice.random() < self._weather.slow_share
        mean = self._weather.slow_seconds if is_slow else self._weather.usual_seconds
        return self._dice.expovariate(1 / mean)


class _Remote:
    def __init__(self, server: Any, network: Network, error: type[Unavailable]) -> None:
        self._server = server
        self._network = network
        self._error = error

    def __getattr__(self, name: str) -> Any:
        member = getattr(self._server, name)
        if not iscoroutinefunction(member):
            return member

        async def call(*arguments: Any) -> Any:
            return await self._network.call(member, arguments, self._error)

        setattr(self, name, call)
        return call


def _succeed(answer: asyncio.Future[Any], result: Any) -> None:
    if not answer.done():
        answer.set_result(result)


def _fail(answer: asyncio.Future[Any], error: BaseException) -> None:
    if not answer.done():
        answer.set_exception(error)
