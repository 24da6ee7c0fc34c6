"""Plan signature files: how many bits a document needs so that searches have few false drops. Pure.

A term sets `slices` of a signature's `width` bits, and a document's signature has the bits of all its terms.
A document without a term has all of the term's bits by chance, a *false drop*, with probability p ** slices,
p being the density: the fraction of bits that are set:

    p = 1 - ((width - 1) / width) ** (slices * terms)          false drops = documents * mean(p ** slices)

The documents with most terms dominate the mean. So documents are divided into classes by their number of
terms, half an octave each, and every class has a width of its own.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from neardup_stream.errors import ConfigError
from neardup_stream.text.arguments import whole_number, whole_number_in

__all__ = [
    "MAX_SLICES",
    "ClassWidth",
    "LengthEffect",
    "SignaturePlan",
    "class_least_terms",
    "class_of",
    "class_widths",
    "densities",
    "drop_share",
    "effect_of_lengths",
    "least_width",
    "lognormal_lengths",
    "private_share",
]

MAX_SLICES: Final = 64
_MAX_DENSITY: Final = 0.5
"""The highest density of a signature; above it, a longer signature with the same bits is more selective."""

_CLASSES_PER_OCTAVE: Final = 2
_MAX_WIDTH: Final = 1 << 50
_MAX_TERMS: Final = 1e9
_QUANTILES: Final = 4096


@dataclass(frozen=True, slots=True)
class SignaturePlan:
    """The width of signatures for documents of one length.

    Attributes:
        document_count: N.
        terms: distinct terms of a document, on average.
        slices: b, bits that a term sets, and slices that a search for it reads.
        false_drops: z, the expected false drops of a search for one term.

    Raises:
        ConfigError: a number is out of its range.
        TypeError: `document_count` or `slices` is no whole number.
    """

    document_count: int
    terms: float
    slices: int
    false_drops: float

    def __post_init__(self) -> None:
        whole_number("document_count", self.document_count)
        if self.document_count < 1 or not 0 < self.terms <= _MAX_TERMS:
            raise ConfigError(
                f"{self.document_count} pages of {self.terms} terms cannot be planned: both must be above 0,"
                f" and terms at most {_MAX_TERMS:,.0f}"
            )
        whole_number_in("slices", self.slices, 1, MAX_SLICES)
        if not 0 < self.false_drops < self.document_count:
            raise ConfigError(
                f"{self.false_drops:g} false drops are allowed: must be above 0 and below the"
                f" {self.document_count} pages"
            )

    @property
    def density(self) -> float:
        """Return the highest allowed density: p = (z / N) ** (1 / b)."""
        return math.pow(self.false_drops / self.document_count, 1 / self.slices)

    @property
    def marks(self) -> float:
        """Return how many bits one document sets, with repeats: B = b * terms."""
        return self.slices * self.terms

    @property
    def exact_width(self) -> float:
        """Return the width that solves the equations: W = 1 / (1 - (1 - p) ** (1 / B))."""
        return -1 / math.expm1(math.log1p(-self.density) / self.marks)

    @property
    def approximate_width(self) -> int:
        """Return the integer part of -B / ln(1 - p), which is half a bit below the exact width."""
        return int(-self.marks / math.log1p(-self.density))

    @property
    def least_width(self) -> int:
        """Return the smallest width that keeps the false drops within the limit."""
        return least_width(np.array([self.terms]), self.slices, self.false_drops / self.document_count)

    def false_drops_of(self, width: int) -> float:
        """Return the false drops of a search for one term, with signatures of this width."""
        density = float(densities(np.array([self.terms]), width, self.slices)[0])
        return self.document_count * density**self.slices

    def bytes_of(self, width: int) -> int:
        """Return the size of all signatures in bytes."""
        return width * self.document_count // 8


class ClassWidth(NamedTuple):
    """The signatures of one class of documents.

    Attributes:
        number: of the class, see `class_of`.
        least_terms: of its documents.
        share: of all documents.
        width: of a signature, in bits.
    """

    number: int
    least_terms: int
    share: float
    width: int


class LengthEffect(NamedTuple):
    """The effect of different document lengths on a plan.

    Attributes:
        one_width_drops: false drops with the single width that is planned for the average document.
        one_width: the single width that keeps the false drops within the limit.
        classes: with a width each, which keep them within the limit.
        mean_width: of these, over all documents.
    """

    one_width_drops: float
    one_width: int
    classes: Sequence[ClassWidth]
    mean_width: float


def densities(terms: NDArray[np.float64], width: int, slices: int) -> NDArray[np.float64]:
    """Return the expected density of the signatures of documents with so many terms.

    >>> densities(np.array([182.0]), 7136, 8).round(4).tolist()
    [0.1846]
    """
    if width <= 1:
        return np.where(terms > 0, 1.0, 0.0)
    shares: NDArray[np.float64] = -np.expm1(slices * terms * math.log1p(-1 / width))
    return shares


def least_width(terms: NDArray[np.float64], slices: int, drop_share: float) -> int:
    """Return the smallest width that keeps the average false-drop rate of these documents within a limit.

    Args:
        terms: distinct ones of each document.
        slices: bits that a term sets.
        drop_share: the largest fraction of these documents that a search for one term may drop falsely,
            below 1.
    """
    low, high = 1, _MAX_WIDTH
    while low < high:
        middle = (low + high) // 2
        if float(np.mean(densities(terms, middle, slices) ** slices)) <= drop_share:
            high = middle
        else:
            low = middle + 1
    return low


def class_of(terms: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the class of documents with so many terms: half an octave each, 0 for those without any.

    >>> class_of(np.array([0, 1, 2, 3, 4, 6, 8])).tolist()
    [0, 1, 3, 4, 5, 6, 7]
    """
    edges = _edges(int(terms.max(initial=1)))
    return np.searchsorted(edges, terms, side="right")


