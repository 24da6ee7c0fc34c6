"""Hold the pages of a batch in columns, as worker processes return them where no objects are needed.

That is so for pages of one line, and wherever frames are left in: no later stage reads their lines. A page
becomes an object when it is asked for.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple, overload

import msgspec
import numpy as np
from numpy.typing import NDArray

from neardup_stream.message import Partition, Position, Record, RecordMetadata
from neardup_stream.page import Fingerprint64, Page, PageId
from neardup_stream.pipeline.arrival import Arrival, Forget, Prepared
from neardup_stream.pipeline.arrival_columns import ArrivalColumns

__all__ = ["ColumnItems", "PageColumns", "RecordColumns", "joined", "record_columns"]


class PageColumns(NamedTuple):
    """What is computed of pages; one row each. See `Arrival` and `Page`.

    Attributes:
        ids: of the pages.
        urls: as crawled.
        fetched_seconds: epoch seconds, float64.
        metas: JSON by row; pages without are left out.
        scopes: within what the pages are compared.
        sites: whose frames the pages have.
        is_markup: whether their texts were extracted from markup, bool.
        has_enough_tokens: whether they have enough tokens to be judged, bool.
        token_counts: int64.
        fingerprints: simhashes, uint64.
        text_fingerprints: uint64.
        shingle_counts: int64.
        sketches: uint8[pages, sketch_bytes].
        bands: uint32[pages, bands].
    """

    ids: list[str]
    urls: list[str]
    fetched_seconds: NDArray[np.float64]
    metas: Mapping[int, bytes]
    scopes: list[str]
    sites: list[str]
    is_markup: NDArray[np.bool_]
    has_enough_tokens: NDArray[np.bool_]
    token_counts: NDArray[np.int64]
    fingerprints: NDArray[np.uint64]
    text_fingerprints: NDArray[np.uint64]
    shingle_counts: NDArray[np.int64]
    sketches: NDArray[np.uint8]
    bands: NDArray[np.uint32]


class RecordColumns(NamedTuple):
    """What is kept of the records of pages, all of one partition and without trace headers; one row each.

    Attributes:
        partition: of all.
        offsets: int64.
        timestamps_ms: epoch milliseconds.
        sizes_bytes: of the whole records.
    """

    partition: Partition
    offsets: NDArray[np.int64]
    timestamps_ms: list[int]
    sizes_bytes: list[int]


def record_columns(records: Sequence[Record]) -> RecordColumns:
    """Return what is kept of records of one partition, at least one."""
    return RecordColumns(
        records[0].position.partition,
        np.array([record.position.offset for record in records], np.int64),
        [record.timestamp_ms for record in records],
        [record.size_bytes for record in records],
    )


@dataclass(frozen=True, slots=True, eq=False)
class ColumnItems(Sequence[Arrival]):
    """Pages in columns; an `Arrival` is made of each that is asked for.

    Attributes:
        records: of the pages.
        pages: of the same length.
    """

    records: RecordColumns
    pages: PageColumns

    @property
    def columns(self) -> ArrivalColumns:
        """The same for the short path."""
        pages = self.pages
        return ArrivalColumns(
            arrivals=self,
            partition=self.records.partition,
            offsets=self.records.offsets,
            ids=pages.ids,
            urls=pages.urls,
            scopes=pages.scopes,
            has_enough_tokens=pages.has_enough_tokens,
            fingerprints=pages.fingerprints,
            text_fingerprints=pages.text_fingerprints,
            shingle_counts=pages.shingle_counts,
            sketches=pages.sketches,
            bands=pages.bands,
        )

    def __len__(self) -> int:
        """Return the number of pages."""
        return len(self.pages.ids)

    @overload
    def __getitem__(self, row: int) -> Arrival: ...

    @overload
    def __getitem__(self, row: slice) -> Sequence[Arrival]: ...

    def __getitem__(self, row: int | slice) -> Arrival | Sequence[Arrival]:
        """Return a page, or a list of some."""
        if isinstance(row, slice):
            return [self._arrival(each) for each in range(*row.indices(len(self)))]
        return self._arrival(row)

    def __iter__(self) -> Iterator[Arrival]:
        """Yield every page."""
        return map(self._arrival, range(len(self)))

    def _arrival(self, row: int) -> Arrival:
        pages, records, meta = self.pages, self.records, self.pages.metas.get(row)
        return Arrival(
            record=RecordMetadata(
                position=Position(records.partition, int(records.offsets[row])),
                timestamp_ms=records.timestamps_ms[row],
                size_bytes=records.sizes_bytes[row],
            ),
            page=Page(
                id=PageId(pages.ids[row]),
                url=pages.urls[row],
                fetched_at_seconds=float(pages.fetched_seconds[row]),
                meta=None if meta is None else msgspec.Raw(meta),
            ),
            fingerprint=Fingerprint64(int(pages.fingerprints[row])),
            text_fingerprint=int(pages.text_fingerprints[row]),
            token_count=int(pages.token_counts[row]),
            has_enough_tokens=bool(pages.has_enough_tokens[row]),
            sketch=pages.sketches[row].tobytes(),
            shingle_count=int(pages.shingle_counts[row]),
            bands=pages.bands[row].astype(">u4").tobytes(),
            content_token_count=int(pages.token_counts[row]),
            scope=pages.scopes[row],
            site=pages.sites[row],
            is_markup=bool(pages.is_markup[row]),
        )


def joined(parts: Sequence[Prepared]) -> Prepared:
    """Return successive parts of a batch as one; its pages are in columns if those of each part are."""
    return Prepared(
        _joined_items([part.items for part in parts if part.items]),
        [each for part in parts for each in part.rejected],
        [each for part in parts for each in part.skipped],
        sum(part.charset_fallbacks for part in parts),
    )


def _joined_items(parts: Sequence[Sequence[Arrival | Forget]]) -> Sequence[Arrival | Forget]:
    in_columns = [part for part in parts if isinstance(part, ColumnItems)]
    if len(in_columns) < len(parts) or len({part.records.partition for part in in_columns}) != 1:
        return list(chain.from_iterable(parts))
    return in_columns[0] if len(in_columns) == 1 else _joined(in_columns)


def _joined(parts: Sequence[ColumnItems]) -> ColumnItems:
    pages, records = [part.pages for part in parts], [part.records for part in parts]
    starts = np.cumsum([0, *map(len, parts)]).tolist()
    metas = {
        start + row: meta
        for start, part in zip(starts, pages, strict=False)
        for row, meta in part.metas.items()
    }
    return ColumnItems(
        RecordColumns(
            records[0].partition,
            np.concatenate([part.offsets for part in records]),
            [each for part in records for each in part.timestamps_ms],
            [each for part in records for each in part.sizes_bytes],
        ),
        PageColumns(
            ids=[each for part in pages for each in part.ids],
            urls=[each for part in pages for each in part.urls],
            fetched_seconds=np.concatenate([part.fetched_seconds for part in pages]),
            metas=metas,
            scopes=[each for part in pages for each in part.scopes],
            sites=[each for part in pages for each in part.sites],
            is_markup=np.concatenate([part.is_markup for part in pages]),
            has_enough_tokens=np.concatenate([part.has_enough_tokens for part in pages]),
            token_counts=np.concatenate([part.token_counts for part in pages]),
            fingerprints=np.concatenate([part.fingerprints for part in pages]),
            text_fingerprints=np.concatenate([part.text_fingerprints for part in pages]),
            shingle_counts=np.concatenate([part.shingle_counts for part in pages]),
            sketches=np.concatenate([part.sketches for part in pages]),
            bands=np.concatenate([part.bands for part in pages]),
        ),
    )
