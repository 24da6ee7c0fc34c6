"""Script calls and their answers, recorded on their way to a real Redis; and pages that match many others."""

from collections.abc import Iterator, Sequence
from typing import Any, Final

from neardup_stream.clusters.requests import PageVersion, PlaceRequest
from neardup_stream.clusters.snapshot import DescribedPage, Description
from neardup_stream.match import Match
from neardup_stream.message import Position
from neardup_stream.page import Handle, PageId
from neardup_stream.stores.redis.client import RedisClient, Script, ScriptCall
from neardup_stream.stores.redis.config import RedisConfig

__all__ = ["COMMIT_ARGUMENTS", "RecordingClient", "no_descriptions", "place", "sized", "spread"]

COMMIT_ARGUMENTS: Final = 13
"""So many has a commit to clusters, and no other call."""


class RecordingClient(RedisClient):
    """Keeps the calls and their answers."""

    def __init__(self, config: RedisConfig) -> None:
        super().__init__(config)
        self.calls: list[ScriptCall] = []
        self.answers: list[Any] = []

    async def run(self, script: Script, calls: Sequence[ScriptCall]) -> list[Any]:
        answers = await super().run(script, calls)
        self.calls += calls
        self.answers += answers
        return answers

    @property
    def most_keys(self) -> int:
        """Of all calls."""
        return max(len(call.keys) for call in self.calls)


def spread(number: int) -> Handle:
    """Return the handle of a numbered page: numbers in a row are far apart."""
    return Handle(number * 0x9E37_79B9_7F4A_7C15 % 2**64)


def sized(call: ScriptCall) -> Iterator[bytes]:
    return (argument for argument in call.args if isinstance(argument, bytes))


async def no_descriptions() -> dict[DescribedPage, Description]:
    """Of pages that represent no others."""
    return {}


def place(position: Position, matched: range, url: str = "{}", rank: int = 1) -> PlaceRequest:
    """Return a page that matches some others, of which nothing is known.

    Args:
        position: its offset names the page.
        matched: numbers of the others.
        url: of all of them, around their names.
        rank: of the others; 0 if they are not decided yet.
    """
    own = PageId(url.format(f"https://example.com/{position.offset}"))
    matches = tuple(
        Match(spread(each), PageId(url.format(each)), url.format(each), 1, 0, "exact", rank=rank)
        for each in matched
    )
    node = PageVersion(spread(position.offset + 1), 1, own, own)
    return PlaceRequest(position, node, matches)
