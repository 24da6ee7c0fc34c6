"""Pairs whose common share is known: estimated without bias, and matched as often as predicted."""

from collections import Counter
from collections.abc import Sequence
from itertools import product
from math import erf, sqrt
from random import Random
from typing import NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

from neardup_stream.fingerprints.simhash import SimhashConfig, fingerprint_texts
from neardup_stream.fingerprints.sketch import (
    SketchConfig,
    containments,
    estimate_resemblances,
    standard_errors,
)
from neardup_stream.match import Candidate
from neardup_stream.page import Handle
from neardup_stream.pipeline.candidate_comparison import compare_candidates
from neardup_stream.pipeline.classification import VerdictConfig
from neardup_stream.stores.page_record import PageRecord

SKETCH = SketchConfig()
VERDICT = VerdictConfig(SKETCH)
PAIRS_EACH = 1000
PAGE_WORDS = 502
SHINGLES = 500
SHARES = (0.60, 0.65, 0.70, 0.75, 0.80, 0.85, 0.90)


class Pairs(NamedTuple):
    """Texts, each with a noisy copy; `shares` are exact, of the smaller containment of their shingles."""

    originals: list[str]
    copies: list[str]
    shares: NDArray[np.float64]


@pytest.fixture(scope="module")
def pairs(request: pytest.FixtureRequest) -> Pairs:
    share, repeats = request.param
    return _pairs(share, repeats=repeats)


def _pairs(share: float, *, repeats: bool) -> Pairs:
    """Pages of which so much is left after words were misread, no two of them next to each other.

    With `repeats` a third of each page says again what the page said before.
    """
    random = Random(f"{share} {repeats}")
    originals, copies, shares = [], [], []
    for page in range(PAIRS_EACH):
        words = [f"w{page}x{number}" for number in range(PAGE_WORDS)]
        if repeats:
            words[PAGE_WORDS * 2 // 3 :] = words[: PAGE_WORDS - PAGE_WORDS * 2 // 3]
        misread = list(words)
        for place in random.sample(range(2, PAGE_WORDS - 2, 3), round(SHINGLES * (1 - share) / 3)):
            misread[place] = f"misread{page}x{place}"
        originals.append(" ".join(words))
        copies.append(" ".join(misread))
        shares.append((_triples(words) & _triples(misread)).total() / SHINGLES)
    return Pairs(originals, copies, np.array(shares))


def _triples(words: Sequence[str]) -> Counter[tuple[str, ...]]:
    return Counter(zip(words, words[1:], words[2:], strict=False))


class Estimates(NamedTuple):
    """Of each pair the smaller containment and its standard error, estimated."""

    containments: NDArray[np.float64]
    errors: NDArray[np.float64]


def _estimated(pairs: Pairs) -> Estimates:
    lefts, rights = (fingerprint_texts(texts, SimhashConfig(), SKETCH) for texts in pairs[:2])
    resemblances = estimate_resemblances(lefts.sketches, rights.sketches, SKETCH)
    errors = standard_errors(resemblances, lefts.sketches, rights.sketches, SKETCH)
    mutual = np.minimum(*containments(resemblances, lefts.shingle_counts, rights.shingle_counts))
    return Estimates(mutual, 2 * errors / (1 + resemblances) ** 2)


def _records(texts: Sequence[str]) -> list[PageRecord]:
    computed = fingerprint_texts(texts, SimhashConfig(), SKETCH)
    return [
        PageRecord(
            url=f"https://example.com/{row}",
            fingerprint=int(computed.fingerprints[row]),
            text_fingerprint=int(computed.text_fingerprints[row]),
            version=1,
            made_by=("pages", 0, row),
            seen_seconds=0,
            sketch=computed.sketches[row].tobytes(),
            shingle_count=int(computed.shingle_counts[row]),
        )
        for row in range(len(texts))
    ]


def _pass_rate(pairs: Pairs) -> float:
    """Share of the pairs that the verdict takes for alike."""
    others = {Handle(row): record for row, record in enumerate(_records(pairs.copies))}
    candidates = [(Candidate(handle, 1),) for handle in others]
    compared = compare_candidates(_records(pairs.originals), candidates, others, VERDICT).compared
    return sum(bool(each.matches) for each in compared) / len(compared)


def _normal_share_below(deviations: NDArray[np.float64]) -> float:
    return float(np.mean([(1 + erf(each / sqrt(2))) / 2 for each in deviations.tolist()]))


of_all_shares = pytest.mark.parametrize(
    "pairs", list(product(SHARES, [False, True])), ids=str, indirect=True, scope="module"
)


@of_all_shares
def test_the_containment_of_a_noisy_copy_is_estimated_without_bias(pairs: Pairs) -> None:
    estimates = _estimated(pairs)

    errors = estimates.containments - pairs.shares
    standard_error_of_mean = estimates.errors.mean() / sqrt(PAIRS_EACH)
    # r / (1 + r) is concave, which lowers a containment by less than a tenth of a percent.
    assert abs(errors.mean()) < 0.001 + 3 * standard_error_of_mean
    assert errors.std() < 1.1 * estimates.errors.mean()


@of_all_shares
def test_a_noisy_copy_matches_as_often_as_the_standard_error_predicts(pairs: Pairs) -> None:
    expected = _normal_share_below(
        (pairs.shares - VERDICT.near_containment) / _estimated(pairs).errors.mean()
    )

    assert abs(_pass_rate(pairs) - expected) < 0.05


@pytest.mark.parametrize("repeats", [False, True])
@pytest.mark.parametrize(("share", "least", "most"), [(0.60, 0, 0.01), (0.80, 0.98, 1), (0.90, 1, 1)])
def test_copies_far_from_the_threshold_get_the_verdict_of_their_exact_share(
    *, share: float, least: float, most: float, repeats: bool
) -> None:
    assert least <= _pass_rate(_pairs(share, repeats=repeats)) <= most
