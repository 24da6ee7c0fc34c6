import numpy as np
import pytest

from benchmarks.quality.edits import PAGE_WORDS, Vocabulary, edit_recalls
from benchmarks.quality.plot import Axis, draw_curves, evenly_spaced
from benchmarks.quality.table_settings import (
    TABLE_SETTINGS,
    TableSetting,
    are_found,
    by_recipe,
    matching_rows,
    take_rows,
)
from neardup_stream.fingerprints.simhash import fingerprint_texts


@pytest.fixture(scope="module")
def vocabulary() -> Vocabulary:
    return Vocabulary.make(np.random.default_rng(1))


@pytest.mark.parametrize("setting", TABLE_SETTINGS, ids=[setting.name for setting in TABLE_SETTINGS])
def test_the_rows_found_among_all_pages_are_those_found_pair_by_pair(
    setting: TableSetting, vocabulary: Vocabulary
) -> None:
    rng = np.random.default_rng(2)
    numbers = np.repeat(vocabulary.draw(rng, 10, PAGE_WORDS), 4, axis=0)
    numbers[np.arange(40), :15] = vocabulary.draw(rng, 40, 15)
    numbers[1] = numbers[0]
    pages = fingerprint_texts(vocabulary.write(numbers), setting.simhash, setting.verdict.sketch)
    lefts, rights = np.triu_indices(40, 1)
    found = are_found(take_rows(pages, lefts), take_rows(pages, rights), setting)
    expected = list(zip(lefts[found].tolist(), rights[found].tolist(), strict=True))
    assert matching_rows(pages, setting) == expected
    assert (0, 1) in expected


def test_every_setting_is_measured_once() -> None:
    names = [setting.name for _, settings in by_recipe(TABLE_SETTINGS) for setting in settings]
    assert sorted(names) == sorted({setting.name for setting in TABLE_SETTINGS})


def test_the_same_seed_draws_the_same_plot(vocabulary: Vocabulary) -> None:
    plots = set()
    for _ in range(2):
        recalls = edit_recalls(TABLE_SETTINGS[:2], 20, vocabulary, np.random.default_rng(3))
        plots.add(
            draw_curves(
                Axis("edited words", {0.0: "0", 1.0: "100"}),
                {name: evenly_spaced(each) for name, each in recalls.items()},
            )
        )
    assert len(plots) == 1
    assert plots.pop().count("<polyline") == 2
