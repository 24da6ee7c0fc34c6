import dataclasses
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from random import Random

import numpy as np
import pytest
from numpy.typing import NDArray

from neardup_stream.errors import ConfigError
from neardup_stream.fingerprints.simhash import Fingerprints, SimhashConfig, fingerprint_texts
from neardup_stream.fingerprints.sketch import (
    MAX_BAND_BINS,
    MAX_BANDS,
    MAX_BINS,
    MAX_SHINGLE_TOKENS,
    MIN_BINS,
    SketchConfig,
    containments,
    estimate_resemblances,
    sketch_schema_fields,
    standard_errors,
)
from tests.reference import sketch_page

CONFIG = SketchConfig(bins=128, code_bits=8, bands=10)
WORDS = SketchConfig(shingle_tokens=1)  # the shingles of a text are its words
UNION_WORDS = 300
PAIRS_EACH = 1000


def _sketched(texts: Sequence[str], config: SketchConfig = CONFIG) -> Fingerprints:
    return fingerprint_texts(texts, SimhashConfig(), config)


def _estimated(lefts: Sequence[str], rights: Sequence[str], config: SketchConfig) -> NDArray[np.float64]:
    return estimate_resemblances(
        _sketched(lefts, config).sketches, _sketched(rights, config).sketches, config
    )


def _numbered(numbers: Sequence[int]) -> str:
    return " ".join([f"w{number}" for number in numbers])


def _pairs(resemblance: float, union_words: int, pairs: int) -> tuple[list[str], list[str]]:
    """Texts whose sets of words have this resemblance; no word is in two pairs."""
    shared = round(resemblance * union_words)
    middle = (union_words - shared) // 2
    starts = [pair * union_words for pair in range(pairs)]
    lefts = [_numbered(range(start, start + middle + shared)) for start in starts]
    rights = [_numbered(range(start + middle, start + union_words)) for start in starts]
    return lefts, rights


def _standard_error(resemblance: float, usable_bins: float, code_bits: int) -> float:
    chance = 1 / ((1 << code_bits) - 1)
    agreeing = resemblance + (1 - resemblance) * chance
    return float(np.sqrt(agreeing * (1 - agreeing) / usable_bins) / (1 - chance))


@pytest.mark.parametrize("code_bits", [4, 8])
@pytest.mark.parametrize("tenths", range(1, 11))
def test_an_estimate_is_unbiased_and_as_precise_as_predicted(tenths: int, code_bits: int) -> None:
    resemblance = tenths / 10
    config = dataclasses.replace(WORDS, code_bits=code_bits)
    usable_bins = config.bins * (1 - (1 - 1 / config.bins) ** UNION_WORDS)

    errors = _estimated(*_pairs(resemblance, UNION_WORDS, PAIRS_EACH), config) - resemblance

    assert abs(errors.mean()) < 0.005
    assert errors.std() <= 1.2 * _standard_error(resemblance, usable_bins, code_bits)


@pytest.mark.parametrize("code_bits", [4, 8])
@pytest.mark.parametrize("union_words", [5, 20, 60], ids=["most-bins-empty", "many-empty", "some-empty"])
def test_an_estimate_of_short_pages_is_unbiased_too(union_words: int, code_bits: int) -> None:
    config = dataclasses.replace(WORDS, code_bits=code_bits)

    estimates = _estimated(*_pairs(0.8, union_words, PAIRS_EACH), config)

    assert abs(estimates.mean() - 0.8) < 0.005


@pytest.mark.parametrize("vocabulary", [8, 1000], ids=["few-words-in-many-orders", "many-words"])
def test_an_estimate_of_running_text_is_that_of_its_bag_of_shingles(vocabulary: int) -> None:
    random = Random(vocabulary)  # each page has words of its own: what is off in one is not off in all
    lefts = [[f"w{page}x{random.randrange(vocabulary)}" for _ in range(400)] for page in range(500)]
    rights = [[word if random.random() < 0.95 else "other" for word in words] for words in lefts]

    estimates = _estimated(
        [" ".join(words) for words in lefts], [" ".join(words) for words in rights], CONFIG
    )

    exact = [_resemblance(_triples(left), _triples(right)) for left, right in zip(lefts, rights, strict=True)]
    errors = estimates - exact
    assert abs(errors.mean()) < 0.01
    assert errors.std() < 1.2 * _standard_error(float(np.mean(exact)), CONFIG.bins * 0.9, CONFIG.code_bits)


def _triples(words: Sequence[str]) -> Counter[tuple[str, ...]]:
    return Counter(zip(words, words[1:], words[2:], strict=False))


def _resemblance(left: Counter[tuple[str, ...]], right: Counter[tuple[str, ...]]) -> float:
    return (left & right).total() / (left | right).total()


@pytest.mark.parametrize("code_bits", [4, 8])
def test_pages_without_a_common_shingle_resemble_each_other_hardly(code_bits: int) -> None:
    config = dataclasses.replace(WORDS, code_bits=code_bits)

    estimates = _estimated(*_pairs(0, UNION_WORDS, PAIRS_EACH), config)

    assert estimates.mean() < 0.02
    assert estimates.max() < 5 * _standard_error(0, config.bins, code_bits)


