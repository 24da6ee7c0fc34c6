"""Does `plan` predict what an index takes? Its bytes and processor time beside measured ones, in one run.

    python -m benchmarks.plans [--pages 200000] [--json]

One daemon reads generated pages from Kafka, as in `benchmarks.end_to_end`, which checks every outcome, event
and pair first. Bytes do not depend on the machine; processor times do, and are printed to be compared with
those that the plan assumes.
"""

import argparse
import json
from typing import NamedTuple

from neardup_daemon.capacity.planned import Corpus, plan_index
from neardup_daemon.settings.settings import Settings
from rich.console import Console
from rich.table import Table

from benchmarks.crawls import text_pages
from benchmarks.end_to_end import VARIANTS, measure

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
    words, url_bytes, linked_share = _facts(page_count)
    corpus = Corpus(
        pages=page_count,
        rate=measured.pages_per_second,
        words=words,
        html_bytes=0,
        url_bytes=url_bytes,
        linked_share=linked_share,
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
        Row("microseconds a page: daemon", plan.cost.daemon, measured.daemon_cpu_us - measured.worker_cpu_us),
        Row("microseconds a page: Redis", plan.cost.redis, measured.redis_cpu_us),
    ]


def _facts(page_count: int) -> tuple[int, float, float]:
    """Return the words and the bytes of the URL of an average page, and the share of pages in clusters."""
    word_count = url_bytes = 0
    linked: set[str] = set()
    for page in text_pages(page_count):
        word_count += len(page.text.split())
        url_bytes += len(page.url)
        if page.near_duplicate_of:
            linked |= {page.id, page.near_duplicate_of}
    return round(word_count / page_count), url_bytes / page_count, len(linked) / page_count


if __name__ == "__main__":
    main()
