"""How much of the content of each page is inside the other whole text, and how much has to be. Pure.

Whole texts of one site are alike by their frames, too. So what is left of each page beside its frame has to
be inside the other page as well.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from neardup_stream.pipeline.pair_figures import WholeFigures

__all__ = ["SMALL_FRAME", "are_alike_known", "contents_inside", "least_content_inside"]

CONTENT_INSIDE_UNKNOWN: Final = 0.3
"""Least share of a content inside the other whole text, where the frames were not equally known."""

CHANCE_MARGIN: Final = 0.75
"""What that share must exceed it by, times the square root of the samples behind it."""

CONTENT_INSIDE_KNOWN: Final = 0.9
"""The same share where both pages lost as much to frames."""

CONTENT_INSIDE_NOISY: Final = 0.65
"""The same share where that was at most `SMALL_FRAME`, or by `DAMAGED_FRAME` less of one page. A page alike
to .90 by tokens keeps .73 of its shingles; of 64 samples the estimate errs by .06 to .08."""

SMALL_FRAME: Final = 0.5
"""A frame of at most so much of each page cannot make whole texts alike by itself."""

DAMAGED_FRAME: Final = 0.08
"""If so much less of one page than of another of its site is frame, noise damaged its frame: a misread line
is no frame. Pages that differ in their content alone lose the same lines."""

ALIKE_KNOWN: Final = 0.15
"""Frames are equally known of two pages if the shares of frame differ by at most so much."""


def are_alike_known(wholes: WholeFigures) -> NDArray[np.bool_]:
    """Return whether both pages of a pair lost about the same share of their shingles as frame, and some.

    If they did not, their sites' frames were not equally known when they came.
    """
    shares = wholes.frame_shares
    alike: NDArray[np.bool_] = np.abs(shares[0] - shares[1]) <= ALIKE_KNOWN
    return alike & (shares > 0).all(axis=0)


def contents_inside(wholes: WholeFigures) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the share of each content inside the other whole text, by both sketches.

    What contents have in common is inside the other whole text too, and the sketch of a content has more
    samples. Where frames are equally known noise has lowered both estimates, and the larger one counts. Where
    they are not, what agrees by chance in one sketch does not in the other: the mean counts for the page that
    lost more to frames, whose content is inside the content of the other one.
    """
    is_known, shares = are_alike_known(wholes), wholes.frame_shares
    both = np.array([wholes.overlaps.own_content, wholes.overlaps.other_content])
    lost_more = (shares == shares.max(axis=0)) & (wholes.left > 0)
    unknown = np.where(lost_more, (both + wholes.contents) / 2, both)
    own, other = np.where(is_known, np.maximum(both, wholes.contents), unknown)
    return own, other


def least_content_inside(wholes: WholeFigures) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the least share of each content inside the other whole text.

    Where both lost as much to frames, whole texts of pages that are mostly frame may be alike by their
    frames; other pages that are alike are so by their contents too, if perhaps by noisy ones, and so are
    pages of which noise damaged the frame. Where they did not lose as much, it is what is no chance: codes of
    4 bits agree by chance once in 15, so of few samples nearly all must agree.
    An empty content, whose share is 1, is inside everything; one of which there is no sample, whose share is
    0, inside nothing.
    """
    shares = wholes.frame_shares
    may_be_noisy = (shares.max(axis=0) <= SMALL_FRAME) | (np.abs(shares[0] - shares[1]) >= DAMAGED_FRAME)
    known = np.where(may_be_noisy, CONTENT_INSIDE_NOISY, CONTENT_INSIDE_KNOWN)
    is_known = are_alike_known(wholes)
    own, other = (
        np.where(samples > 0, np.where(is_known, known, _least_by_chance(samples)), 1.0)
        for samples in (wholes.overlaps.own_samples, wholes.overlaps.other_samples)
    )
    return own, other


def _least_by_chance(samples: NDArray[np.float64]) -> NDArray[np.float64]:
    least: NDArray[np.float64] = CONTENT_INSIDE_UNKNOWN + CHANCE_MARGIN / np.sqrt(np.maximum(samples, 1))
    return least
