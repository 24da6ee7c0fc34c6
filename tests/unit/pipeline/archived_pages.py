"""Pages as they are frozen, made of their texts."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from neardup_stream.archive.building import LEAST_MEMORY_BYTES, ArchiveBuilder
from neardup_stream.archive.frozen import FrozenIndex
from neardup_stream.archive.matching import MatchingWriter
from neardup_stream.archive.writing import ArchiveWriter
from neardup_stream.fingerprints.simhash import SimhashConfig, fingerprint_texts
from neardup_stream.fingerprints.sketch import SketchConfig
from neardup_stream.message import Partition, Position
from neardup_stream.page import PageId
from neardup_stream.pipeline.consultation import OpenArchive
from neardup_stream.pipeline.freezing import TimedRecord, freeze_pages
from neardup_stream.stores.page_record import PageRecord

SKETCH = SketchConfig()


def record_of(name: str, text: str, *, scope: str = "", is_short: bool = False) -> PageRecord:
    """What stands for a page of this text."""
    computed = fingerprint_texts([text], SimhashConfig(), SKETCH)
    return PageRecord.first(
        page_id=PageId(f"https://a.example/{name}"),
        url=f"https://a.example/{name}",
        text_fingerprint=int(computed.text_fingerprints[0]),
        position=Position(Partition("of this test", 0), 0),
        seen_seconds=0,
        fingerprint=int(computed.fingerprints[0]),
        sketch=computed.sketches[0].tobytes(),
        shingle_count=int(computed.shingle_counts[0]),
        bands=computed.bands[0].astype(">u4").tobytes(),
        scope=scope,
        state="short" if is_short else "live",
    )


def frozen(path: Path, records: Sequence[PageRecord], *gone: int) -> OpenArchive:
    """An archive of these pages, some of them forgotten."""
    with (
        ArchiveWriter(path) as writer,
        ArchiveBuilder(
            writer,
            path.parent,
            LEAST_MEMORY_BYTES,
            [MatchingWriter(path.parent, SKETCH.sketch_bytes, LEAST_MEMORY_BYTES)],
        ) as builder,
    ):
        for page in freeze_pages([TimedRecord(record, 1000 * n) for n, record in enumerate(records)]):
            builder.add(page)
        builder.finish({"schema": {}})
    index = FrozenIndex(path)
    is_gone = np.zeros(index.header.page_count, np.bool_)
    is_gone[list(gone)] = True
    return OpenArchive(path.name, index, is_gone)
