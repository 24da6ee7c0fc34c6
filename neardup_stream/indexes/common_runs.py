"""Common runs of two token sequences, each as long as can be, found from where shingles may agree. Pure."""

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from neardup_stream.fingerprints.selective import all_shingles

__all__ = ["CommonRun", "common_runs", "covered"]

_MOST_PLACES: Final = 16
"""Of one shingle in the page: where a page repeats itself more often, so many places are tried."""


class CommonRun(NamedTuple):
    """Tokens that stand in both sequences.

    Attributes:
        start: the first one in the text.
        page_start: the same in the page.
        size: how many.
    """

    start: int
    page_start: int
    size: int


def common_runs(
    text: NDArray[np.uint64], page: NDArray[np.uint64], places: NDArray[np.int64], shingle: int
) -> list[CommonRun]:
    """The longest common run through each of these shingles of the text that the page has.

    Args:
        text: hashes of tokens.
        page: the same.
        places: tokens of the text where a shingle begins that the page may have, ascending.
        shingle: tokens to a shingle.

    Returns:
        Distinct runs, in the order of the text; none is within another.

    Cost: 6 ns a token of the page, and 10 µs a place that no former run goes through.
    """
    own = all_shingles(page)
    order = np.argsort(own.hashes, kind="stable")
    ascending = own.hashes[order]
    found: set[CommonRun] = set()
    latest: dict[int, CommonRun] = {}
    for place in places.tolist():
        wanted = all_shingles(text[place : place + shingle]).hashes[0]
        first, last = (int(np.searchsorted(ascending, wanted, side)) for side in ("left", "right"))
        through = []
        for on_page in own.places[order[first : min(last, first + _MOST_PLACES)]].tolist():
            run = latest.get(on_page - place)
            if run is None or run.start + run.size < place + shingle:
                run = _extended(text, page, place, on_page, shingle)
            latest[on_page - place] = run
            through.append(run)
        if through:
            found.add(max(through, key=lambda each: each.size))
    return _outermost(found)


def covered(ranges: Sequence[tuple[int, int]]) -> int:
    """How many numbers are in ranges given by start and size."""
    total = reached = 0
    for start, size in sorted(ranges):
        total += max(0, start + size - max(start, reached))
        reached = max(reached, start + size)
    return total


def _extended(
    text: NDArray[np.uint64], page: NDArray[np.uint64], place: int, on_page: int, shingle: int
) -> CommonRun:
    before = _equal(text[:place][::-1], page[:on_page][::-1])
    behind = _equal(text[place + shingle :], page[on_page + shingle :])
    return CommonRun(place - before, on_page - before, before + shingle + behind)


def _equal(one: NDArray[np.uint64], other: NDArray[np.uint64]) -> int:
    """With how many equal tokens both begin."""
    size = min(one.size, other.size)
    differing = np.flatnonzero(one[:size] != other[:size])
    return int(differing[0]) if differing.size else size


def _outermost(runs: Iterable[CommonRun]) -> list[CommonRun]:
    """Leave out runs that lie within an earlier or longer one of the text."""
    kept: list[CommonRun] = []
    reached = 0
    for run in sorted(runs, key=lambda each: (each.start, -each.size, each.page_start)):
        if run.start + run.size > reached:
            kept.append(run)
            reached = run.start + run.size
    return kept
