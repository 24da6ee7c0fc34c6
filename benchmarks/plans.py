"""Does `plan` predict what an index takes? Its bytes and processor time beside measured ones, in one run.

    python -m benchmarks.plans [--pages 200000] [--json]

One daemon reads generated pages from Kafka, as in `benchmarks.end_to_end`, which checks every outcome, event
and pair first. Bytes do not depend on the machine; processor times do, and are printed to be compared with
those that the plan assumes.
"""

import argparse
import json
from typing import NamedTuple

from neardup_daemon.capacity.planned import Corpus, IndexPlan, plan_index
from neardup_daemon.settings.settings import Settings
from rich.console import Console
from rich.table import Table

from benchmarks.crawls import text_pages
from benchmarks.end_to_end import VARIANTS, measure

NEAR_DUPLICATES = 0.2
"""Of the pages that are generated; each has an original, so twice as many are in clusters, or a few less."""

SAMPLE_PAGES = 1000
MASTER_BYTES = 32 << 30


class Row(NamedTuple):
    """One figure, as predicted and as measured."""

    name: str
    predicted: float
    measured: float


def main() -> None:
    """Measure, predict and print side by side."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pages", type=int, default=200_000)
    parser.add_argument("--json", action="store_true", help="one JSON line instead of the table")
    arguments = parser.parse_args()
    rows = compare(arguments.pages)
    if arguments.json:
        print(json.dumps({"pages": arguments.pages, **{row.name: row[1:] for row in rows}}))
        return
    table = Table(title=f"A plan for {arguments.pages:,} pages", title_justify="left")
    for heading in ("figure", "predicted", "measured", "ratio"):
        table.add_column(heading, justify="left" if heading == "figure" else "right")
    for name, predicted, measured in rows:
        table.add_row(name, f"{predicted:,.0f}", f"{measured:,.0f}", f"{predicted / measured:.2f}")
    Console().print(table)


def compare(page_count: int) -> list[Row]:
    """Return the figures that both have."""
    (measured,) = measure(page_count, 1, {"everything": VARIANTS["everything"]}).values()
    sample = list(text_pages(SAMPLE_PAGES))
    corpus = Corpus(
        pages=page_count,
        rate=measured.pages_per_second,
        words=round(sum(len(page.text.split()) for page in sample) / SAMPLE_PAGES),
        html_bytes=0,
        url_bytes=sum(len(page.url) for page in sample) / SAMPLE_PAGES,
        linked_share=measured.duplicates / page_count * 2,
        framed_share=0.0,
        recall_at=2,
        master_bytes=MASTER_BYTES,
    )
    plan = plan_index(corpus, Settings())
    return [
        Row("bytes a page: tables", plan.bytes_per_page.tables, measured.index_bytes_per_page),
        Row("bytes a page: records", plan.bytes_per_page.record, measured.record_bytes_per_page),
        Row("bytes a page: clusters", plan.bytes_per_page.clusters, measured.cluster_bytes_per_page),
        Row("bytes a page: all", plan.bytes_per_page.total, measured.all_bytes_per_page),
        Row("microseconds a page: daemon", plan.cost.daemon, measured.daemon_cpu_us),
        Row("microseconds a page: Redis", plan.cost.redis, measured.redis_cpu_us),
    ]


def plan_of(
    settings: Settings, *, pages: int, rate: float, words: int, url_bytes: float, linked_share: float
) -> IndexPlan:
    """Plan an index of plain texts, whose sites have no frames."""
    corpus = Corpus(
        pages=pages,
        rate=rate,
        words=words,
        html_bytes=0,
        url_bytes=url_bytes,
        linked_share=linked_share,
        framed_share=0.0,
        recall_at=2,
        master_bytes=MASTER_BYTES,
    )
    return plan_index(corpus, settings)


if __name__ == "__main__":
    main()