def test_pages_without_a_shingle_resemble_nothing_not_even_each_other() -> None:
    computed = _sketched(["", "!?", "a b c d"])

    assert computed.shingle_counts.tolist() == [0, 0, 2]
    assert not computed.sketches[:2].any()
    assert estimate_resemblances(computed.sketches[[0, 0]], computed.sketches[[1, 2]], CONFIG).tolist() == [
        0,
        0,
    ]


def test_tokens_that_do_not_fill_a_shingle_are_one_together() -> None:
    computed = _sketched(["a", "A!", "a b", "b a", "a b c"])

    assert computed.shingle_counts.tolist() == [1] * 5
    assert len({sketch.tobytes() for sketch in computed.sketches}) == 4
    assert estimate_resemblances(computed.sketches[:1], computed.sketches[1:2], CONFIG).tolist() == [1]


@pytest.mark.parametrize("resemblance", [0.3, 0.5, 0.7, 0.9])
@pytest.mark.parametrize("union_words", [100, UNION_WORDS], ids=["some-bins-empty", "no-bin-empty"])
def test_bands_find_as_many_pairs_as_predicted(resemblance: float, union_words: int) -> None:
    lefts, rights = _pairs(resemblance, union_words, 2 * PAIRS_EACH)

    agreeing = _sketched(lefts, WORDS).bands == _sketched(rights, WORDS).bands

    each = resemblance**WORDS.band_bins
    any_of_them = 1 - (1 - each) ** WORDS.bands
    assert abs(agreeing.mean() - each) < 0.015
    assert abs(agreeing.any(axis=1).mean() - any_of_them) < 0.04


@pytest.mark.parametrize("words", [1, 2, 5, 29])
def test_a_page_with_fewer_shingles_than_bins_has_usable_bands(words: int) -> None:
    pages = [_numbered(range(page * words, (page + 1) * words)) for page in range(PAIRS_EACH)]

    bands = _sketched(pages, WORDS).bands

    assert len(np.unique(bands)) == bands.size


def test_bands_of_one_page_are_different_words_even_from_one_shingle() -> None:
    assert len(set(_sketched(["a b c"]).bands[0].tolist())) == CONFIG.bands


def test_shingles_in_another_order_are_the_same_bag() -> None:
    words = [f"w{number}" for number in Random(1).choices(range(100), k=300)]

    computed = _sketched([" ".join(words), " ".join(sorted(words))], WORDS)

    assert len({sketch.tobytes() for sketch in computed.sketches}) == 1
    assert len({band.tobytes() for band in computed.bands}) == 1
    assert computed.shingle_counts.tolist() == [300] * 2


@pytest.mark.parametrize("times", [2, 3, 5])
def test_a_text_has_its_share_in_itself_several_times_over(times: int) -> None:
    texts = [_numbered(range(page * 300, (page + 1) * 300)) for page in range(PAIRS_EACH)]
    once, repeated = _sketched(texts, WORDS), _sketched([" ".join([text] * times) for text in texts], WORDS)

    resemblances = estimate_resemblances(once.sketches, repeated.sketches, WORDS)
    own, other = containments(resemblances, once.shingle_counts, repeated.shingle_counts)

    assert abs(resemblances.mean() - 1 / times) < 0.005
    assert other.mean() == pytest.approx(1 / times, abs=0.01)
    assert own.mean() > 0.9


@pytest.mark.parametrize("count", [1, 2, 3, 1023, 1024, 1025, 70_000])
def test_shingles_are_counted_as_often_as_they_occur(count: int) -> None:
    text = _numbered(range(count))

    assert _sketched([f"{text} {text}", "a"], WORDS).shingle_counts.tolist() == [2 * count, 1]


@pytest.mark.parametrize(
    "config",
    [
        CONFIG,
        SketchConfig(code_bits=4),
        SketchConfig(shingle_tokens=1, bins=MIN_BINS, bands=MAX_BANDS, band_bins=MAX_BAND_BINS),
        SketchConfig(shingle_tokens=MAX_SHINGLE_TOKENS, bins=MAX_BINS, bands=1, band_bins=1),
        SketchConfig(bins=18, code_bits=4, bands=0),
    ],
    ids=["default", "two-codes-a-byte", "few-bins", "many-bins", "no-bands"],
)
def test_kernel_equals_the_reference_whatever_the_config(config: SketchConfig) -> None:
    texts = [
        "",
        "a",
        _numbered(range(700)),
        "spam " * 100,
        "我能吞下玻璃而不伤身体" * 9,
        "Strae\u0301 foot\u00adnote x y",
    ]

    computed = _sketched(texts, config)

    assert computed.sketches.shape == (len(texts), config.sketch_bytes)
    for text, codes, count, bands in zip(texts, *computed[3:], strict=True):
        assert (codes.tobytes(), int(count), bands.tolist()) == tuple(sketch_page(text, config))


