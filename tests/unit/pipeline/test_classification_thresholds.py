"""The table of thresholds: on each one a pair has one class, and just below or above it another."""

from dataclasses import fields
from typing import NamedTuple

import numpy as np
import pytest

from neardup_stream.errors import InvariantBroken
from neardup_stream.fingerprints.framed import SHORT_SHINGLES, WholeOverlaps
from neardup_stream.fingerprints.sketch import SketchConfig
from neardup_stream.pipeline import classification
from neardup_stream.pipeline.classification import ClassifiedPair, PairClass, VerdictConfig, classify
from neardup_stream.pipeline.pair_figures import ContentFigures, PairFigures, WholeFigures, no_wholes

SKETCHED = VerdictConfig(
    SketchConfig(),
    near_resemblance=0.5,
    near_containment=0.6,
    contained_containment=0.85,
    content_containment=0.7,
)
SIMHASH = VerdictConfig(None, distance_bits=3)
HAIR = 1e-9


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
NO_FRAME_SHARE = (1000, 1000)

# Threshold, what is on it, what is a hair beside it, and the classes of both.
BY_CONTENT: list[tuple[str, Contents, Contents, PairClass, PairClass]] = [
    (
        "near_resemblance",
        ALIKE._replace(resemblance=0.5),
        ALIKE._replace(resemblance=0.5 - HAIR),
        "near",
        "below_threshold",
    ),
    ("near_containment", ALIKE._replace(own=0.6), ALIKE._replace(own=0.6 - HAIR), "near", "below_threshold"),
    (
        "near_containment",
        ALIKE._replace(own=0.6, framed=ONE_FRAMED),
        ALIKE._replace(own=0.6 - HAIR, framed=ONE_FRAMED),
        "near",
        "below_threshold",
    ),
    (
        "content_containment",
        ALIKE._replace(own=0.7, framed=BOTH_FRAMED),
        ALIKE._replace(own=0.7 - HAIR, framed=BOTH_FRAMED),
        "near",
        "below_threshold",
    ),
    (
        "near_containment beside small frames",
        ALIKE._replace(own=0.6, framed=BOTH_FRAMED, frame_share=0.5),
        ALIKE._replace(own=0.6 - HAIR, framed=BOTH_FRAMED, frame_share=0.5),
        "near",
        "below_threshold",
    ),
    (
        "SMALL_FRAME",
        ALIKE._replace(own=0.6, framed=BOTH_FRAMED, frame_share=0.5),
        ALIKE._replace(own=0.6, framed=BOTH_FRAMED, frame_share=0.5 + HAIR),
        "near",
        "below_threshold",
    ),
    (
        "contained_containment",
        APART._replace(own=0.85),
        APART._replace(own=0.85 - HAIR),
        "contained",
        "below_threshold",
    ),
    (
        "MIN_CONTENT_SHINGLES",
        ALIKE._replace(counts=(8, 100), framed=ONE_FRAMED),
        ALIKE._replace(counts=(7, 100), framed=ONE_FRAMED),
        "near",
        "below_threshold",
    ),
    (
        "MIN_CONTENT_SHINGLES",
        APART._replace(own=1.0, counts=(8, 100), framed=ONE_FRAMED),
        APART._replace(own=1.0, counts=(7, 100), framed=ONE_FRAMED),
        "contained",
        "below_threshold",
    ),
]
UNLIKE_WHOLES = Wholes(0.0, 0.0, 0.0)

