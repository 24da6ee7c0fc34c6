"""Fuzzy-fingerprints: whole numbers that pages with a similar distribution of words have in common.

    words ──► share of each prefix class ──► deviation from the expected share ──► a digit a class ──► a code

Words are counted by their first two letters, packed into classes that a reference corpus fills equally. How
far each class deviates from the reference is made fuzzy: a digit for little or much, by a scheme; all digits
of a scheme are one code. Pages that are similar enough have all digits of some scheme in common.

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
from neardup_stream.text.alphabet import IGNORED, SOLO, UNSETTLED, canonical_alphabet, raw_alphabet
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
"""Prefix classes; the literature has 10 to 100."""

MOST_PREFIXES: Final = 4096
"""Prefixes with a class of their own; what is left out, the rarest, is dealt out by its hash."""

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
"""For each scheme the quantiles of the reference above which a digit is 1, else 0; class i has that of i
modulo their number."""

PREFIX_COUNT: Final = np.dtype([("prefix", "<u4"), ("count", "<u4")])
"""A prefix and how many words of a page begin with it. A prefix is its first code point times 2**16, XOR the
second one (0 for a word of one letter, or of a script without spaces), its low 32 bits."""

_PREFIX_SHIFT: Final = np.uint32(16)
_LEAST_EXPECTED: Final = 1e-9


@dataclass(frozen=True, slots=True)
class FuzzyReference:
    """What a reference corpus says of its language.

    Attributes:
        prefixes: known ones, uint32, ascending; others are dealt out by their hash.
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

    Cost: 60 µs for 3.5 KB; where characters must be canonicalized with their neighbors, that beside it.
    """
    letters = _letters(text)
    is_solo = letters >= SOLO
    is_running = (letters > 0) & ~is_solo
    follows = np.zeros(letters.size, np.bool_)
    follows[1:] = is_running[:-1]
    starts = np.flatnonzero(is_solo | (is_running & ~follows))
    second = np.zeros(letters.size + 1, np.uint32)
    second[:-1][is_running & follows] = letters[is_running & follows]
    first = (letters[starts] & (SOLO - 1)).astype(np.uint32)
    after = np.where(is_solo[starts], np.uint32(0), second[starts + 1])
    prefixes, counts = np.unique((first << _PREFIX_SHIFT) ^ after, return_counts=True)
    counted = np.empty(prefixes.size, PREFIX_COUNT)
    counted["prefix"], counted["count"] = prefixes, counts
    return counted


def learn_reference(pages: Sequence[NDArray[Any]]) -> FuzzyReference:
    """Learn classes, expectations and bounds from a cross-section of the pages to be indexed.

    The same pages give the same reference, to the last bit.

    Args:
        pages: counted prefixes, at least one page with a word.

    Raises:
        ConfigError: there is no word in them.

    Cost: as for `fuzzy_codes`, and 20 µs a page.
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
    """The codes of pages, uint64[pages, schemes].

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
    """The characters of the canonical text as an alphabet has them."""
    for alphabet in (raw_alphabet(), canonical_alphabet()):
        letters: NDArray[np.int32] = alphabet[np.minimum(code_points(text), alphabet.size - 1)]
        if not (letters >= UNSETTLED).any():
            break
        text = canonicalize(text)
    kept: NDArray[np.int32] = letters[letters != IGNORED]
    return kept


def _packed(counted: NDArray[Any]) -> tuple[NDArray[np.uint32], NDArray[np.uint8]]:
    """Give each prefix the class that is emptiest so far, the most frequent first."""
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
    """The share of each class in the words of each page, float64[pages, CLASSES]; 0 without a word."""
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
    """The finalizer of MurmurHash3, as `mix` of the archive format."""
    mixed = values.astype(np.uint64)
    for factor in (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53):
        mixed = (mixed ^ (mixed >> np.uint64(33))) * np.uint64(factor)
    return mixed ^ (mixed >> np.uint64(33))
