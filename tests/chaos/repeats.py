"""The messages that a subscriber who reads committed gets more than once."""

import asyncio
from collections import Counter
from collections.abc import Sequence

from neardup_daemon.inspect.verifying import read_history
from neardup_daemon.settings.settings import Settings

from neardup_stream.message import Message

__all__ = ["repeated_messages"]


def repeated_messages(settings: Sequence[str]) -> list[str]:
    """Return ids of the events, and positions of the dead letters, that come more than once."""
    history, _ = asyncio.run(read_history(Settings.load(overrides=settings)))
    counts = Counter(_event_id(event) for event in history.events)
    counts.update(_origin(letter) for letter in history.dead_letters)
    assert counts
    return [each for each, count in counts.items() if count > 1]


def _event_id(event: Message) -> str:
    return (dict(event.headers)["ce_id"] or b"").decode()


def _origin(letter: Message) -> str:
    headers = dict(letter.headers)
    return b"-".join(headers[f"neardup.error.{name}"] or b"" for name in ("partition", "offset")).decode()
