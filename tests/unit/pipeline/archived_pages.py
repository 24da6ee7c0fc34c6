"""Pages as they are frozen, made of their texts."""

from collections.abc import Sequence
from pathlib import Path
from random import Random
from string import ascii_lowercase

import numpy as np

from neardup_stream.archive.building import LEAST_MEMORY_BYTES, ArchiveBuilder
from neardup_stream.archive.frozen import FrozenIndex
from neardup_stream.archive.keys import BANDS_ONLY, KeyKind
from neardup_stream.archive.matching import MatchingWriter
from neardup_stream.archive.writing import ArchiveWriter
from neardup_stream.fingerprints.fuzzy import count_prefixes
from neardup_stream.fingerprints.simhash import SimhashConfig, fingerprint_texts
from neardup_stream.fingerprints.sketch import SketchConfig
from neardup_stream.indexes.fuzzy_keys import FuzzyKeysWriter, key_schema, read_reference
from neardup_stream.message import Partition, Position
from neardup_stream.page import PageId
from neardup_stream.pipeline.archive_lookup import AskingPage, OpenArchive
from neardup_stream.pipeline.freezing import TimedRecord, freeze_pages
from neardup_stream.stores.page_record import PageRecord

SKETCH = SketchConfig()
TEXT_KEY_BYTES = 8


def record_of(name: str, text: str, *, scope: str = "", is_short: bool = False) -> PageRecord:
    """Return the page record of a page of this text."""
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


def prose(topic: int) -> str:
    """200 words of one topic with the first letters that chance gives them."""
    random = Random(topic)
    return " ".join("".join(random.choices(ascii_lowercase, k=5)) for _ in range(200))


def asking(
    name: str, text: str, *, scope: str = "", is_short: bool = False, has_words: bool = True
) -> AskingPage:
    """Return a page of this text, as it is frozen and asked about."""
    record = record_of(name, text, scope=scope, is_short=is_short)
    return AskingPage(record, prefixes=count_prefixes(text).tobytes() if has_words else b"")


def frozen(
    path: Path, pages: Sequence[AskingPage], *gone: int, key_kinds: frozenset[KeyKind] = BANDS_ONLY
) -> OpenArchive:
    """Return an archive of these pages, some of them forgotten."""
    fuzzy = FuzzyKeysWriter(path.parent) if "fuzzy" in key_kinds else None
    timed = [TimedRecord(page.record, 1000 * n) for n, page in enumerate(pages)]
    with (
        ArchiveWriter(path) as writer,
        ArchiveBuilder(
            writer,
            path.parent,
            LEAST_MEMORY_BYTES,
            [MatchingWriter(path.parent, SKETCH.sketch_bytes, LEAST_MEMORY_BYTES, fuzzy)],
        ) as builder,
    ):
        for page, asked in zip(freeze_pages(timed), pages, strict=True):
            keys = page.keys if "bands" in key_kinds else page.keys[:TEXT_KEY_BYTES]
            builder.add(page._replace(keys=keys, prefixes=asked.prefixes))
        builder.finish({"schema": dict(key_schema(key_kinds))})
    index = FrozenIndex(path)
    is_gone = np.zeros(index.header.page_count, np.bool_)
    is_gone[list(gone)] = True
    return OpenArchive(path.name, index, is_gone, read_reference(index))
