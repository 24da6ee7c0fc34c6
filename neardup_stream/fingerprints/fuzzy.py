"""Compute fuzzy-fingerprints: codes that pages with a similar distribution of words share.

    words ──► share of each prefix class ──► deviation from the expected share ──► a digit a class ──► a code

Words are counted by their first two letters, which are grouped into classes of equal frequency in a reference
corpus. A scheme maps the deviation of each class from the reference to a digit, for small or large; all
digits of a scheme are one code. Sufficiently similar pages share all digits of some scheme.

    M. Potthast: Wikipedia in the Pocket, SIGIR 2007
    B. Stein: Fuzzy-Fingerprints for Text-Based Information Retrieval, I-KNOW 2005
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from neardup_stream.errors import ConfigError
from neardup_stream.text.alphabet import (
    IGNORED,
    SOLO,
    UNSETTLED,
    begins_token,
    canonical_alphabet,
    entries_of,
    raw_alphabet,
)
from neardup_stream.text.canonical import canonicalize
from neardup_stream.text.code_points import code_points

__all__ = [
    "CLASSES",
    "MOST_PREFIXES",
    "PREFIX_COUNT",
    "SCHEMES",
    "FuzzyReference",
    "count_prefixes",
    "fuzzy_codes",
    "learn_reference",
]

CLASSES: Final = 30
"""The number of prefix classes; the literature uses 10 to 100."""

MOST_PREFIXES: Final = 4096
"""The most prefixes with an assigned class; a hash assigns the rarest ones, beyond this number."""

SCHEMES: Final[tuple[tuple[float, ...], ...]] = (
    (0.3, 0.7),
    (0.7, 0.3),
    (0.5, 0.15),
    (0.15, 0.5),
    (0.5, 0.85),
    (0.85, 0.5),
    (0.4, 0.6, 0.1),
    (0.6, 0.4, 0.9),
)
"""For each scheme the quantiles of the reference above which a digit is 1, else 0; class i uses the quantile
at i modulo their number.
"""

PREFIX_COUNT: Final = np.dtype([("prefix", "<u4"), ("count", "<u4")])
"""A prefix and how many words of a page begin with it. A prefix is its first code point times 2**16, XOR the
second one (0 for a word of one letter, or of a script without spaces), truncated to 32 bits.
"""

_PREFIX_SHIFT: Final = np.uint32(16)
_LEAST_EXPECTED: Final = 1e-9


@dataclass(frozen=True, slots=True)
class FuzzyReference:
    """Word statistics of a reference corpus.

    Attributes:
        prefixes: known ones, uint32, ascending; a hash assigns the classes of others.
        classes: of each known prefix, uint8.
        expected: mean share of each class, float64[CLASSES], above 0.
        bounds: for each scheme and class the deviation above which its digit is 1, float64[schemes, CLASSES].
    """

    prefixes: NDArray[np.uint32]
    classes: NDArray[np.uint8]
    expected: NDArray[np.float64]
    bounds: NDArray[np.float64]


def count_prefixes(text: str) -> NDArray[Any]:
    """Count the words of a visible text by prefix: PREFIX_COUNT items, by prefix ascending.

    Cost: 60 µs for 3.5 KB, plus the canonicalization of characters that depend on their neighbors.
    """
    letters = _letters(text)
    begins = begins_token(letters)
    starts = np.flatnonzero(begins)
    continued = np.zeros(letters.size + 1, np.uint32)
    continued[:-1] = np.where(begins, 0, letters)
    first = (letters[starts] & (SOLO - 1)).astype(np.uint32)
    prefixes, counts = np.unique((first << _PREFIX_SHIFT) ^ continued[starts + 1], return_counts=True)
    counted = np.empty(prefixes.size, PREFIX_COUNT)
    counted["prefix"], counted["count"] = prefixes, counts
    return counted


def learn_reference(pages: Sequence[NDArray[Any]]) -> FuzzyReference:
    """Return the classes, expectations and bounds of a cross-section of the pages to index.

    Equal pages give a bit-identical reference.

    Args:
        pages: counted prefixes, at least one page with a word.

    Raises:
        ConfigError: the pages have no words.

    Cost: as for `fuzzy_codes`, plus 20 µs a page.
    """
    pages = [page for page in pages if page.size]
    if not pages:
        raise ConfigError("a reference of fuzzy-fingerprints needs texts with words")
    prefixes, classes = _packed(np.concatenate(pages))
    shares = _shares(pages, prefixes, classes)
    expected = np.array(
        [max(math.fsum(column) / len(pages), _LEAST_EXPECTED) for column in shares.T.tolist()]
    )
    deviations = np.sort((shares - expected) / expected, axis=0)
    bounds = [
        [deviations[math.floor(scheme[i % len(scheme)] * (len(pages) - 1)), i] for i in range(CLASSES)]
        for scheme in SCHEMES
    ]
    return FuzzyReference(prefixes, classes, expected, np.array(bounds))


def fuzzy_codes(pages: Sequence[NDArray[Any]], reference: FuzzyReference) -> NDArray[np.uint64]:
    """Return the codes of pages, uint64[pages, schemes].

    Args:
        pages: counted prefixes.
        reference: of the index.

    Cost: 20 µs a page.
    """
    shares = _shares(pages, reference.prefixes, reference.classes)
    deviations = (shares - reference.expected) / reference.expected
    weights = np.uint64(1) << np.arange(CLASSES, dtype=np.uint64)
    codes = np.empty((len(pages), len(SCHEMES)), np.uint64)
    for scheme, bounds in enumerate(reference.bounds):
        codes[:, scheme] = (deviations > bounds).astype(np.uint64) @ weights
    return codes


def _letters(text: str) -> NDArray[np.int32]:
    """Return the entries of the canonical text's characters in an alphabet."""
    for alphabet in (raw_alphabet(), canonical_alphabet()):
        letters = entries_of(code_points(text), alphabet)
        if not (letters >= UNSETTLED).any():
            break
        text = canonicalize(text)
    kept: NDArray[np.int32] = letters[letters != IGNORED]
    return kept


