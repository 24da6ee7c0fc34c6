"""Figures of pairs of pages, far from every threshold if nothing is said, and their class."""

from typing import NamedTuple

import numpy as np

from neardup_stream.fingerprints.framed import WholeOverlaps
from neardup_stream.fingerprints.sketch import SketchConfig
from neardup_stream.pipeline.classification import ClassifiedPair, VerdictConfig, classify
from neardup_stream.pipeline.pair_figures import ContentFigures, PairFigures, WholeFigures

SKETCHED = VerdictConfig(
    SketchConfig(),
    near_resemblance=0.5,
    near_containment=0.6,
    contained_containment=0.85,
    content_containment=0.7,
)


class Contents(NamedTuple):
    """The figures of two contents: of 100 shingles, and far from every threshold if nothing is said.

    Frames that are known are more than half of their pages.
    """

    resemblance: float = 0.0
    own: float = 0.0
    other: float = 0.0
    counts: tuple[int, int] = (100, 100)
    framed: tuple[bool, bool] = (False, False)
    frame_share: float = 0.8


class Wholes(NamedTuple):
    """The figures of two whole texts that are alike as a whole, and share their contents."""

    resemblance: float = 1.0
    own: float = 1.0
    other: float = 1.0
    contents_inside: tuple[float, float] = (1.0, 1.0)
    contents_common: tuple[float, float] = (0.0, 0.0)
    samples: tuple[int, int] = (16, 16)
    counts: tuple[int, int] = (1000, 1000)
    left: tuple[int, int] = (100, 100)


def column(value: float) -> "np.ndarray[tuple[int], np.dtype[np.float64]]":
    return np.array([value], np.float64)


def figures(contents: Contents, wholes: Wholes | None, *, is_same_text: bool = False) -> PairFigures:
    def wholes_of(rows: object) -> WholeFigures:
        assert wholes is not None, rows
        shares = (wholes.resemblance, wholes.own, wholes.other, *wholes.contents_inside, *wholes.samples)
        return WholeFigures(
            WholeOverlaps(*map(column, shares)),
            np.array([wholes.contents_common]).T,
            np.array([wholes.counts]).T,
            np.array([wholes.left]).T,
        )

    own_count, other_count = contents.counts
    own_framed, other_framed = contents.framed
    return PairFigures(
        np.array([is_same_text]),
        np.array([64], np.uint8),
        ContentFigures(
            resemblances=column(contents.resemblance),
            own=column(contents.own),
            other=column(contents.other),
            own_counts=np.array([own_count]),
            other_counts=np.array([other_count]),
            own_framed=np.array([own_framed]),
            other_framed=np.array([other_framed]),
            frame_shares=column(contents.frame_share * any(contents.framed)),
        ),
        wholes_of,
    )


def classified(contents: Contents, wholes: Wholes | None = None) -> ClassifiedPair:
    """Return the pair, which must have the same class from the other side."""
    (found,) = classify(figures(contents, wholes), SKETCHED).pairs()
    back = contents._replace(
        own=contents.other, other=contents.own, counts=contents.counts[::-1], framed=contents.framed[::-1]
    )
    wholes_back = wholes and wholes._replace(
        own=wholes.other,
        other=wholes.own,
        contents_inside=wholes.contents_inside[::-1],
        contents_common=wholes.contents_common[::-1],
        samples=wholes.samples[::-1],
        counts=wholes.counts[::-1],
        left=wholes.left[::-1],
    )
    (mirrored,) = classify(figures(back, wholes_back), SKETCHED).pairs()
    assert (mirrored.name, mirrored.view) == (found.name, found.view)
    return found


ALIKE = Contents(0.9, 0.8, 0.8)
APART = Contents(0.1, 0.1, 0.1)
ONE_FRAMED, BOTH_FRAMED = (True, False), (True, True)
