"""What a subscriber who reads committed is told more than once."""

import asyncio
from collections import Counter
from collections.abc import Sequence

from neardup_daemon.inspect.verifying import read_history
from neardup_daemon.settings.settings import Settings

from neardup_stream.message import Message

__all__ = ["told_again"]


def told_again(settings: Sequence[str]) -> list[str]:
    """Ids of the events, and positions of the dead letters, that come more than once."""
    history, _ = asyncio.run(read_history(Settings.load(overrides=settings)))
    told = Counter(_event_id(event) for event in history.events)
    told.update(_origin(letter) for letter in history.dead_letters)
    assert told
    return [each for each, count in told.items() if count > 1]


def _event_id(event: Message) -> str:
    return dict(event.headers)["ce_id"].decode()


def _origin(letter: Message) -> str:
    headers = dict(letter.headers)
    return b"-".join(headers[f"neardup.error.{name}"] for name in ("partition", "offset")).decode()
