"""Which lines of a page are frame, from how many other pages of its site have them. Pure.

    a line in a landmark (nav, footer, …)       on `landmark_pages` other pages
    another line of a marked-up page            on `markup_pages`, or half of the pages while few are known
    a line of plain text                        on `text_pages`: a crawler that sends text has cut most frame

Content that a site really repeats is rare; frame that is taken for content makes different pages alike. So
the bounds are low, and a page of which they would leave next to nothing is read with the strict one.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from neardup_stream.errors import ConfigError

__all__ = [
    "MIN_CONTENT_TOKENS",
    "FrameBounds",
    "FrameConfig",
    "asks_for_landmarks",
    "content_lines",
    "frame_bounds",
    "strict_content_lines",
]

MIN_CONTENT_TOKENS = 20
"""If the lenient bounds leave fewer tokens than this, only `markup_pages` counts."""

COPY_SHARE = 0.9
"""While one page is enough for a line to be frame, a page that shares so much with it is rather its copy."""

LANDMARK_SHARE = 0.05
"""Of a page's tokens so many must be in question before its markup is asked for landmarks: that costs as much
as extracting its text."""


@dataclass(frozen=True, slots=True)
class FrameConfig:
    """From how many other pages of a site a line is frame.

    Attributes:
        markup_pages: for a line of a marked-up page, from 1.
        landmark_pages: for one that its markup calls navigation, footer or the like, from 1.
        text_pages: for a line of plain text, from 1.
        max_lines: lines that are counted for a site, from 16.

    Raises:
        ConfigError: a number is out of its range.
    """

    markup_pages: int = 5
    landmark_pages: int = 2
    text_pages: int = 10
    max_lines: int = 1024

    def __post_init__(self) -> None:
        for name, least in (("markup_pages", 1), ("landmark_pages", 1), ("text_pages", 1), ("max_lines", 16)):
            if getattr(self, name) < least:
                raise ConfigError(f"frames.{name} is {getattr(self, name)}, must be at least {least}")


class FrameBounds(NamedTuple):
    """On how many other pages of a site a line is frame, from 1.

    Attributes:
        markup: a line of a marked-up page.
        landmark: one in a landmark of the markup.
        text: a line of plain text.
    """

    markup: int
    landmark: int
    text: int


def frame_bounds(page_count: int, config: FrameConfig) -> FrameBounds:
    """The bounds for a site of which so many other pages are counted: lenient while they are few."""
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
        landmarks: finds which lines are in landmarks, called if it matters; None for plain text.
        config: the bounds.
    """
    strict = strict_content_lines(counts, config, is_markup=landmarks is not None)
    if landmarks is None:
        return strict
    bounds = frame_bounds(page_count, config)
    content = counts < bounds.markup
    in_question = token_counts[content & (counts >= bounds.landmark)].sum()
    if asks_for_landmarks(in_question, token_counts.sum()):
        content &= (counts < bounds.landmark) | ~landmarks()
    left = token_counts[content].sum()
    is_copy = bounds.markup == 1 and left <= (1 - COPY_SHARE) * token_counts.sum()
    return strict if is_copy or left < MIN_CONTENT_TOKENS else content


def strict_content_lines(
    counts: NDArray[np.int64], config: FrameConfig, *, is_markup: bool
) -> NDArray[np.bool_]:
    """The same by the full bound alone, however few pages are known, and without landmarks."""
    is_content: NDArray[np.bool_] = counts < (config.markup_pages if is_markup else config.text_pages)
    return is_content


def asks_for_landmarks(in_question: NDArray[np.int64], tokens: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Whether so many of the tokens of pages are in question that their markup is asked for landmarks."""
    asks: NDArray[np.bool_] = in_question >= np.maximum(MIN_CONTENT_TOKENS, LANDMARK_SHARE * tokens)
    return asks
