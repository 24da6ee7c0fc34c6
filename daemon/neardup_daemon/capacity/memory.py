"""Predicts the memory of an index: bytes of Redis for each page, by what they hold."""

from typing import Final

import msgspec

from neardup_stream.fingerprints.sketch import SketchConfig
from neardup_stream.indexes.layout import IndexLayout

__all__ = ["BytesPerPage", "bytes_per_page", "tombstone_bytes"]

_TABLE_BYTES: Final = 26.0
"""Of a page in one permuted table, buckets filled as planned; `benchmarks.end_to_end` measures these."""

_BAND_BYTES: Final = 17.0
_RECORD_BYTES: Final = 95.0
"""Of a page record and its place in a hash, without its URL, its sketch and its bands."""

_BAND_RECORD_BYTES: Final = 4.0
_FRAME_BYTES: Final = 54.0
"""Of a record whose page has a frame: samples of its whole text, beside those of its content."""

_LINKED_PAGE_BYTES: Final = 120.0
"""Of a page that is in a cluster with others: its cell, its place, and its share of the cluster's cell, which
two or three pages have on average."""

_TOMBSTONE_BYTES: Final = 60.0


class BytesPerPage(msgspec.Struct, frozen=True):
    """Bytes of Redis for a page, on average over all pages.

    Attributes:
        tables: entries in the permuted tables and the bands.
        record: page record, with its URL, sketch and bands.
        clusters: places of the pages that have near-duplicates.
    """

    tables: float
    record: float
    clusters: float

    @property
    def total(self) -> float:
        """All of them together, at rest."""
        return self.tables + self.record + self.clusters


def bytes_per_page(
    layout: IndexLayout,
    sketch: SketchConfig | None,
    *,
    url_bytes: float,
    linked_share: float,
    framed_share: float,
) -> BytesPerPage:
    """Predict the bytes of a page.

    Args:
        layout: of the index.
        sketch: what a record keeps of a text; None where that is its simhash alone.
        url_bytes: of an average URL.
        linked_share: of the pages, those that are in a cluster with others, in [0, 1].
        framed_share: of the pages, those whose sites have a frame that is learned, in [0, 1].
    """
    sketch_bytes = sketch.bins * sketch.code_bits / 8 if sketch else 0.0
    return BytesPerPage(
        tables=len(layout.tables) * _TABLE_BYTES + layout.config.bands * _BAND_BYTES,
        record=_RECORD_BYTES
        + url_bytes
        + sketch_bytes
        + layout.config.bands * _BAND_RECORD_BYTES
        + framed_share * _FRAME_BYTES,
        clusters=linked_share * _LINKED_PAGE_BYTES,
    )


def tombstone_bytes(pages_per_second: float, ttl_seconds: float) -> float:
    """Predict the bytes of the tombstones of pages decided lately, which come and go while pages flow."""
    return pages_per_second * ttl_seconds * _TOMBSTONE_BYTES
