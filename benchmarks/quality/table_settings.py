"""Ways to find and judge pairs, each a row of the tables, applied in memory.

Fingerprints and estimates are made by the functions that the daemon uses; only its tables are replaced by
what they promise: every pair within the distance, and every pair with a band in common.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, product

import numpy as np
from numpy.typing import NDArray

from neardup_stream.bits.permutations import PermutedConfig
from neardup_stream.fingerprints.simhash import Fingerprints, SimhashConfig
from neardup_stream.fingerprints.sketch import SketchConfig, estimate_resemblances
from neardup_stream.indexes.pairs import matching_pairs
from neardup_stream.pipeline.classification import VerdictConfig, classify
from neardup_stream.pipeline.pair_figures import ContentFigures, PairFigures

__all__ = [
    "TABLE_SETTINGS",
    "TableSetting",
    "are_alike",
    "are_found",
    "matching_rows",
    "take_rows",
]

Rows = NDArray[np.intp]
Recipe = tuple[SimhashConfig, SketchConfig | None]
"""What fingerprints are made of."""

SKETCH = SketchConfig()
SIX_BITS = PermutedConfig(blocks=8, distance_bits=6)


@dataclass(frozen=True)
class TableSetting:
    """How pages are found and judged.

    Attributes:
        name: in tables and in the plot.
        verdict: how candidates are judged; its sketch says how many bands there are.
        tables: of the simhash, by blocks and distance.
        simhash: what it is made of.
    """

    name: str
    verdict: VerdictConfig
    tables: PermutedConfig = PermutedConfig()  # noqa: RUF009 - frozen, so one default serves all
    simhash: SimhashConfig = SimhashConfig()  # noqa: RUF009 - the same


def _simhash_alone(name: str, tables: PermutedConfig, window_tokens: int = 2) -> TableSetting:
    verdict = VerdictConfig(None, distance_bits=tables.distance_bits)
    return TableSetting(name, verdict, tables, SimhashConfig(window_tokens))


def _sketched(name: str, sketch: SketchConfig) -> TableSetting:
    return TableSetting(name, VerdictConfig(sketch))


def _judged(name: str, containment: float) -> TableSetting:
    """Pages of one length with this containment in each other have this resemblance."""
    resemblance = containment / (2 - containment)
    return TableSetting(name, VerdictConfig(SKETCH, 3, resemblance, containment))


TABLE_SETTINGS = (
    _simhash_alone("simhash alone, 3 bits", PermutedConfig()),
    _simhash_alone("simhash alone, 3 bits, 1-token windows", PermutedConfig(), window_tokens=1),
    _simhash_alone("simhash alone, 6 bits", SIX_BITS),
    _sketched("no bands", replace(SKETCH, bands=0)),
    _sketched("6 bands", replace(SKETCH, bands=6)),
    _sketched("9 bands", replace(SKETCH, bands=9)),
    _sketched("12 bands", SKETCH),
    _sketched("12 bands of 2 bins", replace(SKETCH, band_bins=2)),
    _sketched("12 bands of 4 bins", replace(SKETCH, band_bins=4)),
    _sketched("12 bands, 8-bit codes", replace(SKETCH, code_bits=8)),
    _sketched("12 bands, 128 bins", replace(SKETCH, bins=128)),
    _sketched("12 bands, 2-token shingles", replace(SKETCH, shingle_tokens=2)),
    _sketched("12 bands, 5-token shingles", replace(SKETCH, shingle_tokens=5)),
    _judged("12 bands, containment .65", 0.65),
    _judged("12 bands, containment .80", 0.80),
    _judged("12 bands, containment .90", 0.90),
)
"""Without a name of their own: simhash at 3 bits, 160 bins of 4 bits, 3-token shingles, bands of 3 bins, and
the thresholds that are the defaults of the program."""


def by_recipe(settings: Sequence[TableSetting]) -> Iterator[tuple[Recipe, list[TableSetting]]]:
    """Yield the settings that can share fingerprints, together."""
    for recipe in {(setting.simhash, setting.verdict.sketch): None for setting in settings}:
        yield recipe, [each for each in settings if (each.simhash, each.verdict.sketch) == recipe]


def are_found(lefts: Fingerprints, rights: Fingerprints, setting: TableSetting) -> NDArray[np.bool_]:
    """Return whether the pages of each row are candidates of each other and alike."""
    bits = np.bitwise_count(lefts.fingerprints ^ rights.fingerprints)
    is_candidate = (bits <= setting.tables.distance_bits) | np.any(lefts.bands == rights.bands, axis=1)
    found: NDArray[np.bool_] = is_candidate & are_alike(lefts, rights, setting.verdict)
    return found


def are_alike(lefts: Fingerprints, rights: Fingerprints, verdict: VerdictConfig) -> NDArray[np.bool_]:
    """Return whether the pages of each row would match, once they are candidates."""
    bits = np.bitwise_count(lefts.fingerprints ^ rights.fingerprints)
    figures = PairFigures(lefts.text_fingerprints == rights.text_fingerprints, bits, contents=None)
    if verdict.sketch is not None:
        resemblances = estimate_resemblances(lefts.sketches, rights.sketches, verdict.sketch)
        counts = lefts.shingle_counts, rights.shingle_counts
        figures = figures._replace(contents=ContentFigures.of_texts(resemblances, counts))
    return classify(figures, verdict).is_match


def matching_rows(pages: Fingerprints, setting: TableSetting) -> list[tuple[int, int]]:
    """Return all pairs of rows that are candidates and alike, the smaller one first."""
    candidates = {*_rows_near(pages.fingerprints, setting.tables.distance_bits)}
    for band in pages.bands.T:
        candidates |= {*_rows_near(band, 0)}
    if not candidates:
        return []
    lefts, rights = np.array(sorted(candidates), dtype=np.intp).T
    is_match = are_alike(take_rows(pages, lefts), take_rows(pages, rights), setting.verdict)
    return list(zip(lefts[is_match].tolist(), rights[is_match].tolist(), strict=True))


def take_rows(pages: Fingerprints, rows: Rows) -> Fingerprints:
    """Return the pages at these rows."""
    return Fingerprints._make(field[rows] for field in pages)


def _rows_near(words: NDArray[np.unsignedinteger], distance_bits: int) -> Iterator[tuple[int, int]]:
    """Pairs of rows whose words differ in at most so many bits."""
    rows_of: defaultdict[int, list[int]] = defaultdict(list)
    for row, word in enumerate(words.tolist()):
        rows_of[word].append(row)
    for rows in rows_of.values():
        yield from combinations(rows, 2)
    if distance_bits:
        for lefts, rights in matching_pairs(np.array(sorted(rows_of), dtype=np.uint64), distance_bits):
            for left, right in zip(lefts.tolist(), rights.tolist(), strict=True):
                yield from map(_ascending, product(rows_of[left], rows_of[right]))


def _ascending(rows: Sequence[int]) -> tuple[int, int]:
    return min(rows), max(rows)
