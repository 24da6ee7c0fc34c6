"""Functions for single texts and for sets of simhashes, with the stream's defaults.

`neardup_stream` exports them; this file loads NumPy, so it is imported at their first use.
"""

import operator
from collections.abc import Iterable
from typing import TypeAlias

import numpy as np

from neardup_stream.bits.words import WORD_BITS, Words
from neardup_stream.bits.words import hamming_distance as bits_apart
from neardup_stream.errors import ConfigError
from neardup_stream.fingerprints.mod_sketch import ModSketch
from neardup_stream.fingerprints.resemblance import Overlap
from neardup_stream.fingerprints.shingles import ShingleConfig, shingle_ids, token_hashes
from neardup_stream.fingerprints.simhash import DEFAULT_WINDOW_TOKENS, SimhashConfig, fingerprint_texts
from neardup_stream.indexes.components import clusters
from neardup_stream.indexes.pairs import sorted_pairs
from neardup_stream.text.arguments import require_text, whole_number, whole_number_in

__all__ = [
    "Sketched",
    "containment",
    "find_all",
    "find_clusters",
    "hamming_distance",
    "resemblance",
    "simhash",
    "sketch",
]

Sketched: TypeAlias = str | ModSketch
"""A text, or the sketch of one."""

_EVERY_SHINGLE = 1


def simhash(text: str, *, window_tokens: int = DEFAULT_WINDOW_TOKENS) -> int:
    """Compute the 64-bit simhash of a visible text, as the stream stores it for a page with this text.

    Args:
        text: canonical or not, with the markup taken out.
        window_tokens: consecutive tokens to a feature, 1 to 32.

    Returns:
        In [0, 2**64); 0 for a text without tokens. Texts of fewer than 10 tokens are too short to compare.

    Raises:
        ConfigError: window_tokens is out of its range.
        TypeError: text is no string, or window_tokens no whole number.

    Cost: 20 µs for 3.5 KB after the first call, which loads the compiled kernel (0.3 s; half a minute once
    per machine, to compile it). `fingerprint_texts` takes whole batches.

    Source: Charikar 2002; Manku, Jain and Das Sarma 2007, "Detecting near-duplicates for web crawling".
    """
    require_text(text)
    config = SimhashConfig(window_tokens=whole_number("window_tokens", window_tokens))
    found = fingerprint_texts([text], config)
    return int(found.fingerprints[0]) if found.token_counts[0] else 0


def sketch(text: str, *, expected_size: int = 128) -> ModSketch:
    """Sample the 3-token shingles of a visible text, to estimate resemblance and containment without it.

    Args:
        text: canonical or not.
        expected_size: expected number of samples, at most; 8 bytes each.

    Raises:
        ConfigError: expected_size is below 1.
        TypeError: text is no string, or expected_size no whole number.

    Cost: some 0.5 ms for 3.5 KB. Source: Broder 1997, "On the resemblance and containment of documents".
    """
    return ModSketch.bounded(_shingles(text), whole_number("expected_size", expected_size))


def resemblance(one: Sketched, other: Sketched) -> float:
    """Return the resemblance of two texts: the fraction of their 3-token shingles, with repeats, in both.

    Args:
        one: a text or a sketch.
        other: a text or a sketch.

    Returns:
        In [0, 1]: exact for two texts, an estimate if a sketch is involved (`ModSketch.overlap` has its
        error). NaN if it is unknown: neither has a shingle, or none was sampled.

    Raises:
        TypeError: one of them is no string and no sketch.
    """
    return _overlap(one, other).resemblance


def containment(one: Sketched, other: Sketched) -> float:
    """Return the containment of `one` in `other`: 1 if all of it is inside.

    Args:
        one: a text or a sketch.
        other: a text or a sketch.

    Returns:
        In [0, 1], as `resemblance`; NaN if `one` has no shingle, or none of it was sampled.

    Raises:
        TypeError: one of them is no string and no sketch.
    """
    return _overlap(one, other).first_in_second


def hamming_distance(one: int, other: int) -> int:
    """Return the number of bits in which two simhashes differ, 0 to 64.

    Args:
        one: in [0, 2**64).
        other: in [0, 2**64).

    Raises:
        ConfigError: one of them is out of the range.
    """
    return bits_apart(_word(one), _word(other))


def find_all(simhashes: Iterable[int], distance_bits: int) -> list[tuple[int, int]]:
    """Find all pairs of simhashes within a Hamming distance of each other.

    Args:
        simhashes: each in [0, 2**64); repeated ones count once.
        distance_bits: 0 to 63.

    Returns:
        The smaller one of each pair first, in ascending order.

    Raises:
        ConfigError: a simhash or the distance is out of its range.
        TypeError: the distance is no whole number.

    Cost: at distance 3 about ten sorts, not a comparison of all with all.
    """
    left, right = sorted_pairs(*_checked(simhashes, distance_bits))
    return list(zip(left.tolist(), right.tolist(), strict=True))


def find_clusters(simhashes: Iterable[int], distance_bits: int) -> list[list[int]]:
    """Find the clusters of simhashes that chains of pairs within a Hamming distance connect.

    Args:
        simhashes: each in [0, 2**64); repeated ones count once.
        distance_bits: 0 to 63.

    Returns:
        Clusters of two or more, members ascending, by their smallest member.

    Raises:
        ConfigError: a simhash or the distance is out of its range.
        TypeError: the distance is no whole number.
    """
    return clusters(*_checked(simhashes, distance_bits))


def _shingles(text: str) -> Words:
    require_text(text)
    return shingle_ids(token_hashes(text), ShingleConfig(is_bag=True))


def _overlap(one: Sketched, other: Sketched) -> Overlap:
    return _sketched(one).overlap(_sketched(other))


def _sketched(given: Sketched) -> ModSketch:
    return given if isinstance(given, ModSketch) else ModSketch.of(_shingles(given), _EVERY_SHINGLE)


def _checked(simhashes: Iterable[int], distance_bits: int) -> tuple[Words, int]:
    distance_bits = whole_number_in("distance_bits", distance_bits, 0, WORD_BITS - 1)
    return np.unique(np.fromiter(map(_word, simhashes), np.uint64)), distance_bits


def _word(simhash: int) -> int:
    try:
        word = operator.index(simhash)
    except TypeError:
        word = -1
    if not 0 <= word < 1 << WORD_BITS:
        raise ConfigError(f"{simhash!r} is no simhash: a whole number in [0, 2**{WORD_BITS})")
    return word
