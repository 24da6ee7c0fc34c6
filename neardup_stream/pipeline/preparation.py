"""Everything that a batch needs no store for: decode, extract the text, fingerprint. Pure CPU work."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from time import perf_counter
from typing import NamedTuple, Protocol

from neardup_stream.errors import BadPage
from neardup_stream.fingerprints.simhash import SimhashConfig, fingerprint_lines, fingerprint_texts
from neardup_stream.fingerprints.sketch import SketchConfig
from neardup_stream.frames.table import LineHashes
from neardup_stream.message import Record, Skipped
from neardup_stream.meters import PipelineMeters, Step
from neardup_stream.page import Fingerprint64, Page
from neardup_stream.pipeline.arrival import Arrival, Forget, Prepared, Rejected, SkippedRecord, metadata_of
from neardup_stream.pipeline.kept_text import TextParts, keep_text
from neardup_stream.pipeline.scopes import UNKNOWN, ScopeOf
from neardup_stream.text.limits import TextLimits
from neardup_stream.text.markup import Extraction
from neardup_stream.text.page_text import PageText, page_text
from neardup_stream.wire.pages import PageDecoder, forget_ids

__all__ = ["OnRecord", "Preparation", "Prepares", "ReadsLandmarks", "lines_outside_landmarks", "timed"]

OnRecord = Callable[[Record | None], None]
"""Called with each record before it is decoded; with None before all pages are fingerprinted at once."""

_USUAL_LIMITS = TextLimits()


class ReadsLandmarks(Protocol):
    """Extracts the text of a page a second time, without its landmarks."""

    def lines_outside_landmarks(self, page: Page) -> LineHashes | None:
        """Return the hashes of the lines of a page outside its landmarks; None if the page costs too much.

        Called in a thread, also while a batch is prepared.
        """


class Prepares(ReadsLandmarks, Protocol):
    """Turns the records of a batch into what needs no store."""

    def prepare(self, records: Sequence[Record]) -> Prepared:
        """Sort the records of a batch by what they are, and fingerprint the pages.

        Of the content of pages only markup is kept whose frame is still to be taken out.
        Order is kept. Bad pages are part of the answer, not an error. Called in a thread, one batch at a
        time.
        """


class _DecodedPage(NamedTuple):
    """A page and the record it came in."""

    record: Record
    page: Page


class _ExtractedPage(NamedTuple):
    """The same with its text."""

    record: Record
    page: Page
    text: PageText


class Preparation:
    """Turns records into arrivals.

    Args:
        decoder: bytes to pages, within the limits.
        extraction: which part of a page's markup counts as its text.
        limits: what the text of a page may cost.
        simhash: window, fewest tokens.
        sketch: shingles, bins, bands; None leaves sketches out.
        scope_of: tells within what a page is compared.
        site_of: tells whose frame a page has, UNKNOWN for nobody's; None leaves frames in.
        text_parts: of an archive, what is to be kept of texts.
        meters: told the time of each step.
        on_record: called with what is worked on next.
    """

    def __init__(
        self,
        *,
        decoder: PageDecoder,
        extraction: Extraction,
        limits: TextLimits = _USUAL_LIMITS,
        simhash: SimhashConfig,
        sketch: SketchConfig | None,
        scope_of: ScopeOf,
        site_of: ScopeOf | None = None,
        text_parts: TextParts = frozenset(),
        meters: PipelineMeters,
        on_record: OnRecord = lambda _record: None,
    ) -> None:
        self._decoder = decoder
        self._extraction: Extraction = extraction
        self._limits = limits
        self._simhash = simhash
        self._sketch = sketch
        self._scope_of = scope_of
        self._site_of = site_of if sketch is not None else None
        self._text_parts = text_parts
        self._meters = meters
        self._on_record = on_record

    def prepare(self, records: Sequence[Record]) -> Prepared:
        """See `Prepares`."""
        prepared = Prepared([], [], [], charset_fallbacks=0)
        extracted = self._read(records, prepared)
        self._on_record(None)
        pages = [item for item in extracted if isinstance(item, _ExtractedPage)]
        with timed(self._meters, "fingerprint"):
            arrivals = iter(list(self._arrivals(pages)))
        prepared.items.extend(item if isinstance(item, Forget) else next(arrivals) for item in extracted)
        for rejected in prepared.rejected:
            if rejected.error.limit is not None:
                self._meters.over_limit(rejected.error.limit, 1)
        return prepared._replace(charset_fallbacks=sum(page.text.charset_fell_back for page in pages))

    def lines_outside_landmarks(self, page: Page) -> LineHashes | None:
        """See `ReadsLandmarks`."""
        return lines_outside_landmarks(page, self._extraction, self._simhash)

    def _read(self, records: Sequence[Record], prepared: Prepared) -> list[_ExtractedPage | Forget]:
        """Decode and extract one record after the other, so that it is known which one takes too much."""
        read: list[_ExtractedPage | Forget] = []
        decode_seconds = extract_seconds = 0.0
        for record in records:
            self._on_record(record)
            start = perf_counter()
            decoded = self._decode(record, prepared)
            decoded_at = perf_counter()
            extracted = None if decoded is None else self._extracted(decoded, prepared)
            decode_seconds += decoded_at - start
            extract_seconds += perf_counter() - decoded_at
            if extracted is not None:
                read.append(extracted)
        self._meters.step_seconds("decode", decode_seconds)
        self._meters.step_seconds("extract", extract_seconds)
        return read

    def _extracted(self, item: _DecodedPage | Forget, prepared: Prepared) -> _ExtractedPage | Forget | None:
        """The same with its text; None for a page whose text would cost too much."""
        if isinstance(item, Forget):
            return item
        try:
            text = page_text(item.page, self._extraction, limits=self._limits)
        except BadPage as error:
            prepared.rejected.append(Rejected(item.record, error))
            return None
        return _ExtractedPage(item.record, item.page, text)

    def _arrivals(self, pages: Sequence[_ExtractedPage]) -> Iterator[Arrival]:
        texts = [page.text.text for page in pages]
        computed, lines = (
            (fingerprint_texts(texts, self._simhash, self._sketch), [])
            if self._site_of is None and not self._text_parts
            else fingerprint_lines(texts, self._simhash, self._sketch)
        )
        sketches, bands = computed.sketches.tobytes(), computed.bands.astype(">u4").tobytes()
        sketch_bytes, band_bytes = computed.sketches.shape[1], 4 * computed.bands.shape[1]
        rows = zip(
            pages,
            computed.fingerprints.tolist(),
            computed.text_fingerprints.tolist(),
            computed.token_counts.tolist(),
            computed.shingle_counts.tolist(),
            strict=True,
        )
        for i, ((record, page, text), fingerprint, text_fingerprint, token_count, shingle_count) in enumerate(
            rows
        ):
            site = self._site(page)
            is_read_again = bool(site) and text.is_markup
            yield Arrival(
                record=metadata_of(record),
                page=page if is_read_again else page.without_content(),
                fingerprint=Fingerprint64(fingerprint),
                text_fingerprint=text_fingerprint,
                token_count=token_count,
                is_decided=token_count >= self._simhash.min_tokens,
                sketch=sketches[i * sketch_bytes : (i + 1) * sketch_bytes],
                shingle_count=shingle_count,
                bands=bands[i * band_bytes : (i + 1) * band_bytes],
                content_token_count=token_count,
                scope=self._scope_of(page),
                site=site,
                lines=None if self._site_of is None else lines[i],
                is_markup=text.is_markup,
                kept=keep_text(text.text, lines[i].tokens, self._text_parts) if self._text_parts else None,
            )

    def _site(self, page: Page) -> str:
        site = UNKNOWN if self._site_of is None else self._site_of(page)
        return "" if site == UNKNOWN else site

    def _decode(self, record: Record, prepared: Prepared) -> _DecodedPage | Forget | None:
        """What a record asks for; one that is neither page nor forget goes where it belongs."""
        try:
            if record.value is None:
                return Forget(metadata_of(record), forget_ids(record.key))
            page = self._decoder.decode(record)
        except BadPage as error:
            prepared.rejected.append(Rejected(record, error))
            return None
        if isinstance(page, Skipped):
            prepared.skipped.append(SkippedRecord(metadata_of(record), page.reason))
            return None
        return _DecodedPage(record, page)


def lines_outside_landmarks(page: Page, extraction: Extraction, simhash: SimhashConfig) -> LineHashes:
    """Return the hashes of the lines of a page that stand outside its landmarks.

    Cost: that of extracting the page once more.
    """
    text = page_text(page, extraction, landmarks=False).text
    _, (lines,) = fingerprint_lines([text], simhash)
    return lines.hashes


@contextmanager
def timed(meters: PipelineMeters, step: Step) -> Iterator[None]:
    """Report how long a step took, also when it fails."""
    start = perf_counter()
    try:
        yield
    finally:
        meters.step_seconds(step, perf_counter() - start)
