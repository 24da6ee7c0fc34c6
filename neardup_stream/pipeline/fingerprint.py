"""The fingerprint stage: from the texts of pages to simhashes, sketches and bands. Pure.

`FingerprintContent` completes it where the lines that a site repeats are taken out of its pages.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from neardup_stream.fingerprints.simhash import (
    Fingerprints,
    PageLines,
    SimhashConfig,
    fingerprint_lines,
    fingerprint_texts,
)
from neardup_stream.fingerprints.sketch import SketchConfig
from neardup_stream.frames.table import LineHashes
from neardup_stream.page import Fingerprint64, Page
from neardup_stream.pipeline.arrival import Arrival, metadata_of
from neardup_stream.pipeline.column_items import PageColumns
from neardup_stream.pipeline.extract import ExtractedPage
from neardup_stream.pipeline.kept_text import TextParts, keep_text
from neardup_stream.pipeline.scopes import UNKNOWN, ScopeOf

__all__ = ["Fingerprint"]


class Fingerprint:
    """Fingerprints the texts of pages.

    Args:
        simhash: window, fewest tokens.
        sketch: shingles, bins, bands; None leaves sketches out.
        scope_of: returns the scope within which a page is compared.
        site_of: returns whose frame a page has, UNKNOWN for nothing known; None leaves frames in.
        text_parts: of an archive, what is to be kept of texts.
    """

    def __init__(
        self,
        simhash: SimhashConfig,
        sketch: SketchConfig | None,
        scope_of: ScopeOf,
        site_of: ScopeOf | None = None,
        text_parts: TextParts = frozenset(),
    ) -> None:
        self._simhash = simhash
        self._sketch = sketch
        self._scope_of = scope_of
        self._site_of = site_of if sketch is not None else None
        self._text_parts = text_parts

    def fingerprint(self, pages: Sequence[ExtractedPage]) -> Iterator[Arrival]:
        """Yield the pages with the fingerprints of their texts. Cost: see `fingerprint_texts`."""
        texts = [page.text.text for page in pages]
        lines: Sequence[PageLines | None] = [None] * len(pages)
        if any(map(self._needs_lines, texts)):
            computed, lines = fingerprint_lines(texts, self._simhash, self._sketch)
        else:
            computed = fingerprint_texts(texts, self._simhash, self._sketch)
        return map(self._arrival, pages, lines, _rows(computed))

    def columns(self, pages: Sequence[ExtractedPage]) -> PageColumns | None:
        """Return the same in columns; None where a later stage needs the lines of one of the pages.

        Cost: see `fingerprint_texts`.
        """
        texts = [page.text.text for page in pages]
        if any(map(self._needs_lines, texts)):
            return None
        computed = fingerprint_texts(texts, self._simhash, self._sketch)
        metas = ((row, page.page.meta) for row, page in enumerate(pages))
        return PageColumns(
            ids=[page.page.id for page in pages],
            urls=[page.page.url for page in pages],
            fetched_seconds=np.array([page.page.fetched_at_seconds for page in pages], np.float64),
            metas={row: bytes(meta) for row, meta in metas if meta is not None},
            scopes=[self._scope_of(page.page) for page in pages],
            sites=[self._site(page.page) for page in pages],
            is_markup=np.array([page.text.is_markup for page in pages], np.bool_),
            has_enough_tokens=computed.token_counts >= self._simhash.min_tokens,
            token_counts=computed.token_counts,
            fingerprints=computed.fingerprints,
            text_fingerprints=computed.text_fingerprints,
            shingle_counts=computed.shingle_counts,
            sketches=computed.sketches,
            bands=computed.bands,
        )

    def line_hashes(self, text: str) -> LineHashes:
        """Return the hashes of the lines of a text."""
        _, (lines,) = fingerprint_lines([text], self._simhash)
        return lines.hashes

    def _arrival(self, extracted: ExtractedPage, lines: PageLines | None, row: "_Row") -> Arrival:
        record, page, text = extracted
        fingerprint, text_fingerprint, token_count, shingle_count, sketch, bands = row
        site = self._site(page)
        is_read_again = bool(site) and text.is_markup
        return Arrival(
            record=metadata_of(record),
            page=page if is_read_again else page.without_content(),
            fingerprint=Fingerprint64(fingerprint),
            text_fingerprint=text_fingerprint,
            token_count=token_count,
            has_enough_tokens=token_count >= self._simhash.min_tokens,
            sketch=sketch,
            shingle_count=shingle_count,
            bands=bands,
            content_token_count=token_count,
            scope=self._scope_of(page),
            site=site,
            lines=lines if self._site_of is not None and self._needs_lines(text.text) else None,
            is_markup=text.is_markup,
            kept=keep_text(text.text, lines.tokens, self._text_parts) if lines and self._text_parts else None,
        )

    def _needs_lines(self, text: str) -> bool:
        """Return whether a later stage needs the lines of a page; one of a single line has no frame."""
        return bool(self._text_parts) or (self._site_of is not None and "\n" in text)

    def _site(self, page: Page) -> str:
        site = UNKNOWN if self._site_of is None else self._site_of(page)
        return "" if site == UNKNOWN else site


_Row = tuple[int, int, int, int, bytes, bytes]
"""Of one page: simhash, text fingerprint, tokens, shingles, sketch and bands."""


def _rows(computed: Fingerprints) -> Iterator[_Row]:
    return zip(
        computed.fingerprints.tolist(),
        computed.text_fingerprints.tolist(),
        computed.token_counts.tolist(),
        computed.shingle_counts.tolist(),
        _slices(computed.sketches.tobytes(), len(computed.fingerprints)),
        _slices(computed.bands.astype(">u4").tobytes(), len(computed.fingerprints)),
        strict=True,
    )


def _slices(packed: bytes, count: int) -> list[bytes]:
    """Return the rows of a table of bytes."""
    size = len(packed) // count if count else 0
    return [packed[row * size : (row + 1) * size] for row in range(count)]
