"""Each part of the protocol is needed: in every broken variant some run violates an invariant.

`python -m tests.schedules SEED --fault-profile NAME --broken "VARIANT"` prints how.
"""

import pytest

from tests.schedules.broken import BROKEN
from tests.schedules.run import run
from tests.schedules.story import FAULT_PROFILES

MOST_RUNS = 600
FOUND_BY = {
    "claim before work": ("broken connections", 1),
    "commit before produce": ("broken connections", 43),
    "an undecided version taken for unchanged": ("slow", 92),
    "an equal offset applied twice": ("slow", 110),
    "outcomes not set once": ("broken connections", 5),
    "trim without the fence": ("short tombstones", 162),
    "no tombstones": ("usual", 209),
    "no pending edges": ("usual", 144),
    "entries without versions": ("usual", 28),
    "gone without a version of its own": ("usual", 14),
    "views made anew on redelivery": ("frames", 3),
    "no comparison of whole texts": ("frames", 5),
    "whole texts that share only their frame": ("frames", 9),
    "unchanged without decided": ("raised epoch", 40),
    "commit without the token": ("lost clusters", 4),
    "events without a note": ("lost seconds", 559),
    "rows of a former epoch left": ("raised epoch", 20_000_253),
    "ids without the index": ("lost clusters", 0),
    "retention by the clock of the host": ("jumping clocks", 0),
    "transactions without a fence": ("exactly once", 16),
}
"""A fault profile and a seed that found it. Changes elsewhere may shift that, so the next are tried too."""


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_variant_violates_an_invariant(name: str) -> None:
    fault_profile, first_seed = FOUND_BY[name]
    seeds = range(first_seed, first_seed + MOST_RUNS)
    outcomes = (run(seed, FAULT_PROFILES[fault_profile], BROKEN[name]) for seed in seeds)

    found = next((outcome.violations for outcome in outcomes if outcome.violations), [])

    assert found != []
    assert not [line for line in found if "TypeError" in line], (
        "the variant lacks an argument of the real part"
    )
