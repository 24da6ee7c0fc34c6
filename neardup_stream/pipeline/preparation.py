"""Runs the stages that need no store, decode, extract and fingerprint, one after the other. Pure CPU work."""

from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Final, Protocol

from neardup_stream.frames.table import LineHashes
from neardup_stream.message import Record
from neardup_stream.meters import PipelineMeters
from neardup_stream.page import Page
from neardup_stream.pipeline.arrival import Arrival, Forget, Prepared, Rejected, SkippedRecord
from neardup_stream.pipeline.column_items import ColumnItems, record_columns
from neardup_stream.pipeline.decode import Decode, DecodedPage
from neardup_stream.pipeline.extract import Extract, ExtractedPage
from neardup_stream.pipeline.fingerprint import Fingerprint
from neardup_stream.pipeline.timing import timed

__all__ = ["OnRecord", "Preparation", "Prepares", "ReadsLandmarks"]

OnRecord = Callable[[Record | None], None]
"""Called with each record before it is decoded; with None before all pages are fingerprinted at once."""


class ReadsLandmarks(Protocol):
    """Extracts the text of a page a second time, without its landmarks."""

    def lines_outside_landmarks(self, page: Page) -> LineHashes | None:
        """Return the hashes of the lines of a page outside its landmarks; None if the page costs too much.

        Called in a thread, also while a batch is prepared.
        """


class Prepares(ReadsLandmarks, Protocol):
    """Turns the records of a batch into what needs no store."""

    @property
    def batches_at_once(self) -> int:
        """Return how many batches may be prepared at once, from 1."""
        ...

    def prepare(self, records: Sequence[Record]) -> Prepared:
        """Sort the records of a batch by what they are, and fingerprint the pages.

        Of the content of pages only markup is kept whose frame is still to be taken out.
        Order is kept. Bad pages are part of the answer, not an error. Called in threads, with at most
        `batches_at_once` batches at once.
        """


class Preparation:
    """Runs decode, extract and fingerprint.

    Args:
        decode: the first of them.
        extract: the second.
        fingerprint: the third.
        meters: receives the time of each.
        on_record: called with what is worked on next.
        in_columns: whether pages are returned as `ColumnItems` where that can be.
    """

    batches_at_once: Final = 1

    def __init__(
        self,
        decode: Decode,
        extract: Extract,
        fingerprint: Fingerprint,
        meters: PipelineMeters,
        on_record: OnRecord = lambda _record: None,
        *,
        in_columns: bool = False,
    ) -> None:
        self._decode = decode
        self._extract = extract
        self._fingerprint = fingerprint
        self._meters = meters
        self._on_record = on_record
        self._in_columns = in_columns

    def prepare(self, records: Sequence[Record]) -> Prepared:
        """See `Prepares`."""
        prepared = Prepared([], [], [], charset_fallbacks=0)
        extracted = self._read(records, prepared)
        self._on_record(None)
        pages = [item for item in extracted if isinstance(item, ExtractedPage)]
        with timed(self._meters, "fingerprint"):
            items = self._fingerprinted(extracted, pages)
        for rejected in prepared.rejected:
            if rejected.error.limit is not None:
                self._meters.over_limit(rejected.error.limit, 1)
        fallbacks = sum(page.text.charset_fell_back for page in pages)
        return prepared._replace(items=items, charset_fallbacks=fallbacks)

    def lines_outside_landmarks(self, page: Page) -> LineHashes | None:
        """See `ReadsLandmarks`."""
        return self._fingerprint.line_hashes(self._extract.text_outside_landmarks(page))

    def _fingerprinted(
        self, extracted: Sequence[ExtractedPage | Forget], pages: Sequence[ExtractedPage]
    ) -> Sequence[Arrival | Forget]:
        """Return pages and forgets in order."""
        if self._in_columns and pages and len(pages) == len(extracted):
            columns = self._fingerprint.columns(pages)
            if columns is not None:
                return ColumnItems(record_columns([page.record for page in pages]), columns)
        arrivals = iter(list(self._fingerprint.fingerprint(pages)))
        return [item if isinstance(item, Forget) else next(arrivals) for item in extracted]

    def _read(self, records: Sequence[Record], prepared: Prepared) -> list[ExtractedPage | Forget]:
        """Decode and extract one record after the other, so that it is known which one takes too much."""
        read: list[ExtractedPage | Forget] = []
        decode_seconds = extract_seconds = 0.0
        for record in records:
            self._on_record(record)
            start = perf_counter()
            item: DecodedPage | ExtractedPage | Forget | SkippedRecord | Rejected
            item = self._decode.decode(record)
            decoded_at = perf_counter()
            if isinstance(item, DecodedPage):
                item = self._extract.extract(item)
            decode_seconds += decoded_at - start
            extract_seconds += perf_counter() - decoded_at
            if isinstance(item, Rejected):
                prepared.rejected.append(item)
            elif isinstance(item, SkippedRecord):
                prepared.skipped.append(item)
            else:
                read.append(item)
        self._meters.step_seconds("decode", decode_seconds)
        self._meters.step_seconds("extract", extract_seconds)
        return read
