"""An archive that daemons of a run ask, and what happens to it meanwhile.

It has two texts of the first family, which two pages of a former crawl had. Daemons see a change up to a few
seconds after it happens, each at a time of its own.
"""

import random
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, Literal, NamedTuple

import numpy as np

from neardup_stream.archive.building import LEAST_MEMORY_BYTES, ArchiveBuilder
from neardup_stream.archive.frozen import FrozenIndex
from neardup_stream.archive.matching import MatchingWriter
from neardup_stream.archive.writing import ArchiveWriter
from neardup_stream.fingerprints.simhash import SimhashConfig, fingerprint_texts
from neardup_stream.fingerprints.sketch import SketchConfig
from neardup_stream.message import Partition, Position
from neardup_stream.page import PageId
from neardup_stream.pipeline.archive_lookup import OpenArchive
from neardup_stream.pipeline.freezing import TimedRecord, freeze_pages
from neardup_stream.stores.page_record import PageRecord
from tests.schedules.texts import text_of

__all__ = ["SKETCH", "ArchiveChange", "ArchiveUse", "archives_at", "draw_archive_changes"]

SKETCH: Final = SketchConfig(bins=256, code_bits=8, bands=16, band_bins=2)
"""So many bins that texts which are alike are hardly ever missed."""

ArchiveUse = Literal["", "report", "skip"]

_FROZEN: Final = (text_of(0, 0), text_of(0, 3))


class ArchiveChange(NamedTuple):
    """From a time on, which archives there are, and what of them is forgotten.

    Attributes:
        at_seconds: since the beginning.
        is_there: whether the archive is among the files.
        gone: for each of its pages whether it is forgotten.
    """

    at_seconds: float
    is_there: bool
    gone: tuple[bool, ...]


def draw_archive_changes(
    use: ArchiveUse, duration_seconds: float, dice: random.Random
) -> list[ArchiveChange]:
    """Draw what happens; where pages are left to the archives, these stay, and only forgets change."""
    moments = sorted(dice.uniform(0, duration_seconds) for _ in range(dice.randint(0, 10)))
    return [
        ArchiveChange(
            at_seconds,
            use == "skip" or dice.random() < 0.5,
            tuple(dice.random() < 0.5 for _ in _FROZEN),
        )
        for at_seconds in moments
    ]


def archives_at(changes: Sequence[ArchiveChange], seconds: float) -> list[OpenArchive]:
    """Return the archives to ask, so many seconds after the beginning."""
    now = ArchiveChange(0, is_there=True, gone=(False,) * len(_FROZEN))
    for change in changes:
        if change.at_seconds <= seconds:
            now = change
    return [OpenArchive("old.nda", _frozen(), np.array(now.gone, np.bool_))] if now.is_there else []


@cache
def _frozen() -> FrozenIndex:
    """Return the archive, mapped; its file has no name any more."""
    with TemporaryDirectory() as directory:
        path = Path(directory) / "old.nda"
        with (
            ArchiveWriter(path) as writer,
            ArchiveBuilder(
                writer,
                path.parent,
                LEAST_MEMORY_BYTES,
                [MatchingWriter(path.parent, SKETCH.sketch_bytes, LEAST_MEMORY_BYTES // 4)],
            ) as builder,
        ):
            records = [_record(number, text) for number, text in enumerate(_FROZEN)]
            for page in freeze_pages([TimedRecord(record, 0) for record in records]):
                builder.add(page)
            builder.finish({"schema": {}})
        return FrozenIndex(path)


def _record(number: int, text: str) -> PageRecord:
    computed = fingerprint_texts([text], SimhashConfig(), SKETCH)
    url = PageId(f"https://example.com/{number}")
    return PageRecord.first(
        page_id=url,
        url=url,
        text_fingerprint=int(computed.text_fingerprints[0]),
        position=Position(Partition("of a former crawl", 0), number),
        seen_seconds=0,
        fingerprint=int(computed.fingerprints[0]),
        sketch=computed.sketches[0].tobytes(),
        shingle_count=int(computed.shingle_counts[0]),
        bands=computed.bands[0].astype(">u4").tobytes(),
    )
