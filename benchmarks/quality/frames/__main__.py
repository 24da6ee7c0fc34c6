"""How many near-duplicates are found, and how many pairs are false, when most of a page is its site's frame?

    python -m benchmarks.quality.frames [--part real|articles|unrelated …] [--pages 100000] [--hosts 500]
        [--articles 120] [--scope host|off …] [--json] [--cache DIR]

Real pages come from documentation packages, labelled by the exact similarity of their articles: one article
in two designs, and siblings that share nearly all but their subject. Generated pages have frames of 0 to 90 %
of their words. All go through `dedup` as a crawl, from an empty index, with every scope of frames that the
program has. Figures are printed as Markdown; docs/frames.svg shows the curve if real pages and articles were
measured. Input is seeded. While hundreds of pages share a bucket it overflows, and what `dedup` finds depends
on timing: such figures differ by about one percent from run to run.
"""

import argparse
import json
from collections import Counter
from collections.abc import Collection
from dataclasses import asdict
from pathlib import Path
from statistics import quantiles

import numpy as np

from benchmarks.quality.edits import Vocabulary
from benchmarks.quality.frames.generated_figures import FRAME_SHARES, measure_articles, measure_unrelated
from benchmarks.quality.frames.real_figures import measure_real
from benchmarks.quality.frames.real_sets import FramedSet, build_designs, build_siblings
from benchmarks.quality.frames.report import FramesReport, SetFacts, curves, print_frames_report
from benchmarks.quality.frames.scopes import SCOPES
from benchmarks.quality.plot import Axis, draw_curves

ROOT = Path(__file__).parents[3]
PLOT = ROOT / "docs" / "frames.svg"

PARTS = ("real", "articles", "unrelated")
ARTICLE_HOSTS = 50
UNRELATED_SHARE = 0.8
AXIS = Axis(
    "share of a page that is frame", {share: f"{share:.1f}" for share in (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)}
)


def main() -> None:
    """Build, check, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--part", choices=PARTS, nargs="+", default=PARTS, help="what to measure")
    parser.add_argument("--pages", type=int, default=100_000, help="unrelated pages")
    parser.add_argument("--hosts", type=int, default=500, help="hosts of the unrelated pages")
    parser.add_argument("--articles", type=int, default=120, help=f"on each of {ARTICLE_HOSTS} hosts")
    parser.add_argument("--scope", choices=SCOPES, nargs="+", default=SCOPES, help="values of frames.scope")
    parser.add_argument(
        "--cache", type=Path, default=ROOT / ".cache" / "quality", help="where packages are kept"
    )
    parser.add_argument("--json", action="store_true", help="one line of JSON instead of tables")
    arguments = parser.parse_args()
    report = measure(arguments)
    if report.real and report.articles:
        PLOT.write_text(draw_curves(AXIS, curves(report)))
    if arguments.json:
        print(json.dumps(asdict(report)))
    else:
        print_frames_report(report)


def measure(arguments: argparse.Namespace) -> FramesReport:
    """Measure the parts that were asked for."""
    vocabulary = Vocabulary.make(np.random.default_rng(1))
    scopes: Collection[str] = arguments.scope
    sets = (
        [build(arguments.cache) for build in (build_designs, build_siblings)]
        if "real" in arguments.part
        else []
    )
    return FramesReport(
        sets={framed.name: _facts(framed) for framed in sets},
        real={
            scope: {framed.name: measure_real(framed, scope) for framed in sets} for scope in scopes if sets
        },
        articles={
            scope: {
                share: measure_articles(ARTICLE_HOSTS, arguments.articles, share, vocabulary, scope)
                for share in FRAME_SHARES
            }
            for scope in scopes
            if "articles" in arguments.part
        },
        unrelated_pages=arguments.pages,
        unrelated_pairs={
            scope: measure_unrelated(arguments.pages, arguments.hosts, UNRELATED_SHARE, vocabulary, scope)
            for scope in scopes
            if "unrelated" in arguments.part
        },
    )


def _facts(framed: FramedSet) -> SetFacts:
    truth = framed.truth
    deciles = quantiles(framed.frame_shares.values(), n=10)
    labels = Counter(truth.labels.values())
    return SetFacts(len(truth.pages), labels, len(truth.clusters), (deciles[0], deciles[4], deciles[8]))


if __name__ == "__main__":
    main()
