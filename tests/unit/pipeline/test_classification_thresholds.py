"""The table of thresholds: on each one a pair has one class, and just below or above it another."""

from dataclasses import fields

import numpy as np
import pytest

from neardup_stream.errors import InvariantBroken
from neardup_stream.fingerprints.framed import SHORT_SHINGLES
from neardup_stream.pipeline import classification, contents_inside
from neardup_stream.pipeline.classification import ClassifiedPair, PairClass, VerdictConfig, classify
from neardup_stream.pipeline.pair_figures import PairFigures, no_wholes
from tests.unit.pipeline.figured_pairs import (
    ALIKE,
    APART,
    BOTH_FRAMED,
    ONE_FRAMED,
    SKETCHED,
    Contents,
    Wholes,
    classified,
    figures,
)

SIMHASH = VerdictConfig(None, distance_bits=3)
HAIR = 1e-9
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


@pytest.mark.parametrize(
    ("threshold", "on", "beside", "name", "other_name"), BY_CONTENT, ids=[row[0] for row in BY_CONTENT]
)
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
    assert found.resemblance == on.resemblance
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
    names = {*vars(classification), *vars(contents_inside)}
    constants = {name for name in names if name.isupper() and not name.startswith("_")}
    settable = {field.name for field in fields(VerdictConfig)} - {"sketch", "distance_bits"}

    assert (constants | settable) - {"WORD_BITS"} <= tested
