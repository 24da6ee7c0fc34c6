"""Classify pairs of pages: exact, near, contained, or below every threshold. The one rule for all. Pure.

    exact       the same sequence of tokens
    near        contents        near_resemblance, and near_containment both ways; content_containment where
                                both pages have a known frame, and more than half of one is frame; and
                                MIN_CONTENT_SHINGLES are left of each
                whole texts     the same two, and most of each content is inside the other's whole text:
                                nine tenths where both lost as much to frames; .65 where that was half of
                                each at most, or noise damaged the frame of one; where they did not lose as
                                much, a third, and more if there are few samples
                short pages     four fifths of each whole text inside the other, and a fifth of each
                                content
                no content      next to nothing is left of both: nineteen twentieths of each whole text
                                inside the other
    contained   one is inside the other to contained_containment, and the other holds much else

Resemblance alone would let a long page match a short one that it holds whole; what near-duplicates have in
common is most of *both*. Where the frame of a site is known for one page only, its content cannot be like the
other's, which still has the frame; but it is inside the other's whole text, and that of a sibling page of the
site is not.

Without sketches, pages are near within `distance_bits` of their simhashes, and nothing is contained.

`pair_figures` measures. Which pages may be compared at all (living page records of one scope, with enough
tokens) is decided before: see `candidate_comparison` and `register`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import repeat
from typing import Final, Literal, NamedTuple, get_args

import msgspec
import numpy as np
from numpy.typing import NDArray

from neardup_stream.bits.words import WORD_BITS
from neardup_stream.errors import ConfigError
from neardup_stream.fingerprints.framed import SHORT_SHINGLES
from neardup_stream.fingerprints.sketch import SketchConfig
from neardup_stream.match import View
from neardup_stream.pipeline.contents_inside import SMALL_FRAME, contents_inside, least_content_inside
from neardup_stream.pipeline.pair_figures import ContentFigures, PairFigures, WholeFigures
from neardup_stream.text.arguments import whole_number_in

__all__ = [
    "EMPTY_CONTAINMENT",
    "MIN_CONTENT_SHINGLES",
    "SHORT_CONTAINMENT",
    "SHORT_CONTENT_INSIDE",
    "Classified",
    "ClassifiedPair",
    "PairClass",
    "VerdictConfig",
    "are_empty",
    "are_short",
    "classify",
]

PairClass = Literal["exact", "near", "contained", "below_threshold"]
"""What two pages are to each other; `exact` and `near` are matches."""

_CLASSES: Final[tuple[PairClass, ...]] = get_args(PairClass)
_EXACT, _NEAR, _CONTAINED, _BELOW = range(len(_CLASSES))

_Inside = tuple[NDArray[np.float64], NDArray[np.float64]]
"""The share of each content inside the other whole text, see `contents_inside`."""

MIN_CONTENT_SHINGLES: Final = 8
"""What is left of a page beside its frame must have as many to be compared: as many as ten tokens have."""

EMPTY_CONTAINMENT: Final = 0.95
"""Least share of each whole text inside the other, for a match of pages without content of their own."""

SHORT_CONTAINMENT: Final = 0.8
"""Least share of each whole text inside the other, for a match of short pages."""

SHORT_CONTENT_INSIDE: Final = 0.2
"""Least share of each content inside the other whole text, for a match of short pages: of a sentence beside
a menu there are few samples, but some of those of a copy agree."""


@dataclass(frozen=True, slots=True)
class VerdictConfig:
    """The thresholds that an operator may set.

    Attributes:
        sketch: how sketches are made; None classifies by the distance of the simhashes alone.
        distance_bits: most differing bits of a match, where there is no sketch.
        near_resemblance: least estimated resemblance of a match, above 0.
        near_containment: least estimated share of each page inside the other for a match, above 0.
        contained_containment: least estimated share of a page inside another to call it contained, above 0.
        content_containment: the same as `near_containment`, of two contents beside which both pages have a
            known frame, one of more than half of it; higher, because what is left is weaker evidence.
    """

    sketch: SketchConfig | None = field(default_factory=SketchConfig)
    distance_bits: int = 3
    near_resemblance: float = 0.55
    near_containment: float = 0.715
    contained_containment: float = 0.9
    content_containment: float = 0.73

    def __post_init__(self) -> None:
        """Refuse a threshold that everything or nothing meets.

        Raises:
            ConfigError: a ratio is not above 0 and at most 1, or `distance_bits` is not 0 to 63.
            TypeError: `distance_bits` is no whole number.
        """
        whole_number_in("verdict.distance_bits", self.distance_bits, 0, WORD_BITS - 1)
        for name in (
            "near_resemblance",
            "near_containment",
            "contained_containment",
            "content_containment",
        ):
            if not 0 < getattr(self, name) <= 1:
                raise ConfigError(f"verdict.{name} ({getattr(self, name)}) must be above 0 and at most 1")


class ClassifiedPair(msgspec.Struct, frozen=True, gc=False):
    """The class of one pair, and the figures that decided; None where there is no sketch.

    Attributes:
        name: the class.
        view: what decided: the contents, or the whole texts; `whole` also if no frame is known.
        resemblance: in [0, 1].
        own: share of the one page inside the other, in [0, 1].
        other: the other way round.
    """

    name: PairClass
    view: View
    resemblance: float | None = None
    own: float | None = None
    other: float | None = None


class Classified(NamedTuple):
    """The classes of pairs, and the figures that decided; one entry a pair.

    Attributes:
        classes: numbers of classes, uint8.
        is_whole: whether the whole texts decided, or nothing else could be compared; bool.
        resemblances: of what decided, float64 in [0, 1]; None where there is no sketch, as the next two.
        own: share of the one page inside the other, float64 in [0, 1].
        other: the other way round.
    """

    classes: NDArray[np.uint8]
    is_whole: NDArray[np.bool_]
    resemblances: NDArray[np.float64] | None = None
    own: NDArray[np.float64] | None = None
    other: NDArray[np.float64] | None = None

    @property
    def is_match(self) -> NDArray[np.bool_]:
        """Return which pairs are exact or near."""
        matches: NDArray[np.bool_] = self.classes <= _NEAR
        return matches

    @property
    def is_exact(self) -> NDArray[np.bool_]:
        """Return which pairs are exact."""
        exact: NDArray[np.bool_] = self.classes == _EXACT
        return exact

    @property
    def is_contained(self) -> NDArray[np.bool_]:
        """Return which pairs are contained."""
        contained: NDArray[np.bool_] = self.classes == _CONTAINED
        return contained

    @property
    def mutual(self) -> NDArray[np.float64]:
        """Return the smaller of both containments; 1 where there is no sketch."""
        if self.own is None or self.other is None:
            return np.ones(self.classes.size)
        return np.minimum(self.own, self.other)

    def pairs(self) -> Iterator[ClassifiedPair]:
        """Yield the pairs one by one. Cost: 1 µs each."""
        ratios = [
            repeat(None) if column is None else column.tolist()
            for column in (self.resemblances, self.own, self.other)
        ]
        for number, is_whole, *figures in zip(self.classes.tolist(), self.is_whole.tolist(), *ratios):  # noqa: B905 - `repeat` has no end
            yield ClassifiedPair(_CLASSES[number], "whole" if is_whole else "content", *figures)


def classify(figures: PairFigures, config: VerdictConfig) -> Classified:
    """Classify pairs of pages; symmetric, and independent of the other pairs.

    Args:
        figures: measured by the caller.
        config: the thresholds.

    Cost: 40 µs a call, twice that where whole texts count.
    """
    contents = figures.contents
    if contents is None:
        is_near = figures.distance_bits <= config.distance_bits
        return Classified(_numbers(figures.is_same_text, is_near), np.ones(is_near.size, np.bool_))
    is_comparable = _are_comparable(contents)
    is_near = is_comparable & _near_by_content(contents, config)
    ratios = [
        contents.resemblances.copy(),
        np.where(is_comparable, contents.own, 0.0),  # nor do they contain each other
        np.where(is_comparable, contents.other, 0.0),
    ]
    is_framed = contents.own_framed | contents.other_framed
    is_whole = ~is_framed
    open_rows = np.flatnonzero(is_framed & ~is_near & ~figures.is_same_text)
    if open_rows.size:
        wholes = figures.wholes_of(open_rows)
        inside = contents_inside(wholes)
        is_near_whole = _near_by_whole(wholes, inside, config)
        near_rows = open_rows[is_near_whole]
        is_near[near_rows] = is_whole[near_rows] = True
        for column, values in zip(ratios, _whole_ratios(wholes, inside, config), strict=True):
            column[near_rows] = values[is_near_whole]
    is_whole |= figures.is_same_text
    for column in ratios:
        column[figures.is_same_text] = 1.0
    is_contained = np.maximum(ratios[1], ratios[2]) >= config.contained_containment
    return Classified(_numbers(figures.is_same_text, is_near, is_contained), is_whole, *ratios)


def are_short(wholes: WholeFigures) -> NDArray[np.bool_]:
    """Return whether both whole texts of a pair are short."""
    short: NDArray[np.bool_] = wholes.counts.max(axis=0) <= SHORT_SHINGLES
    return short


def are_empty(wholes: WholeFigures) -> NDArray[np.bool_]:
    """Return whether next to nothing is left of both pages of a pair beside their frames."""
    empty: NDArray[np.bool_] = wholes.left.max(axis=0) < MIN_CONTENT_SHINGLES
    return empty


def _are_comparable(contents: ContentFigures) -> NDArray[np.bool_]:
    """Return whether enough is left of both pages beside their frames."""
    own_is_little = contents.own_framed & (contents.own_counts < MIN_CONTENT_SHINGLES)
    return ~(own_is_little | (contents.other_framed & (contents.other_counts < MIN_CONTENT_SHINGLES)))


def _near_by_content(contents: ContentFigures, config: VerdictConfig) -> NDArray[np.bool_]:
    is_weak = contents.own_framed & contents.other_framed & (contents.frame_shares > SMALL_FRAME)
    least = np.where(is_weak, config.content_containment, config.near_containment)
    is_inside: NDArray[np.bool_] = np.minimum(contents.own, contents.other) >= least
    return is_inside & (contents.resemblances >= config.near_resemblance)


def _near_by_whole(wholes: WholeFigures, inside: _Inside, config: VerdictConfig) -> NDArray[np.bool_]:
    overlaps, mutual = wholes.overlaps, wholes.mutual
    own_inside, other_inside = inside
    least_own, least_other = least_content_inside(wholes)
    is_alike = overlaps.resemblances >= config.near_resemblance
    is_alike &= mutual >= config.near_containment
    is_alike &= (own_inside >= least_own) & (other_inside >= least_other)
    is_alike &= wholes.left.sum(axis=0) > 0
    is_short = are_short(wholes) & (mutual >= SHORT_CONTAINMENT)
    is_short &= np.minimum(own_inside, other_inside) >= SHORT_CONTENT_INSIDE
    is_empty = are_empty(wholes) & (mutual >= EMPTY_CONTAINMENT)
    near: NDArray[np.bool_] = is_alike | is_short | is_empty
    return near


def _whole_ratios(
    wholes: WholeFigures, inside: _Inside, config: VerdictConfig
) -> Sequence[NDArray[np.float64]]:
    """Return the resemblance of whole texts, and both containments, as far as the contents bear them out.

    Whole texts may be inside each other by their frames. Of a page that is neither short nor without content
    the share of its content counts where that is smaller, if it is above the least of a match.
    """
    resemblances, own, other = wholes.overlaps[:3]
    is_whole_alone = are_short(wholes) | are_empty(wholes)
    return resemblances, *(
        np.where(is_whole_alone, whole, np.minimum(whole, np.maximum(content, config.near_containment)))
        for whole, content in zip((own, other), inside, strict=True)
    )


def _numbers(
    is_exact: NDArray[np.bool_], is_near: NDArray[np.bool_], is_contained: NDArray[np.bool_] | None = None
) -> NDArray[np.uint8]:
    """Return the number of the first class that applies."""
    numbers = np.full(is_exact.size, _BELOW, np.uint8)
    if is_contained is not None:
        numbers[is_contained] = _CONTAINED
    numbers[is_near] = _NEAR
    numbers[is_exact] = _EXACT
    return numbers
