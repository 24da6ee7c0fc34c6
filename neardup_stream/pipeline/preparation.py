"""Everything that a batch needs no store for: decode, extract the text, fingerprint. Pure CPU work."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from time import perf_counter

from neardup_stream.errors import BadPage
from neardup_stream.fingerprints.simhash import SimhashConfig, fingerprint_texts
from neardup_stream.message import Record, Skipped
from neardup_stream.meters import PipelineMeters, Stage
from neardup_stream.page import Fingerprint64, Page
from neardup_stream.pipeline.arrival import Arrival, Forget, Prepared, Rejected, SkippedRecord
from neardup_stream.text.markup import Extraction
from neardup_stream.text.page_text import page_text
from neardup_stream.wire.pages import PageDecoder, forget_ids

__all__ = ["Preparation", "timed"]


class Preparation:
    """Turns records into arrivals.

    Args:
        decoder: bytes to pages, within the limits.
        extraction: which part of a page's markup counts as its text.
        simhash: window, fewest tokens.
        meters: told the time of each stage.
    """

    def __init__(
        self,
        decoder: PageDecoder,
        extraction: Extraction,
        simhash: SimhashConfig,
        meters: PipelineMeters,
    ) -> None:
        self._decoder = decoder
        self._extraction: Extraction = extraction
        self._simhash = simhash
        self._meters = meters

    def prepare(self, records: Sequence[Record]) -> Prepared:
        """Sort the records of a batch by what they are, and fingerprint the pages.

        Order is kept within each kind. Bad pages are part of the answer, not an error.
        """
        prepared = Prepared([], [], [], [], charset_fallbacks=0)
        with timed(self._meters, "decode"):
            decoded = [pair for record in records if (pair := self._decode(record, prepared)) is not None]
        with timed(self._meters, "text"):
            extracted = [page_text(page, self._extraction) for _, page in decoded]
        with timed(self._meters, "fingerprint"):
            computed = fingerprint_texts([each.text for each in extracted], self._simhash)
        rows = zip(
            decoded,
            computed.fingerprints.tolist(),
            computed.text_fingerprints.tolist(),
            computed.token_counts.tolist(),
            strict=True,
        )
        prepared.arrivals.extend(
            Arrival(
                record=record,
                page=page,
                fingerprint=Fingerprint64(fingerprint),
                text_fingerprint=text_fingerprint,
                token_count=token_count,
                is_decided=token_count >= self._simhash.min_tokens,
            )
            for (record, page), fingerprint, text_fingerprint, token_count in rows
        )
        return prepared._replace(charset_fallbacks=sum(each.charset_fell_back for each in extracted))

    def _decode(self, record: Record, prepared: Prepared) -> tuple[Record, Page] | None:
        """The page of a record; one that has none goes where it belongs."""
        try:
            if record.value is None:
                prepared.forgets.append(Forget(record, forget_ids(record.key)))
                return None
            page = self._decoder.decode(record)
        except BadPage as error:
            prepared.rejected.append(Rejected(record, error))
            return None
        if isinstance(page, Skipped):
            prepared.skipped.append(SkippedRecord(record, page.reason))
            return None
        return record, page


@contextmanager
def timed(meters: PipelineMeters, stage: Stage) -> Iterator[None]:
    """Report how long a stage took, also when it fails."""
    start = perf_counter()
    try:
        yield
    finally:
        meters.stage_seconds(stage, perf_counter() - start)
