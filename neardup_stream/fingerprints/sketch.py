"""Define the sketch of a page, and estimate the similarity of two pages from their sketches.

A sketch is a small sample of a page's bag of shingles, one from each of many bins (one-permutation hashing).
In a bag a shingle counts as often as it occurs. Two pages agree in a bin with a probability that equals their
resemblance, |A and B| / |A or B|. A bin stores only a short code of its sample, 0 if it is empty.
`tests/reference.py` defines how sketches and bands are computed.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from neardup_stream.errors import ConfigError
from neardup_stream.text.arguments import whole_number, whole_number_in

__all__ = [
    "MAX_BANDS",
    "MAX_BAND_BINS",
    "MAX_BINS",
    "MAX_SHINGLE_TOKENS",
    "MIN_BINS",
    "SketchConfig",
    "containments",
    "estimate_resemblances",
    "sketch_schema_fields",
    "stack_sketches",
    "standard_errors",
]

MAX_SHINGLE_TOKENS = 32
"""The cyclic hash rotates a token's 64 bits by one for each later token: far below 64 they stay distinct."""

MIN_BINS = 16
"""With fewer bins, the average error of a resemblance exceeds 0.1."""

MAX_BINS = 1024
"""With more bins, a sketch would be larger than a short page."""

MAX_BANDS = 32
MAX_BAND_BINS = 8


@dataclass(frozen=True, slots=True)
class SketchConfig:
    """Parameters of a sketch. Any change gives other sketches.

    Attributes:
        shingle_tokens: consecutive tokens to a shingle, 1 to MAX_SHINGLE_TOKENS.
        bins: samples of a sketch; even, MIN_BINS to MAX_BINS. The error of a resemblance decreases with the
            square root of this number.
        code_bits: stored of each sample, 4 or 8. Shorter codes agree by chance more often; the estimate
            corrects for that, at the cost of precision, most where resemblance is low.
        bands: words that make pages that resemble each other candidates, 0 to MAX_BANDS.
        band_bins: samples that must all agree for a band to agree, 1 to MAX_BAND_BINS. Pages of resemblance
            r have a band in common with probability 1 - (1 - r**band_bins)**bands.

    Raises:
        ConfigError: a number is out of its range.
        TypeError: it is no whole number.
    """

    shingle_tokens: int = 3
    bins: int = 160
    code_bits: int = 4
    bands: int = 12
    band_bins: int = 3

    def __post_init__(self) -> None:
        whole_number_in("shingle_tokens", self.shingle_tokens, 1, MAX_SHINGLE_TOKENS)
        if whole_number_in("bins", self.bins, MIN_BINS, MAX_BINS) % 2:
            raise ConfigError(f"bins is {self.bins}, must be even")
        if whole_number("code_bits", self.code_bits) not in {4, 8}:
            raise ConfigError(f"code_bits is {self.code_bits}, must be 4 or 8")
        whole_number_in("bands", self.bands, 0, MAX_BANDS)
        whole_number_in("band_bins", self.band_bins, 1, MAX_BAND_BINS)

    @property
    def sketch_bytes(self) -> int:
        """Return the size of one sketch in bytes."""
        return self.bins * self.code_bits // 8


def stack_sketches(sketches: Sequence[bytes], size_bytes: int) -> NDArray[np.uint8]:
    """Return sketches of the same size as rows of an array, uint8[sketches, size_bytes]."""
    return np.frombuffer(b"".join(sketches), np.uint8).reshape(len(sketches), size_bytes)


def estimate_resemblances(
    lefts: NDArray[np.uint8], rights: NDArray[np.uint8], config: SketchConfig
) -> NDArray[np.float64]:
    """Estimate the resemblance of pages, pair by pair.

    Unbiased except for the clipping. With u bins that are filled in at least one of the pages, and the chance
    c = 1 / (2**code_bits - 1) that the codes of different samples agree, the standard error is at most

        sqrt(p * (1 - p) / u) / (1 - c)    where p = r + (1 - r) * c

    which for long codes is sqrt(r * (1 - r) / u): with 128 bins 0.028 at r = 0.9, and nothing at r = 1.

    Args:
        lefts: uint8[pairs, sketch_bytes].
        rights: the same shape.
        config: that made them.

    Returns:
        float64[pairs] in [0, 1]: 1 for equal sketches, but 0 for two pages without a shingle, whose
        resemblance is unknown.

    Cost: a microsecond a pair.
    """
    left_codes, right_codes = _codes(lefts, config), _codes(rights, config)
    either = np.count_nonzero(left_codes | right_codes, axis=1)
    both = np.count_nonzero(left_codes, axis=1) + np.count_nonzero(right_codes, axis=1) - either
    agreeing = np.count_nonzero(left_codes == right_codes, axis=1) - (config.bins - either)
    code_count = (1 << config.code_bits) - 1
    shared = code_count * agreeing - both  # in integers, so that equal sketches give exactly 1
    resemblances: NDArray[np.float64] = np.clip(shared / np.maximum((code_count - 1) * either, 1), 0.0, 1.0)
    return resemblances


def standard_errors(
    resemblances: NDArray[np.float64],
    lefts: NDArray[np.uint8],
    rights: NDArray[np.uint8],
    config: SketchConfig,
) -> NDArray[np.float64]:
    """Return the standard errors of estimated resemblances, by the formula of the estimate.

    Args:
        resemblances: float64[pairs] in [0, 1]; use the estimates if the true ones are unknown.
        lefts: uint8[pairs, sketch_bytes].
        rights: the same shape.
        config: of the sketches.

    Returns:
        float64[pairs]; 0 for two pages without a shingle.
    """
    either = np.count_nonzero(_codes(lefts, config) | _codes(rights, config), axis=1)
    chance = 1 / ((1 << config.code_bits) - 1)
    agreeing = resemblances + (1 - resemblances) * chance
    variances = agreeing * (1 - agreeing) / np.maximum(either, 1)
    errors: NDArray[np.float64] = np.where(either > 0, np.sqrt(variances) / (1 - chance), 0.0)
    return errors


def containments(
    resemblances: NDArray[np.float64], own_counts: NDArray[np.int64], other_counts: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the containment of each page in the other, pair by pair, as fractions of its own shingles.

    Args:
        resemblances: float64[pairs] in [0, 1].
        own_counts: shingles of the one page, repeats included, int64[pairs].
        other_counts: of the other.

    Returns:
        The containment of own in other, and of other in own: |A and B| / |A| and |A and B| / |B|,
        float64 in [0, 1]; 0 for a page without a shingle.
    """
    shared = resemblances / (1 + resemblances) * (own_counts + other_counts)
    own = np.clip(shared / np.maximum(own_counts, 1), 0.0, 1.0)
    other = np.clip(shared / np.maximum(other_counts, 1), 0.0, 1.0)
    return own, other


def sketch_schema_fields(config: SketchConfig | None) -> dict[str, str | int]:
    """Return everything that changes a page's sketch and bands, beyond its tokens; None: no sketch."""
    if config is None:
        return {"sketch": "none"}
    return {
        "sketch": "one-permutation",
        "shingles": "bag",
        "shingle_tokens": config.shingle_tokens,
        "sketch_bins": config.bins,
        "sketch_code_bits": config.code_bits,
        "bands": config.bands,
        "band_bins": config.band_bins,
    }


def _codes(sketches: NDArray[np.uint8], config: SketchConfig) -> NDArray[np.uint8]:
    """Return one code a byte, uint8[pages, bins]; two codes of one byte in any order."""
    if config.code_bits == 8:
        return sketches
    return np.concatenate([sketches & 0x0F, sketches >> 4], axis=1)
