"""Passes messages on to a sink, and notes what they say once they are delivered."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import Self

from neardup_stream.message import Message
from neardup_stream.streams.protocol import Sink

__all__ = ["NotingSink"]


class NotingSink(Sink):
    """A sink that notes each message, and passes all of them on.

    Args:
        sink: where messages go, as lines of JSON; opened and closed by its owner.
    """

    def __init__(self, sink: Sink) -> None:
        self._sink = sink

    async def __aenter__(self) -> Self:
        """Return itself; the sink was opened before."""
        return self

    async def __aexit__(self, *exc: object) -> None:
        """Leave the sink open."""

    @property
    def max_message_bytes(self) -> int | None:
        """Return the limit of the sink."""
        return self._sink.max_message_bytes

    async def send(self, messages: Sequence[Message]) -> None:
        """Pass messages on, then note them."""
        await self._sink.send(messages)
        for message in messages:
            await self._note(message.value or b"")

    @abstractmethod
    async def _note(self, line: bytes) -> None:
        """Note what a delivered line of JSON says."""
