"""How well do fuzzy-fingerprints find similar pages, beside the bands of sketches?

    python -m benchmarks.fuzzy [--cache DIR] [--json]

Pages of manuals (benchmarks/quality/manuals.py) are compared pair by pair: cosine similarity of their words
against having a key in common, of 1, 3 and 8 fuzzification schemes, and of 12 bands. Recall is the share of
pairs at least this similar that have a key in common, precision the share of pairs with a key in common that
are at least this similar. The curves go to docs/fuzzy.svg.
"""

import argparse
import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from pathlib import Path
from random import Random

import mmh3
import numpy as np
from numpy.typing import NDArray

from benchmarks.quality.manuals import MANUALS, read_manual
from benchmarks.quality.plot import Axis, draw_curves, evenly_spaced
from benchmarks.quality.similarity import page_tokens
from neardup_stream.fingerprints.fuzzy import SCHEMES, count_prefixes, fuzzy_codes, learn_reference
from neardup_stream.fingerprints.simhash import SimhashConfig, fingerprint_texts
from neardup_stream.fingerprints.sketch import SketchConfig
from neardup_stream.text.markup import visible_text

ROOT = Path(__file__).parents[1]
PLOT = ROOT / "docs" / "fuzzy.svg"
MOST_PAGES = 3000
LEAST_TOKENS = 50
DIMENSIONS = 1 << 13
LEVELS = [level / 20 for level in range(21)]
SHOWN = (0.5, 0.7, 0.9, 0.95, 0.99)
SCHEME_COUNTS = (1, 3, len(SCHEMES))
AXIS = Axis("cosine similarity of words", {level: f"{level:.1f}" for level in LEVELS[::4]}, "share")


@dataclass(frozen=True)
class Curve:
    """One kind of keys, at each of LEVELS."""

    candidates_a_page: float
    recall: list[float]
    precision: list[float]


def main() -> None:
    """Read, compare, draw, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--cache", type=Path, default=ROOT / ".cache" / "quality")
    parser.add_argument("--json", action="store_true", help="one line of JSON instead of the table")
    arguments = parser.parse_args()
    curves = measure(pages(arguments.cache))
    drawn = {f"recall, {name}": evenly_spaced(curve.recall) for name, curve in curves.items()}
    drawn |= {f"precision, {name}": evenly_spaced(curve.precision) for name, curve in curves.items()}
    PLOT.write_text(draw_curves(AXIS, drawn))
    if arguments.json:
        print(json.dumps({name: asdict(curve) for name, curve in curves.items()}))
        return
    print("| keys | candidate pairs a page |", " | ".join(f"≥ {level}" for level in SHOWN), "|")
    print("|---|---|" + "---|" * len(SHOWN))
    for name, curve in curves.items():
        at = [round(20 * level) if level < 0.99 else 20 for level in SHOWN]
        cells = (f"{curve.recall[i]:.2f} / {curve.precision[i]:.2f}" for i in at)
        print(f"| {name} | {curve.candidates_a_page:.1f} |", " | ".join(cells), "|")


def pages(cache: Path) -> list[str]:
    """Return the visible texts of pages that are long enough, in an order that mixes the manuals."""
    texts = [
        visible_text(page.html)
        for manual in MANUALS
        for page in read_manual(manual, cache)
        if len(page_tokens(page.html)) >= LEAST_TOKENS
    ]
    Random(1).shuffle(texts)
    return texts[:MOST_PAGES]


def measure(texts: Sequence[str]) -> Mapping[str, Curve]:
    """Return the curves by the name of the keys."""
    similarities = cosine_similarities(texts)
    counted = [count_prefixes(text) for text in texts]
    codes = fuzzy_codes(counted, learn_reference(counted)).tolist()
    bands = fingerprint_texts(texts, SimhashConfig(), SketchConfig()).bands.tolist()
    keys: dict[str, list[list[int]]] = {
        f"{count} scheme{'s' * (count > 1)}": [list(page[:count]) for page in codes]
        for count in SCHEME_COUNTS
    }
    keys["12 bands"] = bands
    return {name: curve(of_pages, similarities) for name, of_pages in keys.items()}


def cosine_similarities(texts: Sequence[str]) -> NDArray[np.float32]:
    """Of every pair of pages, float32[pages, pages], by their words hashed to DIMENSIONS places."""
    counts = np.zeros((len(texts), DIMENSIONS), np.float32)
    for row, text in enumerate(texts):
        for word in text.lower().split():
            counts[row, mmh3.hash(word, signed=False) % DIMENSIONS] += 1
    counts /= np.linalg.norm(counts, axis=1, keepdims=True)
    similarities: NDArray[np.float32] = counts @ counts.T
    return similarities


def curve(keys: Sequence[Sequence[int]], similarities: NDArray[np.float32]) -> Curve:
    """Return how pairs with a key in common and similar pairs overlap."""
    by_key: defaultdict[tuple[int, int], list[int]] = defaultdict(list)
    for row, of_page in enumerate(keys):
        for number, key in enumerate(of_page):
            by_key[number, key].append(row)
    meet = np.zeros(similarities.shape, np.bool_)
    for rows in by_key.values():
        for one, other in combinations(rows, 2):
            meet[one, other] = True
    above = np.triu_indices(len(keys), 1)
    similar, met = similarities[above], meet[above]
    met_count = int(np.count_nonzero(met))
    recall, precision = [], []
    for level in LEVELS:
        is_similar = similar >= min(level, 0.99)
        both = int(np.count_nonzero(is_similar & met))
        recall.append(both / max(int(np.count_nonzero(is_similar)), 1))
        precision.append(both / max(met_count, 1))
    return Curve(met_count / len(keys), recall, precision)


if __name__ == "__main__":
    main()
