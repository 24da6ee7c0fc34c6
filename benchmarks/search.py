"""What does a term search over a million pages take, how fast is it, and how many false drops has it?

    python -m benchmarks.search [--pages 1000000] [--terms 148] [--bend 2500] [--others] [--json]

Pages are made up by a stated law: a page has 148 distinct terms on average, their number lognormal with a
standard deviation of ln of 0.5, drawn from 500,000 terms. Probabilities fall as 1 / rank up to rank 2,500 and
as its square beyond: the two regimes of large collections of text; with --bend 500000 there is one. The bend
is set so that terms on 2.5 % of pages make two thirds of a page's terms, as on real pages of documentation
(102 of 148). The truth is known, so every answer is checked against it before anything is printed. Times
are CPU times of one core, but for the comparison, which takes wall clock.

With --others the first 100,000 of these pages go into inverted indexes too, side by side with an archive of
the same pages: SQLite FTS5, and tantivy where it can be imported (`pip install tantivy`, in an environment of
its own: it is no dependency).
"""

import argparse
import json
import math
import resource
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.search_others import OtherFigures, measure_others
from benchmarks.search_pages import BATCH, SEED, MadePages, Truth
from neardup_stream.archive.building import LEAST_MEMORY_BYTES, ArchiveBuilder
from neardup_stream.archive.log_blocks import LoggedPage
from neardup_stream.archive.pages import FrozenPage
from neardup_stream.archive.writing import ArchiveWriter
from neardup_stream.indexes.queries import And, Not, Or, Query, Words
from neardup_stream.indexes.query_logic import BoundQuery
from neardup_stream.indexes.sliced import SlicedIndex
from neardup_stream.indexes.slicing import SlicesWriter

QUERIES = 300
BEND = 2_500

REPEATS = 20
OTHERS_PAGES = 100_000
MANY = 400.0
RARELY = 1e-4
TOLERANCE = 0.25
"""By how much the false drops of a query may differ from the prediction, beside what chance explains."""


@dataclass(frozen=True)
class KindFigures:
    """Queries of one kind.

    Attributes:
        queries: of it.
        predicted: false drops predicted for all of them.
        measured: pages among the answers that do not fulfil them.
        outside: queries whose false drops differ by more than TOLERANCE and what chance explains.
        median_ms: of a search whose slices are looked at for the first time.
    """

    queries: int
    predicted: float
    measured: int
    outside: int
    median_ms: float


@dataclass(frozen=True)
class Figures:
    """What was measured."""

    pages: int
    terms: float
    bytes_a_page: float
    frequent_terms: int
    sliced_pages_a_second: float
    frozen_pages_a_second: float
    peak_mib: int
    kinds: dict[str, KindFigures]
    terms_ms: dict[str, float]
    others: list[OtherFigures] = field(default_factory=list)


