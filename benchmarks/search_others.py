"""Inverted indexes over the pages of `benchmarks.search`, side by side with an archive of the same pages.

SQLite's FTS5 without columns' text (`content=''`) and without positions (`detail=none`), merged into one
segment; tantivy without positions and without stored fields, where it can be imported.
"""

import importlib
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from neardup_stream.archive.building import LEAST_MEMORY_BYTES, ArchiveBuilder
from neardup_stream.archive.log_blocks import LoggedPage
from neardup_stream.archive.pages import FrozenPage
from neardup_stream.archive.writing import ArchiveWriter
from neardup_stream.indexes.queries import And, Words
from neardup_stream.indexes.query_logic import BoundQuery
from neardup_stream.indexes.sliced import SlicedIndex
from neardup_stream.indexes.slicing import SlicesWriter

__all__ = ["OtherFigures", "measure_others"]

BATCH = 4096
ASKED = 30
SEED = 8
KINDS = {
    "1 rare": (1, 4_000, 300_000),
    "1 common": (1, 1_400, 4_000),
    "3 common": (3, 1_400, 4_000),
    "3 frequent": (3, 1, 60),
}
"""How many terms a query has, and from and to which rank they are drawn."""


@dataclass(frozen=True)
class OtherFigures:
    """What was measured of one index.

    Attributes:
        name: of it.
        pages: in it.
        bytes_a_page: of its files.
        pages_a_second: built, wall clock.
        milliseconds: median of a search for all pages with the terms, by the kind of query.
    """

    name: str
    pages: int
    bytes_a_page: float
    pages_a_second: float
    milliseconds: dict[str, float]


class MadePages(Protocol):
    """See `benchmarks.search`."""

    names: NDArray[np.uint64]

    def batch(self, first: int) -> list[NDArray[np.int64]]:
        """Return the ranks of the distinct terms of BATCH pages."""


class _Built(Protocol):
    """An index that can be asked."""

    name: str
    size_bytes: int

    def find(self, ranks: Sequence[int]) -> set[int]:
        """Return the numbers of the pages that have, or may have, all of these terms."""


def measure_others(directory: Path, made: MadePages, count: int) -> list[OtherFigures]:
    """Build each index from the same pages, compare their answers, take times."""
    builders: list[Callable[[Path, MadePages, int], _Built]] = [_Archive, _Fts5]
    try:
        importlib.import_module("tantivy")
    except ImportError:
        print("tantivy cannot be imported: left out")
    else:
        builders.append(_Tantivy)
    rng = np.random.default_rng(SEED)
    asked = {
        kind: [rng.choice(np.arange(first, last), size, replace=False).tolist() for _ in range(ASKED)]
        for kind, (size, first, last) in KINDS.items()
    }
    figures, answers = [], []
    for build in builders:
        start = time.perf_counter()
        built = build(directory, made, count)
        seconds = time.perf_counter() - start
        milliseconds, found = {}, []
        for kind, ranks in asked.items():
            taken = []
            for each in [*ranks[:3], *ranks]:
                start = time.perf_counter()
                found.append(built.find(each))
                taken.append(time.perf_counter() - start)
            milliseconds[kind] = 1000 * float(np.median(taken[3:]))
        answers.append(found)
        figures.append(
            OtherFigures(built.name, count, built.size_bytes / count, count / seconds, milliseconds)
        )
    for exact in answers[1:]:
        assert exact == answers[1], "two inverted indexes disagree"
        assert all(wide >= true for wide, true in zip(answers[0], exact, strict=True)), "a page is missed"
    return figures


def _batches(made: MadePages, count: int) -> Iterator[tuple[int, NDArray[np.int64]]]:
    for first in range(0, count, BATCH):
        yield from enumerate(made.batch(first)[: count - first], start=first)


class _Archive:
    """Ours."""

    name = "archive, search"

    def __init__(self, directory: Path, made: MadePages, count: int) -> None:
        path = directory / "side.nda"
        with (
            ArchiveWriter(path) as writer,
            ArchiveBuilder(
                writer, directory, LEAST_MEMORY_BYTES, [SlicesWriter(directory, LEAST_MEMORY_BYTES // 8)]
            ) as builder,
        ):
            for number, ranks in _batches(made, count):
                url = f"https://example.com/{number:09}"
                builder.add(FrozenPage(LoggedPage(url, url, 0), terms=made.names[ranks].tobytes()))
            builder.finish({"schema": {"of": "a benchmark"}})
        self._index = SlicedIndex.open(path)
        self._names = made.names
        sections = self._index.archive.header.sections
        self.size_bytes = sum(each.size_bytes for each in sections if each.name.startswith("search."))

    def find(self, ranks: Sequence[int]) -> set[int]:
        words = tuple(Words(str(rank), is_quoted=False) for rank in ranks)
        terms = {word: (int(self._names[rank]),) for word, rank in zip(words, ranks, strict=True)}
        answer = self._index.search(BoundQuery(And(words) if len(words) > 1 else words[0], terms))
        return set(answer.yes.tolist()) | set(answer.maybe.tolist())


class _Fts5:
    """SQLite FTS5."""

    name = "SQLite FTS5"

    def __init__(self, directory: Path, made: MadePages, count: int) -> None:
        path = directory / "fts.db"
        self._database = sqlite3.connect(path)
        self._database.execute("create virtual table pages using fts5(terms, content='', detail=none)")
        with self._database:
            rows = ((number, _text(ranks)) for number, ranks in _batches(made, count))
            self._database.executemany("insert into pages (rowid, terms) values (?, ?)", rows)
            self._database.execute("insert into pages (pages) values ('optimize')")
        self._database.execute("vacuum")
        self.size_bytes = path.stat().st_size

    def find(self, ranks: Sequence[int]) -> set[int]:
        query = " AND ".join(f"t{rank}" for rank in ranks)
        found = self._database.execute("select rowid from pages where pages match ?", (query,))
        return {row for (row,) in found}


class _Tantivy:
    """Tantivy through its Python binding."""

    name = "tantivy"

    def __init__(self, directory: Path, made: MadePages, count: int) -> None:
        tantivy: Any = importlib.import_module("tantivy")
        path = directory / "tantivy"
        path.mkdir()
        schema = tantivy.SchemaBuilder()
        schema.add_integer_field("number", stored=False, fast=True)
        schema.add_text_field("terms", stored=False, tokenizer_name="whitespace", index_option="basic")
        self._index = tantivy.Index(schema.build(), path=str(path))
        writer = self._index.writer(heap_size=256 << 20, num_threads=1)
        for number, ranks in _batches(made, count):
            writer.add_document(tantivy.Document(number=number, terms=_text(ranks)))
        writer.commit()
        writer.wait_merging_threads()
        self._index.reload()
        self._searcher = self._index.searcher()
        self._tantivy = tantivy
        self._count = count
        self.size_bytes = sum(each.stat().st_size for each in path.iterdir())

    def find(self, ranks: Sequence[int]) -> set[int]:
        query = self._index.parse_query(" AND ".join(f"t{rank}" for rank in ranks), ["terms"])
        hits = self._searcher.search(query, self._count, count=False).hits
        numbers: list[int] = self._searcher.fast_field_values("number", [address for _, address in hits])
        return set(numbers)


def _text(ranks: NDArray[np.int64]) -> str:
    return " ".join(f"t{rank}" for rank in ranks.tolist())
