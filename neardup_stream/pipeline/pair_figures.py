"""Measure pairs of pages by what is stored of them: the figures that `classification.classify` decides by."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from neardup_stream.errors import InvariantBroken
from neardup_stream.fingerprints.framed import (
    FramedSketch,
    WholeOverlaps,
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
    "ContentFigures",
    "FingerprintedPage",
    "PairFigures",
    "WholeFigures",
    "no_wholes",
    "page_figures",
    "text_figures",
]


class ContentFigures(NamedTuple):
    """What is measured of the contents of pairs; one entry a pair.

    Attributes:
        resemblances: float64 in [0, 1].
        own: share of the one content inside the other, float64 in [0, 1].
        other: the other way round.
        own_counts: shingles of the one content, repeats included.
        other_counts: of the other.
        own_framed: whether the frame of the one page is known, so that its content is less than its text.
        other_framed: the same of the other.
        frame_shares: the larger fraction of both whole texts that is known as frame, float64 in [0, 1].
    """

    resemblances: NDArray[np.float64]
    own: NDArray[np.float64]
    other: NDArray[np.float64]
    own_counts: NDArray[np.int64]
    other_counts: NDArray[np.int64]
    own_framed: NDArray[np.bool_]
    other_framed: NDArray[np.bool_]
    frame_shares: NDArray[np.float64]

    @classmethod
    def of(
        cls,
        resemblances: NDArray[np.float64],
        counts: tuple[NDArray[np.int64], NDArray[np.int64]],
        framed: tuple[NDArray[np.bool_], NDArray[np.bool_]],
        frame_shares: NDArray[np.float64],
    ) -> Self:
        """Return the figures of pairs with these resemblances, and counts and frames of both sides."""
        own, other = containments(resemblances, *counts)
        return cls(resemblances, own, other, *counts, *framed, frame_shares)

    @classmethod
    def of_texts(
        cls, resemblances: NDArray[np.float64], counts: tuple[NDArray[np.int64], NDArray[np.int64]]
    ) -> Self:
        """Return the figures of pairs without a known frame."""
        unframed = np.zeros(resemblances.size, np.bool_)
        return cls.of(resemblances, counts, (unframed, unframed), np.zeros(resemblances.size))


class WholeFigures(NamedTuple):
    """What is measured of the whole texts of pairs; one entry a pair.

    Attributes:
        overlaps: of the whole texts, and of each content with the other's whole text.
        contents: fraction of each content that is inside the other content, float64[2, pairs] in [0, 1].
        counts: shingles of the whole texts, int64[2, pairs].
        left: shingles of the contents, int64[2, pairs].
    """

    overlaps: WholeOverlaps
    contents: NDArray[np.float64]
    counts: NDArray[np.int64]
    left: NDArray[np.int64]

    @property
    def mutual(self) -> NDArray[np.float64]:
        """Return the smaller of both containments."""
        return np.minimum(self.overlaps.own, self.overlaps.other)

    @property
    def frame_shares(self) -> NDArray[np.float64]:
        """Return the fraction of each whole text that is frame, float64[2, pairs]."""
        shares: NDArray[np.float64] = np.where(
            self.counts > 0, 1 - self.left / np.maximum(self.counts, 1), 0.0
        )
        return shares


def no_wholes(_rows: NDArray[np.intp]) -> WholeFigures:
    """Raise: the whole texts of pages whose frames are not known are never compared."""
    raise InvariantBroken("whole texts are compared only where a frame is known")


class PairFigures(NamedTuple):
    """All that counts of pairs of pages; one entry a pair.

    Attributes:
        is_same_text: whether both have the same sequence of tokens.
        distance_bits: differing bits of the simhashes; counts only where there is no sketch.
        contents: None where there is no sketch.
        wholes_of: measures the whole texts of some rows; called at most once, for the rows that depend on
            them.
    """

    is_same_text: NDArray[np.bool_]
    distance_bits: NDArray[np.uint8]
    contents: ContentFigures | None
    wholes_of: Callable[[NDArray[np.intp]], WholeFigures] = no_wholes


class FingerprintedPage(FramedSketch, Protocol):
    """What a record stores of a page's text."""

    @property
    def fingerprint(self) -> int:
        """Return the simhash."""
        ...

    @property
    def text_fingerprint(self) -> int:
        """Return the fingerprint of the sequence of tokens."""
        ...


def page_figures(
    lefts: Sequence[FingerprintedPage], rights: Sequence[FingerprintedPage], sketch: SketchConfig | None
) -> PairFigures:
    """Measure pages pair by pair.

    Args:
        lefts: the one page of each pair.
        rights: the other.
        sketch: how their sketches were made; None if they have none.

    Cost: 100 µs and 1 µs a pair, three times that for pairs with a known frame.
    """
    texts = [np.array([page.text_fingerprint for page in side], np.uint64) for side in (lefts, rights)]
    simhashes = [np.array([page.fingerprint for page in side], np.uint64) for side in (lefts, rights)]
    is_same_text, bits = texts[0] == texts[1], np.bitwise_count(simhashes[0] ^ simhashes[1])
    if sketch is None:
        return PairFigures(is_same_text, bits, None)
    figures = text_figures(lefts, rights, sketch)
    return figures._replace(is_same_text=is_same_text, distance_bits=bits)


def text_figures(
    lefts: Sequence[FramedSketch], rights: Sequence[FramedSketch], sketch: SketchConfig
) -> PairFigures:
    """Measure pages with different texts by their sketches alone; see `page_figures`."""
    count, contents = len(lefts), content_figures(lefts, rights, sketch)
    return PairFigures(
        np.zeros(count, np.bool_),
        np.zeros(count, np.uint8),
        contents,
        partial(_wholes_of, lefts, rights, sketch, np.array([contents.own, contents.other])),
    )


def content_figures(
    lefts: Sequence[FramedSketch], rights: Sequence[FramedSketch], sketch: SketchConfig
) -> ContentFigures:
    """Measure contents pair by pair."""
    left_counts, right_counts = (np.array([page.shingle_count for page in side]) for side in (lefts, rights))
    left_framed, right_framed = (
        np.array([page.whole_count > 0 for page in side], np.bool_) for side in (lefts, rights)
    )
    resemblances = estimate_resemblances(_sketches(lefts, sketch), _sketches(rights, sketch), sketch)
    frame_shares = np.array(
        [max(frame_share(left), frame_share(right)) for left, right in zip(lefts, rights, strict=True)],
        np.float64,
    )
    return ContentFigures.of(
        resemblances, (left_counts, right_counts), (left_framed, right_framed), frame_shares
    )


def _wholes_of(
    all_lefts: Sequence[FramedSketch],
    all_rights: Sequence[FramedSketch],
    sketch: SketchConfig,
    contents: NDArray[np.float64],
    rows: NDArray[np.intp],
) -> WholeFigures:
    """Measure the whole texts of some pairs, of all of which the contents were measured."""
    lefts, rights = sides = [[side[row] for row in rows.tolist()] for side in (all_lefts, all_rights)]
    return WholeFigures(
        whole_overlaps(lefts, rights, sketch),
        contents[:, rows],
        np.array([[text_shingle_count(page) for page in side] for side in sides]),
        np.array([[page.shingle_count for page in side] for side in sides]),
    )


def _sketches(pages: Sequence[FramedSketch], sketch: SketchConfig) -> NDArray[np.uint8]:
    return stack_sketches([page.sketch for page in pages], sketch.sketch_bytes)
