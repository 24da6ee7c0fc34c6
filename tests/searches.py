"""Archives that can be searched, for tests."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from neardup_stream.archive.building import LEAST_MEMORY_BYTES, ArchiveBuilder
from neardup_stream.archive.log_blocks import LoggedPage
from neardup_stream.archive.logged import LoggedArchive
from neardup_stream.archive.pages import FrozenPage
from neardup_stream.archive.texts import TextsWriter
from neardup_stream.archive.writing import ArchiveWriter
from neardup_stream.fingerprints.simhash import SimhashConfig, fingerprint_lines
from neardup_stream.indexes.slicing import FALSE_DROPS, SlicesWriter
from tests.archives import SCHEMA


def page_url(number: int) -> str:
    """Return the URL of a page; they sort otherwise than their numbers."""
    return f"https://site{number % 7}.example/{number}"


def searched_pages(texts: Sequence[str]) -> list[FrozenPage]:
    """Return a page for each text."""
    _, lines = fingerprint_lines(texts, SimhashConfig())
    return [
        FrozenPage(
            LoggedPage(page_url(number), page_url(number), 1000 * number),
            text=text.encode("utf-8", "surrogatepass"),
            terms=np.unique(line.tokens).tobytes(),
        )
        for number, (text, line) in enumerate(zip(texts, lines, strict=True))
    ]


def build_searched(path: Path, texts: Sequence[str], *, false_drops: float = FALSE_DROPS) -> list[int]:
    """Write an archive with search and texts; return the row of each text."""
    with (
        ArchiveWriter(path) as writer,
        ArchiveBuilder(
            writer,
            path.parent,
            LEAST_MEMORY_BYTES,
            [SlicesWriter(path.parent, LEAST_MEMORY_BYTES // 8, false_drops), TextsWriter(path.parent)],
        ) as builder,
    ):
        for page in searched_pages(texts):
            builder.add(page)
        builder.finish({"schema": SCHEMA})
    rows = LoggedArchive(path).log.find([page_url(number) for number in range(len(texts))])
    return [rows[page_url(number)] for number in range(len(texts))]
