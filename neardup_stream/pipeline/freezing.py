"""From pages of the pipeline, or their stored records, to what an archive keeps of them. Pure."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from neardup_stream.archive.keys import KeyedPage, page_keys
from neardup_stream.archive.log_blocks import LoggedPage
from neardup_stream.archive.pages import FrozenPage
from neardup_stream.page import Handle
from neardup_stream.pipeline.arrival import Arrival
from neardup_stream.pipeline.indexed import banded_page, indexed_pages, scope_hash
from neardup_stream.pipeline.kept_text import NOTHING_KEPT, KeptText
from neardup_stream.pipeline.registration import plan
from neardup_stream.stores.page_record import PageRecord

__all__ = ["TimedRecord", "freeze_pages", "keyed_record", "timed_record"]

_NO_HANDLE = Handle(0)
_MS = 1000


class TimedRecord(NamedTuple):
    """A page record to be frozen.

    Attributes:
        record: what stands for the page.
        fetched_ms: when its content was fetched, epoch milliseconds.
        whole_bands: band words of its whole text, while its site is young: later pages may come without a
            known frame, and must meet it all the same.
        kept: of its text.
    """

    record: PageRecord
    fetched_ms: int
    whole_bands: bytes = b""
    kept: KeptText = NOTHING_KEPT


def timed_record(arrival: Arrival) -> TimedRecord:
    """The record that would stand for a page in an empty index."""
    record = plan(arrival, None, now_seconds=0).record
    fetched_ms = max(0, round(arrival.page.fetched_at_seconds * _MS))
    return TimedRecord(record, fetched_ms, arrival.whole_bands, arrival.kept or NOTHING_KEPT)


def freeze_pages(pages: Sequence[TimedRecord]) -> list[FrozenPage]:
    """What an archive keeps of these pages. Cost: 15 µs a page."""
    keyed = [keyed_record(page.record, page.whole_bands) for page in pages]
    keys, owners = page_keys(keyed)
    ends = np.cumsum(np.bincount(owners, minlength=len(pages))).tolist() if len(pages) else []
    frozen = []
    start = 0
    for (record, fetched_ms, _, kept), end in zip(pages, ends, strict=True):
        is_indexed = record.is_indexed
        frozen.append(
            FrozenPage(
                logged=LoggedPage(record.id, record.url, fetched_ms),
                fingerprint=record.fingerprint,
                text_fingerprint=record.text_fingerprint if is_indexed else 0,
                sketch=record.sketch,
                shingle_count=record.shingle_count,
                whole=record.whole,
                whole_count=record.whole_count,
                scope=scope_hash(record.scope),
                keys=keys[start:end].tobytes() if is_indexed else b"",
                **kept._asdict(),
            )
        )
        start = end
    return frozen


def keyed_record(record: PageRecord, whole_bands: bytes = b"") -> KeyedPage:
    """What the keys of a page are made of.

    Args:
        record: of the page.
        whole_bands: band words of its whole text, to be looked for beside those it is stored by.
    """
    if not record.is_indexed:
        return KeyedPage(0, [])
    pages = indexed_pages(_NO_HANDLE, record)
    if whole_bands:
        pages.append(banded_page(_NO_HANDLE, record, whole_bands))
    return KeyedPage(record.text_fingerprint ^ scope_hash(record.scope), [page.bands for page in pages])
