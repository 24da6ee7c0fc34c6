"""Find in what two pages of a site differ that share most of their text: as copies do, or as siblings. Pure.

What they share may be content or frame. Of two copies single words differ, of two siblings whole lines. Where
little more than a line differs, other pages of the site decide: what most of them have too is frame.
"""

from collections.abc import Sequence
from typing import Final, Literal

from neardup_stream.fingerprints.remainders import compare_remainders
from neardup_stream.fingerprints.simhash import PageLines

__all__ = ["EDITED_TOKENS", "Difference", "difference", "repeats"]

EDITED_OVERLAP: Final = 0.4
"""Pages that differ in single words have so much of what differs in common."""

EDITED_TOKENS: Final = 20
"""Pages of which neither has more tokens beside the common lines may differ in a date or the like."""

SENTENCE_TOKENS: Final = 6
"""Fewer tokens are no sentence, but a date or a number: no content of their own."""

SENTENCE_SHARE: Final = 0.03
"""Nor are tokens that are a smaller part of the larger page."""

_LEAST_OTHERS: Final = 2
"""With fewer other pages nothing is known of what a site repeats."""

_COMMON_SHARE: Final = 0.9
"""A page has what two others have in common if it has lines of so many of its tokens."""

_MOST_LINES: Final = 1000
"""A page with more lines counts as one that has other lines: it is not read."""

Difference = Literal["words", "line", "lines"]
"""In what two pages differ: single words, or next to nothing; a sentence, perhaps; or more."""


def difference(one: PageLines, other: PageLines) -> Difference:
    """Return in what two pages differ. Symmetric. Cost: that of `compare_remainders`."""
    apart = compare_remainders(one, other)
    if apart.overlap >= EDITED_OVERLAP:
        return "words"
    if apart.token_count > EDITED_TOKENS:
        return "lines"
    least = max(SENTENCE_TOKENS, SENTENCE_SHARE * max(one.tokens.size, other.tokens.size))
    return "line" if apart.token_count >= least else "words"


def repeats(one: PageLines, other: PageLines, others: Sequence[PageLines]) -> bool:
    """Return whether most other pages of a site have what two pages have in common.

    Args:
        one: a page.
        other: a page that shares most of its text.
        others: some pages of the site beside them.

    Cost: 3 µs for each of the others, of 50 lines; at most 60 µs each.
    """
    theirs = set(other.hashes.tolist())
    lines = zip(one.hashes.tolist(), one.token_counts.tolist(), strict=True)
    tokens = {line: count for line, count in lines if line in theirs}
    least = _COMMON_SHARE * sum(tokens.values())
    shared = (tokens.keys() & page.hashes.tolist() for page in others if page.hashes.size <= _MOST_LINES)
    count: int = sum(sum(map(tokens.__getitem__, lines)) >= least for lines in shared)
    return _LEAST_OTHERS <= count > len(others) / 2
