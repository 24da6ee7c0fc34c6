import doctest
import re
import subprocess
import sys
from collections.abc import Callable
from math import isnan
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import neardup_stream
from neardup_stream.errors import ConfigError
from neardup_stream.fingerprints.simhash import SimhashConfig, fingerprint_texts

TEXT = " ".join(f"word{number}" for number in range(1000))
README = Path(__file__).parents[2] / "README.md"
LIBRARY_PAGE = README.parent / "docs" / "library.md"
INSIDE = " ".join(f"word{number}" for number in range(300, 500))

words = st.lists(st.integers(0, 63).map(lambda bit: 1 << bit) | st.integers(0, 2**64 - 1), max_size=30)


def test_every_exported_name_can_be_imported() -> None:
    for name in neardup_stream.__all__:
        assert getattr(neardup_stream, name) is not None


def test_a_name_that_is_not_exported_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'neardup_stream' has no attribute 'simhsh'"):
        neardup_stream.simhsh  # noqa: B018 - the access is the claim


def test_names_are_listed_before_their_first_use() -> None:
    code = "import neardup_stream; print(set(neardup_stream.__all__) - set(dir(neardup_stream)))"

    printed = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout

    assert printed == "set()\n"


def test_importing_the_package_loads_nothing_heavy() -> None:
    code = "import neardup_stream, sys; print({'numpy', 'numba', 'redis', 'aiokafka'} & sys.modules.keys())"

    printed = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout

    assert printed == "set()\n"


def test_a_simhash_is_what_the_stream_stores() -> None:
    stored = fingerprint_texts([TEXT], SimhashConfig()).fingerprints[0]

    assert neardup_stream.simhash(TEXT) == stored
    assert neardup_stream.Simhash(TEXT).digest() == stored


def test_the_simhash_of_a_text_without_tokens_is_zero() -> None:
    assert neardup_stream.simhash(" . ") == 0


def test_ratios_of_two_texts_are_exact() -> None:
    assert neardup_stream.containment(INSIDE, TEXT) == 1
    assert neardup_stream.containment(TEXT, INSIDE) == 198 / 998
    assert neardup_stream.resemblance(TEXT, INSIDE) == 198 / 998


def test_sketches_estimate_what_texts_give_exactly() -> None:
    sketched = neardup_stream.sketch(TEXT, expected_size=512)

    assert neardup_stream.resemblance(sketched, neardup_stream.sketch(TEXT, expected_size=512)) == 1
    assert neardup_stream.containment(sketched, INSIDE) == pytest.approx(0.2, abs=0.08)


def test_a_ratio_of_nothing_is_not_a_number() -> None:
    assert isnan(neardup_stream.resemblance("", ""))
    assert isnan(neardup_stream.containment("", TEXT))


@given(words, st.integers(0, 63))
def test_pairs_and_clusters_are_those_of_brute_force(simhashes: list[int], distance_bits: int) -> None:
    distinct = sorted(set(simhashes))
    pairs = [
        (one, other)
        for at, one in enumerate(distinct)
        for other in distinct[at + 1 :]
        if neardup_stream.hamming_distance(one, other) <= distance_bits
    ]

    assert neardup_stream.find_all(iter(simhashes), distance_bits) == pairs
    clusters = neardup_stream.find_clusters(simhashes, distance_bits)
    assert {member for cluster in clusters for member in cluster} == {word for pair in pairs for word in pair}
    assert all(
        len([True for cluster in clusters if {one, other} <= set(cluster)]) == 1 for one, other in pairs
    )


@pytest.mark.parametrize("wrong", [-1, 1 << 64, 1.5, "7"])
def test_what_is_no_simhash_is_refused_by_name(wrong: int) -> None:
    said = re.escape(f"{wrong!r} is no simhash: a whole number in [0, 2**64)")

    with pytest.raises(ConfigError, match=said):
        neardup_stream.find_all([1, wrong], 3)
    with pytest.raises(ConfigError, match=said):
        neardup_stream.hamming_distance(1, wrong)


@pytest.mark.parametrize("distance_bits", [-1, 64])
def test_a_distance_out_of_its_range_is_refused(distance_bits: int) -> None:
    with pytest.raises(ConfigError, match=f"distance_bits is {distance_bits}, must be 0 to 63"):
        neardup_stream.find_clusters([1, 2], distance_bits)


@pytest.mark.parametrize(("page", "least"), [(LIBRARY_PAGE, 14), (README, 5)], ids=["library", "README"])
def test_the_documented_examples_are_true(page: Path, least: int) -> None:
    tested = doctest.testfile(str(page), module_relative=False)

    assert tested.attempted >= least
    assert tested.failed == 0


def test_the_library_page_names_all_that_is_exported() -> None:
    page = LIBRARY_PAGE.read_text("utf-8")

    assert [name for name in neardup_stream.__all__ if f"`{name}" not in page] == []


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("distance_bits", lambda number: neardup_stream.find_all([1, 2], number)),
        ("distance_bits", lambda number: neardup_stream.find_clusters([1, 2], number)),
        ("expected_size", lambda number: neardup_stream.sketch("a", expected_size=number)),
        ("window_tokens", lambda number: neardup_stream.simhash("a", window_tokens=number)),
    ],
)
def test_a_number_that_is_not_whole_is_refused_by_name(name: str, call: Callable[[Any], object]) -> None:
    with pytest.raises(TypeError, match=rf"{name} is 2\.0, must be a whole number"):
        call(2.0)


@pytest.mark.parametrize(
    "call",
    [
        neardup_stream.simhash,
        neardup_stream.sketch,
        lambda text: neardup_stream.resemblance("a", text),
        lambda text: neardup_stream.containment(text, "a"),
        neardup_stream.Simhash,
        lambda text: neardup_stream.Simhash().update(text),
    ],
    ids=["simhash", "sketch", "resemblance", "containment", "Simhash", "update"],
)
def test_bytes_in_the_place_of_a_text_are_refused_in_words(call: Callable[[Any], object]) -> None:
    with pytest.raises(TypeError, match=r"expected a text \(str\), got bytes: decode them first"):
        call(b"x")


def test_a_simhash_is_merged_with_another_simhash_alone() -> None:
    other: Any = "text"
    with pytest.raises(TypeError, match="expected a Simhash, got str"):
        neardup_stream.Simhash().merge(other)
