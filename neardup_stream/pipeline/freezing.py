"""Convert pages of the pipeline, or their stored records, to what an archive keeps of them. Pure."""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from neardup_stream.archive.keys import BANDS_ONLY, KeyedPage, KeyKind, page_keys
from neardup_stream.archive.log_blocks import LoggedPage
from neardup_stream.archive.pages import FrozenPage
from neardup_stream.pipeline.arrival import Arrival
from neardup_stream.pipeline.indexed import scope_hash
from neardup_stream.pipeline.kept_text import NOTHING_KEPT
from neardup_stream.stores.page_record import PageRecord

__all__ = [
    "TimedRecord",
    "freeze_arrivals",
    "freeze_pages",
    "keyed_arrival",
    "keyed_record",
]

_MS = 1000
_KEY_BYTES = 8


class TimedRecord(NamedTuple):
    """A page record to be frozen.

    Attributes:
        record: the page record.
        fetched_ms: when its content was fetched, epoch milliseconds.
    """

    record: PageRecord
    fetched_ms: int


def keyed_arrival(arrival: Arrival) -> KeyedPage | None:
    """Return what the keys of a page are made of, as of its record; None if it is too short."""
    if not arrival.has_enough_tokens:
        return None
    views = (arrival.bands, arrival.whole_bands) if arrival.whole_bands else (arrival.bands,)
    prefixes = (arrival.kept or NOTHING_KEPT).prefixes
    return KeyedPage(arrival.text_fingerprint, views, scope_hash(arrival.scope), prefixes)


def freeze_arrivals(
    arrivals: Sequence[Arrival], key_kinds: frozenset[KeyKind] = BANDS_ONLY
) -> list[FrozenPage]:
    """Return what an archive keeps of these pages, as `freeze_pages` of their records. Cost: 8 µs a page.

    Args:
        arrivals: the pages.
        key_kinds: by which they are found; fuzzy keys are made later, of `FrozenPage.prefixes`.
    """
    keyed: Iterable[KeyedPage | None] = map(keyed_arrival, arrivals)
    if "bands" not in key_kinds:
        keyed = [page and page._replace(views=()) for page in keyed]
    frozen = []
    for arrival, keys in zip(arrivals, _packed_keys(keyed), strict=True):
        page, kept = arrival.page, arrival.kept or NOTHING_KEPT
        logged = LoggedPage(page.id, page.url, max(0, round(page.fetched_at_seconds * _MS)))
        if arrival.has_enough_tokens:
            frozen.append(
                FrozenPage(
                    logged=logged,
                    fingerprint=arrival.fingerprint,
                    text_fingerprint=arrival.text_fingerprint,
                    sketch=arrival.sketch,
                    shingle_count=arrival.shingle_count,
                    whole=arrival.whole,
                    whole_count=arrival.whole_count,
                    scope=scope_hash(arrival.scope),
                    keys=keys,
                    text=kept.text,
                    terms=kept.terms,
                    token_count=kept.token_count,
                    passages=kept.passages,
                    prefixes=kept.prefixes,
                )
            )
        else:
            frozen.append(FrozenPage(logged, scope=scope_hash(arrival.scope), **kept._asdict()))
    return frozen


def freeze_pages(pages: Sequence[TimedRecord]) -> list[FrozenPage]:
    """Return what an archive keeps of these pages. Cost: 12 µs a page."""
    frozen = []
    for (record, fetched_ms), keys in zip(
        pages, _packed_keys(keyed_record(page.record) for page in pages), strict=True
    ):
        frozen.append(
            FrozenPage(
                logged=LoggedPage(record.id, record.url, fetched_ms),
                fingerprint=record.fingerprint,
                text_fingerprint=record.text_fingerprint if record.is_indexed else 0,
                sketch=record.sketch,
                shingle_count=record.shingle_count,
                whole=record.whole,
                whole_count=record.whole_count,
                scope=scope_hash(record.scope),
                keys=keys,
            )
        )
    return frozen


def keyed_record(record: PageRecord, whole_bands: bytes = b"", prefixes: bytes = b"") -> KeyedPage | None:
    """Return what the keys of a page are made of; None for a page that is not indexed.

    Args:
        record: of the page.
        whole_bands: band words of its whole text, to be looked for beside those it is stored by.
        prefixes: its words by prefix; empty where they are not known.
    """
    if not record.is_indexed:
        return None
    views = [record.bands, *(each for each in (record.whole_bands, whole_bands) if each)]
    return KeyedPage(record.text_fingerprint, views, scope_hash(record.scope), prefixes)


def _packed_keys(pages: Iterable[KeyedPage | None]) -> Iterator[bytes]:
    """Return the keys of each page, uint64 little-endian one after the other."""
    keyed = list(pages)
    keys, places = page_keys(keyed)
    packed = keys.astype("<u8").tobytes()
    start = 0
    for end in (_KEY_BYTES * np.cumsum(np.bincount(places, minlength=len(keyed)))).tolist() if keyed else ():
        yield packed[start:end]
        start = end
