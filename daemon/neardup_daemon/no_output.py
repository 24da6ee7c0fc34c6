"""Stands in the place of an output that was not asked for."""

from collections.abc import Sequence
from typing import Self

from neardup_stream.message import Message

__all__ = ["NoOutput"]


class NoOutput:
    """Accepts what a sink or an output of clusters does, and drops it; no file is opened."""

    max_message_bytes: int | None = None

    async def __aenter__(self) -> Self:
        """Open nothing."""
        return self

    async def __aexit__(self, *exc: object) -> None:
        """Close nothing."""

    def finish(self) -> None:
        """Give nothing a name."""

    async def send(self, messages: Sequence[Message]) -> None:
        """Drop messages."""

    async def write(self, rows: Sequence[object]) -> None:
        """Drop clusters."""
