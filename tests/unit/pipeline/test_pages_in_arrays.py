"""Random lives of pages, forgets and sweeps included: events and store agree over tables in arrays too."""

import random

import pytest

from neardup_stream.stores.arrays.tables import ArrayTables
from tests.page_histories import RULES, Content, Op, PageHistory, Sweep, sharp_pipeline


def story(dice: random.Random) -> list[Op | Sweep]:
    return [step(dice) for _ in range(80)]


def step(dice: random.Random) -> Op | Sweep:
    chance = dice.random()
    if chance < 0.1:
        return Sweep(dice.choice([1, 3, 6, 11]))
    if chance < 0.25:
        return Op(dice.randrange(8), None)
    return Op(dice.randrange(8), Content(dice.choice([1, 2]), dice.randrange(5), dice.random() < 0.3))


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("seed", range(8))
async def test_the_fold_of_the_events_is_what_is_stored(rule: str, seed: int) -> None:
    dice = random.Random(seed)
    history = PageHistory(sharp_pipeline(rule=RULES[rule], tables=ArrayTables()))

    await history.live(story(dice), batch_pages=dice.randint(1, 8))

    await history.check(dice)