def class_least_terms(number: int) -> int:
    """Return the least number of terms that a document of the class has.

    >>> [class_least_terms(number) for number in (0, 1, 3, 4, 5, 6)]
    [0, 1, 2, 3, 4, 6]
    """
    return 0 if number == 0 else math.ceil(2.0 ** ((number - 1) / _CLASSES_PER_OCTAVE))


def class_widths(terms: NDArray[np.int64], slices: int, drop_share: float) -> Sequence[ClassWidth]:
    """Return the classes of these documents, each with the smallest width within its false-drop limit."""
    numbers = class_of(terms)
    return [
        ClassWidth(
            number=number,
            least_terms=class_least_terms(number),
            share=float(np.mean(numbers == number)),
            width=least_width(terms[numbers == number].astype(np.float64), slices, drop_share),
        )
        for number in np.unique(numbers).tolist()
    ]


def effect_of_lengths(plan: SignaturePlan, lengths: NDArray[np.int64]) -> LengthEffect:
    """Return the effect on a plan of documents with these lengths."""
    share = plan.false_drops / plan.document_count
    terms = lengths.astype(np.float64)
    dropped = densities(terms, plan.least_width, plan.slices) ** plan.slices
    classes = class_widths(lengths, plan.slices, share)
    return LengthEffect(
        one_width_drops=plan.document_count * float(dropped.mean()),
        one_width=least_width(terms, plan.slices, share),
        classes=classes,
        mean_width=sum(each.share * each.width for each in classes),
    )


def lognormal_lengths(mean: float, spread: float) -> NDArray[np.int64]:
    """Return numbers of terms with normally distributed logarithms, as quantiles of equal weight.

    Args:
        mean: of the numbers of terms.
        spread: standard deviation of their natural logarithms.
    """
    normal = NormalDist()
    scores = np.array([normal.inv_cdf((i + 0.5) / _QUANTILES) for i in range(_QUANTILES)])
    lengths = np.exp(spread * scores)
    rounded: NDArray[np.int64] = np.rint(lengths * (mean / lengths.mean())).astype(np.int64)
    return np.maximum(rounded, 1)


def drop_share(document_count: int, slices: int, false_drops: float) -> float:
    """Return the largest fraction of documents that a search for one term may drop falsely.

    Small collections are included.

    >>> drop_share(1_000_000, 8, 1.0), drop_share(1, 8, 1.0)
    (1e-06, 0.00390625)
    """
    return min(false_drops / max(document_count, 1), _MAX_DENSITY**slices)


def private_share(document_count: int, slices: int, dropped: float, entry_bits: int) -> float:
    """Return the document frequency from which a slice of its own is smaller than signatures.

    A slice of its own takes one bit a document, plus `entry_bits` for the term's name; signatures take slices
    / -ln(1 - p) bits for each document that has the term: 39 for p = .185, so the result is 2.55 %.

    Args:
        document_count: of the collection.
        slices: bits that a term sets.
        dropped: see `drop_share`.
        entry_bits: for the name of a term.
    """
    density = math.pow(dropped, 1 / slices)
    return -math.log1p(-density) / slices * (1 + entry_bits / max(document_count, 1))


def _edges(most: int) -> NDArray[np.int64]:
    """Return the lower bounds of the classes, up to the class of the longest document."""
    count = 2 + _CLASSES_PER_OCTAVE * max(most, 1).bit_length()
    return np.array([math.ceil(2.0 ** (i / _CLASSES_PER_OCTAVE)) for i in range(count)], np.int64)
