"""Define the matches of a page in archives."""

from typing import NamedTuple

from neardup_stream.match import Match

__all__ = ["NOT_ARCHIVED", "ArchivedMatch", "ArchivedMatches"]


class ArchivedMatch(NamedTuple):
    """A frozen page that a page is like.

    Attributes:
        archive_id: of the archive that has it, in hexadecimal.
        archive_name: of its file.
        match: how alike both are; its version and rank say nothing.
        fetched_ms: when the frozen page was fetched, epoch milliseconds.
        keys: that both pages have, so that the page was found: `text`, `band N` or `fuzzy N`.
    """

    archive_id: str
    archive_name: str
    match: Match
    fetched_ms: int
    keys: tuple[str, ...]


class ArchivedMatches(NamedTuple):
    """The frozen pages that a page is like.

    Attributes:
        matches: best first, at most a set number.
        total: how many there were.
    """

    matches: tuple[ArchivedMatch, ...] = ()
    total: int = 0


NOT_ARCHIVED = ArchivedMatches()
