"""What a match by whole texts says of how much of each page is inside the other."""

import pytest

from neardup_stream.fingerprints.framed import SHORT_SHINGLES
from tests.unit.pipeline.figured_pairs import APART, BOTH_FRAMED, Wholes, classified

SHORT, LONGER = (SHORT_SHINGLES, 50), (SHORT_SHINGLES + 1, 50)


@pytest.mark.parametrize(
    ("wholes", "own", "other"),
    [
        (Wholes(own=0.9, contents_inside=(0.95, 1.0)), 0.9, 1.0),
        (Wholes(own=0.9, contents_inside=(0.7, 0.8), left=(500, 500)), 0.7, 0.8),
        (Wholes(contents_inside=(0.5, 0.7), contents_common=(0.5, 0.7), left=(100, 1000)), 0.6, 0.7),
        (Wholes(own=0.9, contents_inside=(0.5, 0.5), counts=SHORT, left=(20, 20)), 0.9, 1.0),
        (Wholes(own=0.9, contents_inside=(0.7, 0.7), counts=LONGER, left=(80, 40)), 0.7, 0.7),
        (Wholes(own=0.96, contents_inside=(0.0, 0.0), left=(7, 7)), 0.96, 1.0),
        (Wholes(own=0.96, contents_inside=(0.9, 0.9), left=(8, 7)), 0.9, 0.9),
    ],
    ids=["alike", "less alike", "one frame known", "short", "longer", "no content", "little content"],
)
def test_a_match_by_whole_texts_is_as_sure_as_its_contents_and_no_less_than_any(
    wholes: Wholes, own: float, other: float
) -> None:
    found = classified(APART._replace(framed=BOTH_FRAMED), wholes)

    assert (found.name, found.own, found.other) == ("near", own, other)
