"""Decide which lines of a page are frame, from how many other pages of its site have them. Pure.

    a line in a landmark (nav, footer, …)       on `landmark_pages` other pages
    another line of a marked-up page            on `markup_pages`, or half of the pages while few are known
    a line of plain text                        on `text_pages`: crawlers that send text cut most frame

Content that a site really repeats is rare, while frame that is treated as content makes different pages
similar. So the bounds are low. If they would leave almost nothing of a page, the strict bound applies.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from neardup_stream.errors import ConfigError

__all__ = [
    "MIN_CONTENT_TOKENS",
    "FirstLook",
    "FrameBounds",
    "FrameConfig",
    "content_lines",
    "first_look",
    "frame_bounds",
    "strict_content_lines",
]

MIN_CONTENT_TOKENS = 20
"""If the lenient bounds leave fewer tokens than this, only `markup_pages` applies."""

COPY_SHARE = 0.9
"""While a line on one other page is frame already, a page that shares this much with it is probably its copy.
"""

LANDMARK_SHARE = 0.05
"""Fraction of a page's tokens that must be undecided before its markup is parsed for landmarks, which costs
as much as extracting its text.
"""


@dataclass(frozen=True, slots=True)
class FrameConfig:
    """On how many other pages of a site a line must be to count as frame.

    Attributes:
        markup_pages: for a line of a marked-up page, from 1.
        landmark_pages: for a line in navigation, footer or another landmark of the markup, from 1.
        text_pages: for a line of plain text, from 1.
        max_lines: lines that are counted for a site, from 16; at most 1,024 of them are counted once.

    Raises:
        ConfigError: a number is out of its range.
    """

    markup_pages: int = 5
    landmark_pages: int = 2
    text_pages: int = 10
    max_lines: int = 8192

    def __post_init__(self) -> None:
        for name, least in (("markup_pages", 1), ("landmark_pages", 1), ("text_pages", 1), ("max_lines", 16)):
            if getattr(self, name) < least:
                raise ConfigError(f"frames.{name} is {getattr(self, name)}, must be at least {least}")


class FrameBounds(NamedTuple):
    """The bounds for one page: on how many other pages of its site a line is frame, from 1.

    Attributes:
        markup: a line of a marked-up page.
        landmark: one in a landmark of the markup.
        text: a line of plain text.
    """

    markup: int
    landmark: int
    text: int


class FirstLook(NamedTuple):
    """Which lines of many pages are content by the bounds alone.

    Attributes:
        is_content: of each line, bool.
        is_open: of each page, whether `content_lines` may say otherwise, bool.
        content_shares: of each page, the fraction of its tokens that is content, float64.
    """

    is_content: NDArray[np.bool_]
    is_open: NDArray[np.bool_]
    content_shares: NDArray[np.float64]


def frame_bounds(page_count: int, config: FrameConfig) -> FrameBounds:
    """Return the bounds for a site with so many other counted pages: lenient while there are few."""
    markup = min(config.markup_pages, max(1, -(-page_count // 2)))
    return FrameBounds(markup, min(config.landmark_pages, markup), config.text_pages)


def content_lines(
    counts: NDArray[np.int64],
    token_counts: NDArray[np.int64],
    page_count: int,
    landmarks: Callable[[], NDArray[np.bool_]] | None,
    config: FrameConfig,
) -> NDArray[np.bool_]:
    """Return for each line of a page whether it is content.

    Args:
        counts: on how many other pages of the site each line was, int64[lines].
        token_counts: of each line, int64[lines].
        page_count: how many other pages those are.
        landmarks: returns which lines are in landmarks; called only if needed; None for plain text.
        config: the bounds.
    """
    strict = strict_content_lines(counts, config, is_markup=landmarks is not None)
    if landmarks is None:
        return strict
    bounds = frame_bounds(page_count, config)
    content = counts < bounds.markup
    in_question = token_counts[content & (counts >= bounds.landmark)].sum()
    if _asks_for_landmarks(in_question, token_counts.sum()):
        content &= (counts < bounds.landmark) | ~landmarks()
    left, total = token_counts[content].sum(), token_counts.sum()
    is_copy = bounds.markup == 1 and total - left >= COPY_SHARE * total
    return strict if is_copy or left < MIN_CONTENT_TOKENS else content


def first_look(
    counts: NDArray[np.int64],
    token_counts: NDArray[np.int64],
    line_counts: NDArray[np.int64],
    is_markup: NDArray[np.bool_],
    bounds: Sequence[FrameBounds],
    config: FrameConfig,
) -> FirstLook:
    """Return what `content_lines` says of most pages, for many at once: it need not be asked of those.

    Args:
        counts: as there, of the lines of all pages, one page after the other.
        token_counts: likewise.
        line_counts: how many lines each page has, from 1, int64[pages].
        is_markup: of each page, bool[pages].
        bounds: of each page.
        config: the bounds where many pages are known.
    """
    starts, markup_pages = np.cumsum(line_counts) - line_counts, np.array([each.markup for each in bounds])
    is_content = counts < np.repeat(np.where(is_markup, markup_pages, config.text_pages), line_counts)
    is_in_question = is_content & (counts >= np.repeat([each.landmark for each in bounds], line_counts))
    page_tokens = np.add.reduceat(token_counts, starts)
    asks = _asks_for_landmarks(np.add.reduceat(token_counts * is_in_question, starts), page_tokens)
    may_leave_too_little = markup_pages < config.markup_pages
    shares = np.add.reduceat(token_counts * is_content, starts) / page_tokens
    return FirstLook(is_content, is_markup & (asks | may_leave_too_little), shares)


def strict_content_lines(
    counts: NDArray[np.int64], config: FrameConfig, *, is_markup: bool
) -> NDArray[np.bool_]:
    """Return the content lines by the full bound alone, however few pages are known, without landmarks."""
    is_content: NDArray[np.bool_] = counts < (config.markup_pages if is_markup else config.text_pages)
    return is_content


def _asks_for_landmarks(in_question: NDArray[np.int64], tokens: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return whether so many tokens of a page are undecided that its markup is parsed for landmarks."""
    asks: NDArray[np.bool_] = in_question >= np.maximum(MIN_CONTENT_TOKENS, LANDMARK_SHARE * tokens)
    return asks
