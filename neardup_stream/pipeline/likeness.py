"""How alike two pages are by what is kept of them: contents first, then whole texts. Pure and symmetric.

    contents      near_resemblance and near_containment; content_containment where both have a known frame
    whole texts   the same, and most of either content is inside the other's whole text: nine tenths where
                  both lost as much to frames, .65 where that was half of either at most; where not, a
                  third, and more the fewer samples tell of it
    short pages   four fifths of either whole text inside the other
    no content    next to nothing is left of either: nineteen twentieths of either whole text inside the other

Where the frame of a site is known for one page only, its content cannot be like the other's, which still has
the frame; but it is inside the other's whole text, and that of a sibling page of the site is not.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from neardup_stream.errors import ConfigError
from neardup_stream.fingerprints.framed import (
    SHORT_SHINGLES,
    FramedSketch,
    frame_share,
    text_shingle_count,
    whole_overlaps,
)
from neardup_stream.fingerprints.sketch import (
    SketchConfig,
    containments,
    estimate_resemblances,
    stack_sketches,
)

__all__ = [
    "MIN_CONTENT_SHINGLES",
    "SHORT_CONTAINMENT",
    "Likeness",
    "VerdictConfig",
    "are_alike_known",
    "judge_likeness",
    "least_content_inside",
]

MIN_CONTENT_SHINGLES = 8
"""What is left of a page beside its frame must have as many to be compared: as many as ten tokens have."""

_CONTENT_INSIDE_UNKNOWN = 0.3
_CHANCE_MARGIN = 0.75
_ALIKE_KNOWN = 0.15
_CONTENT_INSIDE_KNOWN = 0.9
_CONTENT_INSIDE_SMALL_FRAME = 0.65
"""A page alike to .90 by tokens keeps .73 of its shingles; of 64 samples the estimate errs by .06 to .08."""

_SMALL_FRAME = 0.5
"""A frame of at most so much of either page cannot make whole texts alike by itself."""


EMPTY_CONTAINMENT = 0.95
"""Least share of either whole text inside the other, for a match of pages without content of their own."""

SHORT_CONTAINMENT = 0.8
"""Least share of either whole text inside the other, for a match of short pages."""


@dataclass(frozen=True, slots=True)
class VerdictConfig:
    """When two pages are alike.

    Attributes:
        sketch: how sketches are made; None judges by the distance of the simhashes alone.
        distance_bits: most differing bits of a match, where there is no sketch.
        near_resemblance: least estimated resemblance of a match, above 0.
        near_containment: least estimated share of either page inside the other for a match, above 0.
        contained_containment: least estimated share of a page inside another to call it contained, above 0.
        content_containment: the same as `near_containment`, of two contents beside which both pages have a
            known frame; higher, because what is left is smaller and tells less.
    """

    sketch: SketchConfig | None
    distance_bits: int = 3
    near_resemblance: float = 0.55
    near_containment: float = 0.715
    contained_containment: float = 0.9
    content_containment: float = 0.73

    def __post_init__(self) -> None:
        """Refuse a threshold that everything or nothing meets.

        Raises:
            ConfigError: a ratio is not above 0 and at most 1.
        """
        for name in (
            "near_resemblance",
            "near_containment",
            "contained_containment",
            "content_containment",
        ):
            if not 0 < getattr(self, name) <= 1:
                raise ConfigError(f"verdict.{name} ({getattr(self, name)}) must be above 0 and at most 1")


class Likeness(NamedTuple):
    """Verdicts on pairs of pages; one entry a pair.

    Attributes:
        is_near: bool.
        is_whole: whether the whole texts decided, or nothing else could be compared; bool.
        resemblances: of what decided, float64 in [0, 1].
        own: share of the one page inside the other, float64 in [0, 1].
        other: the other way round.
    """

    is_near: NDArray[np.bool_]
    is_whole: NDArray[np.bool_]
    resemblances: NDArray[np.float64]
    own: NDArray[np.float64]
    other: NDArray[np.float64]


def judge_likeness(
    lefts: Sequence[FramedSketch], rights: Sequence[FramedSketch], config: VerdictConfig
) -> Likeness:
    """Judge pages pair by pair; `config` has a sketch.

    Cost: 100 µs and 1 µs a pair, three times that for pairs with a known frame.
    """
    sketch = _sketch_of(config)
    counts = [np.array([page.shingle_count for page in side]) for side in (lefts, rights)]
    framed = [np.array([page.whole_count > 0 for page in side], np.bool_) for side in (lefts, rights)]
    resemblances = estimate_resemblances(_sketches(lefts, sketch), _sketches(rights, sketch), sketch)
    own, other = containments(resemblances, *counts)
    both_framed, any_framed = framed[0] & framed[1], framed[0] | framed[1]
    bound = np.where(both_framed, config.content_containment, config.near_containment)
    is_near = (resemblances >= config.near_resemblance) & (np.minimum(own, other) >= bound)
    for is_framed, count in zip(framed, counts, strict=True):
        is_too_little = is_framed & (count < MIN_CONTENT_SHINGLES)
        is_near &= ~is_too_little
        own[is_too_little] = other[is_too_little] = 0.0  # nor do they contain each other
    likeness = Likeness(is_near, ~any_framed, resemblances, own, other)
    open_pairs = np.flatnonzero(any_framed & ~is_near)
    if open_pairs.size:
        _judge_wholes(lefts, rights, open_pairs, likeness, config)
    return likeness


def _judge_wholes(
    lefts: Sequence[FramedSketch],
    rights: Sequence[FramedSketch],
    at: NDArray[np.intp],
    likeness: Likeness,
    config: VerdictConfig,
) -> None:
    """Compare whole texts of the pairs `at`, and write down those that are near by them."""
    rows = at.tolist()
    one, two = [lefts[row] for row in rows], [rights[row] for row in rows]
    whole = whole_overlaps(one, two, _sketch_of(config))
    mutual = np.minimum(whole.own, whole.other)
    is_inside = whole.own_content >= least_content_inside(whole.own_samples, one, two)
    is_inside &= whole.other_content >= least_content_inside(whole.other_samples, one, two)
    counts = np.array([[text_shingle_count(page) for page in side] for side in (one, two)])
    has_content = np.array([a.shingle_count + b.shingle_count > 0 for a, b in zip(one, two, strict=True)])
    is_near = (
        (whole.resemblances >= config.near_resemblance)
        & (mutual >= config.near_containment)
        & is_inside
        & has_content
    ) | ((counts.max(axis=0) <= SHORT_SHINGLES) & (mutual >= SHORT_CONTAINMENT))
    left = np.array([[page.shingle_count for page in side] for side in (one, two)]).max(axis=0)
    is_near |= (left < MIN_CONTENT_SHINGLES) & (mutual >= EMPTY_CONTAINMENT)
    near_at = at[is_near]
    likeness.is_near[near_at] = likeness.is_whole[near_at] = True
    for column, values in zip(likeness[2:], whole[:3], strict=True):
        column[near_at] = values[is_near]


def are_alike_known(lefts: Sequence[FramedSketch], rights: Sequence[FramedSketch]) -> NDArray[np.bool_]:
    """Whether both pages of a pair lost about the same share of their shingles as frame, and some at all.

    If they did not, their sites' frames were not equally known when they came.
    """
    shares = _frame_shares(lefts, rights)
    alike: NDArray[np.bool_] = np.abs(shares[0] - shares[1]) <= _ALIKE_KNOWN
    alike &= (shares[0] > 0) & (shares[1] > 0)
    return alike


def least_content_inside(
    samples: NDArray[np.float64], lefts: Sequence[FramedSketch], rights: Sequence[FramedSketch]
) -> NDArray[np.float64]:
    """The least share of a content inside the other whole text, for pairs of pages.

    Where both lost as much to frames, whole texts of pages that are mostly frame may be alike by their
    frames; other pages that are alike are so by their contents too, if perhaps by noisy ones. Where not, it
    is what is no chance: codes of 4 bits agree by chance once in 15, so of few samples nearly all must agree.
    An empty content, whose share is 1, is inside everything; one of which there is no sample, whose share is
    0, inside nothing.
    """
    unknown = _CONTENT_INSIDE_UNKNOWN + _CHANCE_MARGIN / np.sqrt(np.maximum(samples, 1))
    is_small = _frame_shares(lefts, rights).max(axis=0) <= _SMALL_FRAME
    known = np.where(is_small, _CONTENT_INSIDE_SMALL_FRAME, _CONTENT_INSIDE_KNOWN)
    least = np.where(are_alike_known(lefts, rights), known, unknown)
    return np.where(samples > 0, least, 1.0)


def _frame_shares(lefts: Sequence[FramedSketch], rights: Sequence[FramedSketch]) -> NDArray[np.float64]:
    """Of each side, float64[2, pairs]."""
    return np.array([[frame_share(page) for page in side] for side in (lefts, rights)])


def _sketches(pages: Sequence[FramedSketch], sketch: SketchConfig) -> NDArray[np.uint8]:
    return stack_sketches([page.sketch for page in pages], sketch.sketch_bytes)


def _sketch_of(config: VerdictConfig) -> SketchConfig:
    if config.sketch is None:
        raise ConfigError("verdict.scheme = simhash keeps no sketches to compare pages by")
    return config.sketch
