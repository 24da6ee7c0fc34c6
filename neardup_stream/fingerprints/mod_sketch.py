"""Sample a set at a fixed rate: every m-th element in a random order that all sets share.

Whether an element is drawn does not depend on its set, so the intersection of two samples is the sample of
the intersection: ratios of the samples estimate ratios of the sets.
"""

from dataclasses import dataclass
from typing import Final, Self

import numpy as np

from neardup_stream.bits.words import WORD_BITS, Words, require_words
from neardup_stream.errors import ConfigError
from neardup_stream.fingerprints.resemblance import Overlap, exact_overlap
from neardup_stream.hashing.ranks import MOST_KEY, ranks
from neardup_stream.text.arguments import require_instance, whole_number_in

__all__ = ["ModSketch"]

_MOST_MODULUS: Final = (1 << WORD_BITS) - 1


@dataclass(frozen=True, slots=True, eq=False)
class ModSketch:
    """The elements of a set whose ranks a modulus divides: Broder's MOD_m.

    Attributes:
        ranks: their ranks, ascending; some n / modulus of n.
        modulus: one element in so many is drawn, from 1.
        key: of the order.
    """

    ranks: Words
    modulus: int
    key: int

    @classmethod
    def of(cls, ids: Words, modulus: int, key: int = 0) -> Self:
        """Return the sketch of a set of distinct ids at a given rate. Cost: O(n); 20 µs for 600 ids.

        Raises:
            ConfigError: the modulus is not 1 to 2**64 - 1, or the key not 0 to 2**64 - 1.
            TypeError: one of them is no whole number, or the ids are no array of words.
        """
        require_words(ids)
        modulus = whole_number_in("modulus of a sketch", modulus, 1, _MOST_MODULUS)
        key = whole_number_in("key of a sketch", key, 0, MOST_KEY)
        return cls(np.sort(_divisible(ranks(ids, key), modulus)), modulus, key)

    @classmethod
    def bounded(cls, ids: Words, expected_size: int, key: int = 0) -> Self:
        """Return the sketch with the smallest power of two as modulus that bounds its expected size.

        The modulus depends on the number of ids alone, so estimates stay unbiased, and the size varies: fewer
        than one sketch in 1,000 keeps more than `expected_size` + 4 * sqrt(`expected_size`). The expected
        size of a sketch of more than `expected_size` ids is at least half of `expected_size`.

        Raises:
            ConfigError: the size is below 1, or the key is not 0 to 2**64 - 1.
            TypeError: one of them is no whole number, or the ids are no array of words.
        """
        require_words(ids)
        expected_size = whole_number_in("expected_size of a sketch", expected_size, 1)
        times_too_many = -(-max(ids.size, 1) // expected_size)
        return cls.of(ids, 1 << (times_too_many - 1).bit_length(), key)

    def overlap(self, other: Self) -> Overlap:
        """Return the overlap of the two samples; its ratios estimate those of the sets.

        The sketch with the larger modulus decides: of the other, only the elements that this modulus would
        also draw count. With m the larger modulus, the standard errors are

            resemblance r   sqrt(r * (1 - r) * (m - 1) / n), n the elements of the union
            containment c   sqrt(c * (1 - c) * (m - 1) / n), n the elements of the contained set

        or very nearly `standard_error(r, n / m, n)`. So the containment of a short set in a long, coarsely
        sampled one has a large error, and is NaN if no element of the short set was drawn. If at least one
        was drawn, the estimates are unbiased.

        Raises:
            ConfigError: the sketches use different orders, or neither modulus divides the other.
            TypeError: the other is no sketch of this kind.

        Cost: O(size); 12 µs for 128.
        """
        require_instance(ModSketch, other)
        finer, coarser = sorted([self.modulus, other.modulus])
        if other.key != self.key or coarser % finer:
            raise ConfigError(
                f"sketches modulo {self.modulus} with key {self.key} and"
                f" modulo {other.modulus} with key {other.key} cannot be compared"
            )
        return exact_overlap(_divisible(self.ranks, coarser), _divisible(other.ranks, coarser))


def _divisible(of_ranks: Words, modulus: int) -> Words:
    divisible: Words = of_ranks[of_ranks % np.uint64(modulus) == 0]
    return divisible