# The same for whole texts, of pages whose contents are apart.
BY_WHOLE: list[tuple[str, Wholes, Wholes]] = [
    ("near_resemblance", Wholes(resemblance=0.5), Wholes(resemblance=0.5 - HAIR)),
    ("near_containment", Wholes(own=0.6), Wholes(own=0.6 - HAIR)),
    (
        "CONTENT_INSIDE_KNOWN",
        Wholes(contents_inside=(0.9, 1.0)),
        Wholes(contents_inside=(0.9 - HAIR, 1.0)),
    ),
    (
        "CONTENT_INSIDE_KNOWN, by the contents",
        Wholes(contents_inside=(0.5, 1.0), contents_common=(0.9, 0.5)),
        Wholes(contents_inside=(0.5, 1.0), contents_common=(0.9 - HAIR, 0.5)),
    ),
    (
        "CONTENT_INSIDE_NOISY",
        Wholes(contents_inside=(0.65, 1.0), left=(900, 900)),
        Wholes(contents_inside=(0.65 - HAIR, 1.0), left=(900, 900)),
    ),
    (
        "SMALL_FRAME",
        Wholes(contents_inside=(0.65, 1.0), left=(500, 500)),
        Wholes(contents_inside=(0.65, 1.0), left=(499, 500)),
    ),
    (
        "DAMAGED_FRAME",
        Wholes(contents_inside=(0.65, 0.65), left=(100, 181)),
        Wholes(contents_inside=(0.65, 0.65), left=(100, 179)),
    ),
    (
        "CONTENT_INSIDE_UNKNOWN",  # 16 samples add three quarters of a fourth to three tenths
        Wholes(contents_inside=(0.4875, 1.0), contents_common=(0.4875, 0.0), left=(100, 1000)),
        Wholes(contents_inside=(0.4875 - HAIR, 1.0), contents_common=(0.4875, 0.0), left=(100, 1000)),
    ),
    (
        "CONTENT_INSIDE_UNKNOWN, by the contents",
        Wholes(contents_inside=(0.875, 1.0), contents_common=(0.1, 0.0), left=(100, 1000)),
        Wholes(contents_inside=(0.875, 1.0), contents_common=(0.1 - HAIR, 0.0), left=(100, 1000)),
    ),
    (
        "CHANCE_MARGIN",
        Wholes(contents_inside=(0.55, 1.0), contents_common=(0.55, 0.0), samples=(9, 16), left=(100, 1000)),
        Wholes(contents_inside=(0.55, 1.0), contents_common=(0.55, 0.0), samples=(8, 16), left=(100, 1000)),
    ),
    (
        "ALIKE_KNOWN",  # frames known alike ask for more
        Wholes(contents_inside=(0.5, 1.0), contents_common=(0.5, 0.0), left=(649, 800)),
        Wholes(contents_inside=(0.5, 1.0), contents_common=(0.5, 0.0), left=(651, 800)),
    ),
    (
        "SHORT_SHINGLES",
        Wholes(contents_inside=(0.45, 0.45), counts=(SHORT_SHINGLES, 50), left=(20, 20)),
        Wholes(contents_inside=(0.45, 0.45), counts=(SHORT_SHINGLES + 1, 50), left=(20, 20)),
    ),
    (
        "SHORT_CONTAINMENT",
        Wholes(own=0.8, contents_inside=(0.45, 0.45), counts=(100, 50), left=(20, 20)),
        Wholes(own=0.8 - HAIR, contents_inside=(0.45, 0.45), counts=(100, 50), left=(20, 20)),
    ),
    (
        "SHORT_CONTENT_INSIDE",
        Wholes(contents_inside=(0.2, 1.0), contents_common=(0.1, 0.0), counts=(100, 100), left=(20, 20)),
        Wholes(
            contents_inside=(0.2 - HAIR, 1.0), contents_common=(0.1, 0.0), counts=(100, 100), left=(20, 20)
        ),
    ),
    (
        "EMPTY_CONTAINMENT",
        Wholes(own=0.95, contents_inside=(0.0, 0.0), left=(7, 7)),
        Wholes(own=0.95 - HAIR, contents_inside=(0.0, 0.0), left=(7, 7)),
    ),
    (
        "MIN_CONTENT_SHINGLES",
        Wholes(contents_inside=(0.0, 0.0), left=(7, 7)),
        Wholes(contents_inside=(0.0, 0.0), left=(8, 7)),
    ),
    (
        "a sample of the content",
        Wholes(samples=(1, 16), contents_inside=(1.0, 1.0)),
        Wholes(samples=(0, 16), contents_inside=(1.0 - HAIR, 1.0)),
    ),
    (
        "something is left",
        Wholes(resemblance=0.9, own=0.9, other=0.9, left=(1, 0), counts=(1000, 1000)),
        Wholes(resemblance=0.9, own=0.9, other=0.9, left=(0, 0), counts=(1000, 1000)),
    ),
]


def ids(table: list[tuple[str, Contents, Contents, PairClass, PairClass]]) -> list[str]:
    return [row[0] for row in table]


@pytest.mark.parametrize(("threshold", "on", "beside", "name", "other_name"), BY_CONTENT, ids=ids(BY_CONTENT))
def test_contents_have_another_class_beside_a_threshold(
    threshold: str, on: Contents, beside: Contents, name: PairClass, other_name: PairClass
) -> None:
    assert threshold
    assert classified(on, UNLIKE_WHOLES).name == name
    assert classified(beside, UNLIKE_WHOLES).name == other_name


@pytest.mark.parametrize(("threshold", "on", "beside"), BY_WHOLE, ids=[row[0] for row in BY_WHOLE])
def test_whole_texts_are_near_on_a_threshold_and_not_beside_it(
    threshold: str, on: Wholes, beside: Wholes
) -> None:
    contents = APART._replace(framed=BOTH_FRAMED)

    found = classified(contents, on)

    assert threshold
    assert (found.name, found.view) == ("near", "whole")
    assert (found.resemblance, found.own, found.other) == on[:3]
    missed = classified(contents, beside)
    assert (missed.name, missed.view) == ("below_threshold", "content")


@pytest.mark.parametrize(("bits", "name"), [(0, "near"), (3, "near"), (4, "below_threshold")])
def test_without_sketches_pages_are_near_within_the_distance(bits: int, name: PairClass) -> None:
    (found,) = classify(PairFigures(np.array([False]), np.array([bits], np.uint8), None), SIMHASH).pairs()

    assert found == ClassifiedPair(name, "whole")


@pytest.mark.parametrize("config", [SKETCHED, SIMHASH], ids=["sketched", "simhash"])
def test_pages_of_one_text_are_exact_whatever_the_figures_say(config: VerdictConfig) -> None:
    pair = figures(APART._replace(framed=BOTH_FRAMED), None, is_same_text=True)
    if config is SIMHASH:
        pair = pair._replace(contents=None)

    (found,) = classify(pair, config).pairs()

    assert (found.name, found.view) == ("exact", "whole")
    assert found.resemblance == (1.0 if config is SKETCHED else None)


@pytest.mark.parametrize(
    "contents",
    [
        pytest.param(ALIKE._replace(framed=BOTH_FRAMED), id="near by content"),
        pytest.param(APART, id="no known frame"),
    ],
)
def test_whole_texts_are_measured_only_where_they_count(contents: Contents) -> None:
    assert classified(contents, None).view == ("content" if contents.framed == BOTH_FRAMED else "whole")


def test_whole_texts_of_pages_without_a_frame_are_never_asked_for() -> None:
    with pytest.raises(InvariantBroken):
        no_wholes(np.array([0]))


def test_the_table_has_every_threshold() -> None:
    tested = {row[0] for row in BY_CONTENT} | {row[0] for row in BY_WHOLE}
    constants = {name for name in vars(classification) if name.isupper() and not name.startswith("_")}
    settable = {field.name for field in fields(VerdictConfig)} - {"sketch", "distance_bits"}

    assert (constants | settable) - {"WORD_BITS"} <= tested
