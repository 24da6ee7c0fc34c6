"""Pipes that nothing reads."""

import select

__all__ = ["is_full"]


def is_full(writer: int) -> bool:
    """Return whether a write to a pipe would wait."""
    poll = select.poll()
    poll.register(writer, select.POLLOUT)
    return not poll.poll(0)
