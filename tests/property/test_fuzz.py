"""The fuzzer's short form; `make fuzz` runs for as long as one likes."""

import random
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fuzz.mutations import MAX_INPUT_BYTES, mutated
from tests.fuzz.oracles import Backstop
from tests.fuzz.targets import TARGETS

INPUTS = 150


@pytest.mark.parametrize("name", TARGETS)
def test_whatever_comes_ends_within_the_limits_with_a_reason_and_harms_nothing_behind_it(name: str) -> None:
    rng = random.Random(name)
    with TARGETS[name]() as target:
        for _ in range(INPUTS):
            with suppress(Backstop):
                target.try_without_clock(mutated(rng, target.corpus.inputs, target.corpus.words))


@given(
    st.randoms(use_true_random=False), st.lists(st.binary(), min_size=1), st.lists(st.binary(), min_size=1)
)
def test_mutations_stay_within_bounds(rng: random.Random, corpus: list[bytes], words: list[bytes]) -> None:
    assert len(mutated(rng, corpus, words)) <= MAX_INPUT_BYTES