def main() -> None:
    """Build, check, ask, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pages", type=int, default=1_000_000)
    parser.add_argument("--terms", type=float, default=148)
    parser.add_argument(
        "--bend", type=int, default=BEND, help="rank from which on terms are rarer than by Zipf"
    )
    parser.add_argument("--others", action="store_true", help="inverted indexes too")
    parser.add_argument("--json", action="store_true", help="one JSON line instead of the table")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        figures = measure(
            MadePages(arguments.pages, arguments.terms, arguments.bend),
            Path(directory),
            others=arguments.others,
        )
    if arguments.json:
        print(json.dumps(asdict(figures)))
    else:
        show(figures)


def measure(made: MadePages, directory: Path, *, others: bool) -> Figures:
    """Measure everything, and return all figures."""
    count = made.count
    rng = np.random.default_rng(SEED)
    rare = np.unique(rng.integers(4_000, 300_000, 300)).tolist()
    common = np.unique(rng.integers(1_400, 4_000, 300)).tolist()
    frequent = np.unique(rng.integers(1, 60, 20)).tolist()
    truth = Truth([*rare, *common, *frequent], count)
    path = directory / "pages.nda"
    timed = build(path, made, truth)
    index = SlicedIndex.open(path)
    sections = {each.name: each for each in index.archive.header.sections if each.name.startswith("search.")}
    asked = queries(rare, common, frequent)
    return Figures(
        pages=count,
        terms=timed.term_count / count,
        bytes_a_page=sum(each.size_bytes for each in sections.values()) / count,
        frequent_terms=sections["search.terms"].item_count,
        sliced_pages_a_second=count / timed.sliced_seconds,
        frozen_pages_a_second=count / timed.all_seconds,
        peak_mib=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10,
        kinds={kind: ask(index, made, truth, each) for kind, each in asked.items()},
        terms_ms={str(n): latency_ms(index, made, common[:n]) for n in (1, 3, 6)},
        others=measure_others(directory, made, min(count, OTHERS_PAGES)) if others else [],
    )


@dataclass
class Timed:
    """CPU seconds of building: of the part alone, and of the whole archive."""

    sliced_seconds: float = 0.0
    all_seconds: float = 0.0
    term_count: int = 0


class TimedWriter(SlicesWriter):
    """The same, its time taken."""

    def __init__(self, directory: Path, timed: Timed) -> None:
        super().__init__(directory, LEAST_MEMORY_BYTES // 2)
        self._timed = timed

    def add(self, pages: Sequence[FrozenPage], first_row: int) -> None:
        """The same."""
        start = time.process_time()
        super().add(pages, first_row)
        self._timed.sliced_seconds += time.process_time() - start

    def write(self, writer: ArchiveWriter, page_count: int) -> None:
        """The same."""
        start = time.process_time()
        super().write(writer, page_count)
        self._timed.sliced_seconds += time.process_time() - start


def build(path: Path, made: MadePages, truth: Truth) -> Timed:
    """Freeze pages; the URL of page n sorts as the n-th, so that rows are numbers."""
    timed = Timed()
    with (
        ArchiveWriter(path) as writer,
        ArchiveBuilder(
            writer, path.parent, 4 * LEAST_MEMORY_BYTES, [TimedWriter(path.parent, timed)]
        ) as builder,
    ):
        for first in range(0, made.count, BATCH):
            pages = made.batch(first)
            truth.add(first, pages)
            timed.term_count += sum(page.size for page in pages)
            packed = [made.names[page].tobytes() for page in pages]
            start = time.process_time()
            for number, terms in enumerate(packed, start=first):
                url = f"https://example.com/{number:09}"
                builder.add(FrozenPage(LoggedPage(url, url, 1_790_000_000_000), terms=terms))
            timed.all_seconds += time.process_time() - start
        start = time.process_time()
        builder.finish({"schema": {"of": "a benchmark"}})
        timed.all_seconds += time.process_time() - start
    return timed


Ranks = tuple[int, ...]


def queries(
    rare: Sequence[int], common: Sequence[int], frequent: Sequence[int]
) -> dict[str, list[tuple[Query, Ranks]]]:
    """Queries by their kind, a word being the rank of its term."""
    rng = np.random.default_rng(SEED)

    def chosen(*pools: Sequence[int]) -> Iterator[Ranks]:
        for number in range(QUERIES if len(pools) > 1 else len(pools[0])):
            yield tuple(int(pool[number] if len(pools) == 1 else rng.choice(pool)) for pool in pools)

    kinds: dict[str, tuple[Callable[..., Query], tuple[Sequence[int], ...]]] = {
        "rare": (lambda a: a, (rare,)),
        "common": (lambda a: a, (common,)),
        "rare OR rare": (lambda a, b: Or((a, b)), (rare, rare)),
        "common AND common": (lambda a, b: And((a, b)), (common, common)),
        "common NOT common": (lambda a, b: And((a, Not(b))), (common, common)),
        "frequent AND (rare OR common)": (lambda a, b, c: And((a, Or((b, c)))), (frequent, rare, common)),
        "frequent NOT frequent": (lambda a, b: And((a, Not(b))), (frequent, frequent)),
    }
    return {
        kind: [
            (make(*(Words(str(rank), is_quoted=False) for rank in ranks)), ranks) for ranks in chosen(*pools)
        ]
        for kind, (make, pools) in kinds.items()
    }


def bind(made: MadePages, query: Query, ranks: Ranks) -> BoundQuery:
    """Return a query whose words are ranks of terms."""
    return BoundQuery(query, {Words(str(rank), is_quoted=False): (int(made.names[rank]),) for rank in ranks})


def ask(
    index: SlicedIndex, made: MadePages, truth: Truth, asked: Sequence[tuple[Query, Ranks]]
) -> KindFigures:
    """Ask queries of one kind, check each answer, count false drops."""
    predicted_all, measured_all, outside, seconds = 0.0, 0, 0, []
    for query, ranks in asked:
        bound = bind(made, query, ranks)
        start = time.thread_time()
        answer = index.search(bound)
        seconds.append(time.thread_time() - start)
        fulfilling = _fulfilling(query, truth)
        assert fulfilling[answer.yes].all(), "a yes that is none"
        found = np.zeros(made.count, np.bool_)
        found[answer.yes] = found[answer.maybe] = True
        assert not (fulfilling & ~found).any(), "a page is missed"
        measured, predicted = int((~fulfilling[answer.maybe]).sum()), answer.expected_false_drops
        predicted_all, measured_all = predicted_all + predicted, measured_all + measured
        outside += not is_as_predicted(measured, predicted)
    return KindFigures(len(asked), predicted_all, measured_all, outside, 1000 * float(np.median(seconds)))


def is_as_predicted(measured: int, predicted: float) -> bool:
    """Return whether false drops differ from the prediction by at most TOLERANCE, or rarely by chance."""
    if predicted > MANY:
        return abs(measured - predicted) <= TOLERANCE * predicted
    most, least = (1 + TOLERANCE) * predicted, (1 - TOLERANCE) * predicted
    return _at_least(measured, most) > RARELY and 1 - _at_least(measured + 1, least) > RARELY


def _at_least(count: int, mean: float) -> float:
    """Return the probability of so many or more events where `mean` are expected."""
    fewer = sum(math.exp(i * math.log(max(mean, 1e-300)) - mean - math.lgamma(i + 1)) for i in range(count))
    return 1 - fewer


def _fulfilling(query: Query, truth: Truth) -> NDArray[np.bool_]:
    if isinstance(query, Words):
        return truth.of(int(query.text))
    if isinstance(query, Not):
        return ~_fulfilling(query.part, truth)
    join = np.logical_and if isinstance(query, And) else np.logical_or
    joined: NDArray[np.bool_] = join.reduce([_fulfilling(part, truth) for part in query.parts])
    return joined


def latency_ms(index: SlicedIndex, made: MadePages, ranks: Sequence[int]) -> float:
    """Median CPU time of a search for pages with all of these terms, file in memory."""
    words = tuple(Words(str(rank), is_quoted=False) for rank in ranks)
    bound = bind(made, And(words) if len(words) > 1 else words[0], tuple(ranks))
    seconds = []
    for _ in range(REPEATS):
        start = time.thread_time()
        index.search(bound)
        seconds.append(time.thread_time() - start)
    return 1000 * float(np.median(seconds))


def show(figures: Figures) -> None:
    """Print the table."""
    print(f"{figures.pages:,} pages of {figures.terms:.1f} terms, {figures.frequent_terms:,} frequent terms")
    print(f"{figures.bytes_a_page:>12.1f} bytes a page")
    print(f"{figures.peak_mib:>12,} MiB at most")
    print(f"{figures.sliced_pages_a_second:>12,.0f} pages a second sliced (the part alone)")
    print(f"{figures.frozen_pages_a_second:>12,.0f} pages a second frozen (with the log)")
    for count, milliseconds in figures.terms_ms.items():
        print(f"{milliseconds:>12.2f} ms, {count} terms")
    print(f"{'kind':<32}{'queries':>8}{'predicted':>12}{'measured':>12}{'ratio':>8}{'outside':>9}{'ms':>8}")
    for kind, each in figures.kinds.items():
        ratio = each.measured / each.predicted if each.predicted else 1.0
        print(
            f"{kind:<32}{each.queries:>8}{each.predicted:>12,.1f}{each.measured:>12,}"
            f"{ratio:>8.3f}{each.outside:>9}"
            f"{each.median_ms:>8.2f}"
        )
    for other in figures.others:
        print(
            f"{other.name:<24}{other.pages:>9,} pages {other.bytes_a_page:>8.1f} bytes a page"
            f" {other.pages_a_second:>9,.0f} pages a second"
            + "".join(f"  {kind} {ms:.2f} ms" for kind, ms in other.milliseconds.items())
        )


if __name__ == "__main__":
    main()
