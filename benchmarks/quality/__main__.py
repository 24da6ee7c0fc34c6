"""How many near-duplicates are found, how many pairs are false, and what does each table setting cost?

    python -m benchmarks.quality [--memory] [--json] [--cache DIR]

Manuals in two versions, labelled by exact similarity, go through `dedup` and, in memory, through every table
setting; so do generated pages with edited words, and unrelated ones. Figures are printed as Markdown; the
curve is written to docs/quality.svg. Everything is seeded: the same versions of the libraries give the same
figures.
"""

import argparse
import asyncio
import json
from collections import Counter
from dataclasses import asdict
from pathlib import Path

import numpy as np

from benchmarks.quality.detection import run_dedup
from benchmarks.quality.edits import EDITED_WORDS, Vocabulary, edit_recalls, unrelated_matches
from benchmarks.quality.labelled_set import LabelledSet, build_labelled_set, pair
from benchmarks.quality.memory import bytes_per_page
from benchmarks.quality.plot import Axis, draw_curves, evenly_spaced
from benchmarks.quality.report import Report, RuleFigures, print_report
from benchmarks.quality.scores import PairScores, bcubed, pair_scores, pairs_within
from benchmarks.quality.table_settings import TABLE_SETTINGS, by_recipe, matching_rows
from neardup_stream.fingerprints.simhash import fingerprint_texts
from neardup_stream.text.markup import visible_text

ROOT = Path(__file__).parents[2]
PLOT = ROOT / "docs" / "quality.svg"

EDITED_PAGES = 10_000
UNRELATED_PAGES = 100_000
STORED_PAGES = 200_000
RULES = ("linked", "components", "anchored")

AXIS = Axis(
    "edited words of 500",
    {number / (len(EDITED_WORDS) - 1): str(count) for number, count in enumerate(EDITED_WORDS)},
)

DRAWN = (
    "simhash alone, 3 bits",
    "simhash alone, 3 bits, 1-token windows",
    "simhash alone, 6 bits",
    "6 bands",
    "12 bands",
    "12 bands, 2-token shingles",
    "12 bands, 5-token shingles",
    "12 bands, containment .90",
)


def main() -> None:
    """Build, check, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument(
        "--cache", type=Path, default=ROOT / ".cache" / "quality", help="where packages are kept"
    )
    parser.add_argument("--memory", action="store_true", help="measure bytes a page too, which takes long")
    parser.add_argument("--json", action="store_true", help="one line of JSON instead of tables")
    arguments = parser.parse_args()
    report = measure(arguments.cache, with_memory=arguments.memory)
    recalls = report.recalls_by_edited_words
    PLOT.write_text(draw_curves(AXIS, {name: evenly_spaced(recalls[name]) for name in DRAWN}))
    if arguments.json:
        print(json.dumps(asdict(report)))
    else:
        print_report(report)


def measure(cache: Path, *, with_memory: bool) -> Report:
    """Everything, the manuals first."""
    truth = build_labelled_set(cache)
    rng = np.random.default_rng(1)
    vocabulary = Vocabulary.make(rng)
    return Report(
        pages=len(truth.pages),
        labels=Counter(truth.labels.values()),
        true_clusters=len(truth.clusters),
        rules={rule: _rule_figures(truth, rule) for rule in RULES},
        on_manuals=_in_memory(truth),
        edited_words=EDITED_WORDS,
        recalls_by_edited_words=edit_recalls(TABLE_SETTINGS, EDITED_PAGES, vocabulary, rng),
        unrelated_matches=unrelated_matches(TABLE_SETTINGS, UNRELATED_PAGES, vocabulary, rng),
        bytes_per_page=asyncio.run(bytes_per_page(TABLE_SETTINGS, STORED_PAGES)) if with_memory else {},
    )


def _rule_figures(truth: LabelledSet, rule: str) -> RuleFigures:
    matches, clusters = run_dedup(truth.pages, rule)
    within = pair_scores(pairs_within(clusters), truth)
    return RuleFigures(pair_scores(matches, truth), within, bcubed(clusters, truth))


def _in_memory(truth: LabelledSet) -> dict[str, PairScores]:
    """Return what each table setting finds of the manuals, and what it takes for alike."""
    texts = [visible_text(page.html) for page in truth.pages]
    ids = [page.id for page in truth.pages]
    scores = {}
    for recipe, settings in by_recipe(TABLE_SETTINGS):
        pages = fingerprint_texts(texts, *recipe)
        for setting in settings:
            found = [pair(ids[left], ids[right]) for left, right in matching_rows(pages, setting)]
            scores[setting.name] = pair_scores(found, truth)
    return scores


if __name__ == "__main__":
    main()