def _packed(counted: NDArray[Any]) -> tuple[NDArray[np.uint32], NDArray[np.uint8]]:
    """Assign each prefix to the emptiest class so far, the most frequent prefix first."""
    prefixes, places = np.unique(counted["prefix"], return_inverse=True)
    counts = np.bincount(places, weights=counted["count"])
    most = np.lexsort((prefixes, -counts))[:MOST_PREFIXES]
    filled = [0.0] * CLASSES
    classes = np.empty(most.size, np.uint8)
    for number, count in enumerate(counts[most].tolist()):
        classes[number] = emptiest = filled.index(min(filled))
        filled[emptiest] += count
    order = np.argsort(most)
    return prefixes[most[order]].astype(np.uint32), classes[order]


def _shares(
    pages: Sequence[NDArray[Any]], prefixes: NDArray[np.uint32], classes: NDArray[np.uint8]
) -> NDArray[np.float64]:
    """Return the share of each class in the words of each page, float64[pages, CLASSES]; 0 without a word."""
    if not pages:
        return np.zeros((0, CLASSES))
    counted = np.concatenate(pages)
    rows = np.repeat(np.arange(len(pages)), [page.size for page in pages])
    places = np.minimum(np.searchsorted(prefixes, counted["prefix"]), prefixes.size - 1)
    dealt_out = (_mixed(counted["prefix"]) % np.uint64(CLASSES)).astype(np.int64)
    is_known = prefixes[places] == counted["prefix"]
    of_words = np.where(is_known, classes[places], dealt_out)
    size = len(pages) * CLASSES
    sums = np.bincount(rows * CLASSES + of_words, weights=counted["count"], minlength=size)
    counts = sums.reshape(len(pages), CLASSES)
    totals = np.maximum(counts.sum(axis=1, keepdims=True), 1)
    shares: NDArray[np.float64] = counts / totals
    return shares


def _mixed(values: NDArray[np.uint32]) -> NDArray[np.uint64]:
    """Return the finalizer of MurmurHash3 of each value, as `mix` in the archive format."""
    mixed = values.astype(np.uint64)
    for factor in (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53):
        mixed = (mixed ^ (mixed >> np.uint64(33))) * np.uint64(factor)
    return mixed ^ (mixed >> np.uint64(33))