def test_fingerprints_are_the_same_with_and_without_a_sketch() -> None:
    texts = [_numbered(range(count)) for count in (0, 1, 2, 100)]

    plain, sketched = fingerprint_texts(texts, SimhashConfig()), _sketched(texts)

    for without, with_sketch in zip(plain[:3], sketched[:3], strict=True):
        assert without.tolist() == with_sketch.tolist()


def test_without_a_sketch_there_are_no_codes_no_counts_and_no_bands() -> None:
    computed = fingerprint_texts(["a b c d", "e\u0301"], SimhashConfig())

    assert computed.sketches.shape == computed.bands.shape == (2, 0)
    assert computed.shingle_counts.tolist() == [0, 0]


def test_containments_follow_from_resemblance_and_sizes() -> None:
    # 100 and 400 shingles of which 80 are common; equal pages; one that is all in the other
    own, other = containments(
        np.array([80 / 420, 1.0, 0.25]), np.array([100, 70, 10]), np.array([400, 70, 40])
    )

    assert own.tolist() == pytest.approx([0.8, 1.0, 1.0])
    assert other.tolist() == pytest.approx([0.2, 1.0, 0.25])


def test_a_containment_is_a_share_whatever_the_error_of_the_resemblance() -> None:
    own, other = containments(np.array([0.9, 0.0, 0.0]), np.array([10, 0, 5]), np.array([1000, 0, 0]))

    assert own.tolist() == [1, 0, 0]
    assert 0 < other[0] <= 1
    assert other[1:].tolist() == [0, 0]


@pytest.mark.parametrize(
    ("name", "least", "most"),
    [
        ("shingle_tokens", 1, MAX_SHINGLE_TOKENS),
        ("bins", MIN_BINS, MAX_BINS),
        ("bands", 0, MAX_BANDS),
        ("band_bins", 1, MAX_BAND_BINS),
    ],
)
def test_a_config_is_taken_within_its_range_and_refused_outside(name: str, least: int, most: int) -> None:
    step = 2 if name == "bins" else 1
    for value in (least, least + step, most - step, most):
        assert getattr(SketchConfig(**{name: value}), name) == value
    for value in (least - step, most + step):
        with pytest.raises(ConfigError, match=f"{name} is {value}, must be {least} to {most}"):
            SketchConfig(**{name: value})


@pytest.mark.parametrize("changed", [{"code_bits": 3}, {"code_bits": 16}, {"bins": 127}])
def test_a_sketch_that_does_not_fill_its_bytes_is_refused(changed: dict[str, int]) -> None:
    with pytest.raises(ConfigError, match="must be"):
        SketchConfig(**changed)


@pytest.mark.parametrize(
    ("config", "size_bytes"),
    [(CONFIG, 128), (SketchConfig(bins=128, code_bits=4), 64), (SketchConfig(bins=18, code_bits=4), 9)],
)
def test_a_sketch_weighs_what_its_codes_weigh(config: SketchConfig, size_bytes: int) -> None:
    assert config.sketch_bytes == size_bytes


def test_whatever_the_config_says_is_in_the_schema() -> None:
    changes = [{field.name: 4} for field in dataclasses.fields(SketchConfig) if field.name != "bins"]
    configs = [CONFIG, *(dataclasses.replace(CONFIG, **change) for change in [*changes, {"bins": 64}])]

    schemas = [sketch_schema_fields(config) for config in [None, *configs]]

    assert all(one != other for one, other in pairwise(sorted(schemas, key=repr)))


def test_sketches_never_change_without_a_new_schema() -> None:
    """Stored sketches stay comparable: a failure here means that the schema fields must change too."""
    config = SketchConfig(bins=16, code_bits=8, bands=3)

    computed = _sketched(["The quick brown fox jumps over the lazy dog; 東京 café."], config)

    assert computed.sketches[0].tobytes().hex() == "5f46094500009d1b97007b0000000000"
    assert computed.bands[0].tolist() == [2538129797, 3519447942, 1235302649]


@pytest.mark.parametrize("code_bits", [4, 8])
@pytest.mark.parametrize("resemblance", [0.0, 0.3, 0.9])
def test_the_stated_error_is_that_of_the_formula_with_the_bins_in_use(
    resemblance: float, code_bits: int
) -> None:
    config = dataclasses.replace(WORDS, code_bits=code_bits)
    lefts, rights = (_sketched(side, config).sketches for side in _pairs(resemblance, 5000, pairs=2))

    (stated, _) = standard_errors(np.array([resemblance] * 2), lefts, rights, config)

    assert stated == pytest.approx(_standard_error(resemblance, config.bins, code_bits))


def test_equal_sketches_are_certain_and_empty_ones_say_nothing() -> None:
    sketches = _sketched(["some words of a page that is long enough", ""]).sketches

    assert standard_errors(np.array([1.0, 0.0]), sketches, sketches, CONFIG).tolist() == [0, 0]
