"""The probe stage: find the candidates of each page in the index, and insert the page there.

A page may be in the index twice: by content and by whole text.

A page whose frame is known is stored by the bands of its content; a short one by those of its whole text as
well. While its site is young it looks for both, because a page that came before the frame of its site was
known is stored by its whole text. The other way round, a page without a known frame finds one with it by
content, or by the simhash, which is always that of the whole text.
"""

from collections.abc import Sequence
from functools import partial
from itertools import chain
from typing import Final, NamedTuple

import msgspec
import numpy as np

from neardup_stream.indexes.protocol import Index, IndexedPage, Probed
from neardup_stream.match import Candidate, version_byte
from neardup_stream.meters import PipelineMeters
from neardup_stream.page import Handle
from neardup_stream.pipeline.arrival import PageChange, Registered
from neardup_stream.pipeline.batch import ProbedPages, Run
from neardup_stream.pipeline.indexed import banded_page, indexed_pages
from neardup_stream.pipeline.retries import Retries
from neardup_stream.pipeline.timing import timed
from neardup_stream.stores.page_record import PageRecord
from neardup_stream.stores.protocol import TableMembers

__all__ = ["Probe", "ProbingPage", "insert", "probe", "probe_and_insert", "probing_pages"]

_NOT_COMPARED: Final[frozenset[PageChange]] = frozenset({"unchanged", "superseded"})


class Probe:
    """Probes for the pages of runs.

    Args:
        index: of all pages.
        retries: while the store is unavailable.
        meters: receives the times.
    """

    def __init__(self, index: Index, retries: Retries, meters: PipelineMeters) -> None:
        self._index = index
        self._retries = retries
        self._meters = meters

    async def run(self, run: Run) -> None:
        """Set `probed`.

        Raises:
            DependencyLost: the store stayed unavailable.
        """
        if run.items:
            await self._retries.retry(partial(self.probe, run))

    async def probe(self, run: Run) -> None:
        """Set `probed`; may be repeated.

        Raises:
            StoreUnavailable: the index may have been filled; probing again gives the same candidates.
        """
        pages = [
            page
            for page in run.registration.pages
            if page.record.is_indexed and page.change not in _NOT_COMPARED
        ]
        with timed(self._meters, "probe"):
            run.probed = ProbedPages(pages, await probe_and_insert(probing_pages(pages), self._index))


def probing_pages(pages: Sequence[Registered]) -> list["ProbingPage"]:
    """Return what is looked for; the record of a redelivered page may have another frame than it has now."""
    return [
        ProbingPage(page.handle, page.record, page.arrival.whole_bands or page.arrival.bands)
        for page in pages
    ]


class ProbingPage(msgspec.Struct, frozen=True, gc=False):
    """A page that looks for others.

    Attributes:
        handle: of the page.
        record: its page record.
        whole_bands: band words of its whole text, to be looked for beside those it is stored by; may be
            empty.
    """

    handle: Handle
    record: PageRecord
    whole_bands: bytes = b""


class _Part(NamedTuple):
    """One call of the index: what it answered, and the row of the page behind each of its rows."""

    probed: Probed
    owners: Sequence[int]


async def probe_and_insert(pages: Sequence[ProbingPage], index: Index) -> Probed:
    """Find the candidates of each page of a batch, and store it; see `Index.probe_and_insert`.

    Raises:
        StoreUnavailable: the index may have been filled; probing again gives the same candidates.
    """
    stored, owners = _stored(pages)
    parts = [_Part(await index.probe_and_insert(stored), owners)]
    parts += await _probe_wholes(pages, index)
    return _merged(pages, parts, is_inserted=True)


async def probe(pages: Sequence[ProbingPage], index: Index) -> Probed:
    """Find the candidates of each page and store nothing.

    Raises:
        StoreUnavailable: probing again gives the same candidates.
    """
    stored, owners = _stored(pages)
    parts = [_Part(await index.probe(stored), owners)]
    parts += await _probe_wholes(pages, index)
    return _merged(pages, parts, is_inserted=False)


async def insert(pages: Sequence[tuple[Handle, PageRecord]], index: Index) -> None:
    """Store pages that are known already.

    Raises:
        StoreUnavailable: a part may have been stored; inserting again is safe.
    """
    entries = list(chain.from_iterable(indexed_pages(handle, record) for handle, record in pages))
    if entries:
        await index.probe_and_insert(entries)


def _stored(pages: Sequence[ProbingPage]) -> tuple[list[IndexedPage], list[int]]:
    entries: list[IndexedPage] = []
    owners: list[int] = []
    for row, page in enumerate(pages):
        own = indexed_pages(page.handle, page.record)
        entries += own
        owners += [row] * len(own)
    return entries, owners


async def _probe_wholes(pages: Sequence[ProbingPage], index: Index) -> list[_Part]:
    rows = [
        row
        for row, page in enumerate(pages)
        if page.whole_bands and page.whole_bands not in (page.record.bands, page.record.whole_bands)
    ]
    if not rows:
        return []
    entries = [banded_page(pages[row].handle, pages[row].record, pages[row].whole_bands) for row in rows]
    return [_Part(await index.probe(entries), rows)]


def _merged(pages: Sequence[ProbingPage], parts: Sequence[_Part], *, is_inserted: bool) -> Probed:
    """Return each candidate once; of pages that were stored together only those before."""
    if len(parts) == 1 and len(parts[0].owners) == len(pages):
        return parts[0].probed
    found: list[dict[tuple[Handle, int], Candidate]] = [{} for _ in pages]
    row_of = {(page.handle, version_byte(page.record.version)): row for row, page in enumerate(pages)}
    truncated: set[int] = set()
    for probed, owners in parts:
        truncated |= {owners[row] for row in probed.truncated_rows}
        for row, candidates in zip(owners, probed.candidates, strict=True):
            for candidate in candidates:
                name = candidate.handle, candidate.version_byte
                if not is_inserted or row_of.get(name, -1) < row:
                    found[row].setdefault(name, candidate)
    return Probed(
        candidates=[tuple(each.values()) for each in found],
        bucket_cap_hits=sum(part.probed.bucket_cap_hits for part in parts),
        truncated_rows=frozenset(truncated),
        seen=TableMembers(
            *(np.concatenate(columns) for columns in zip(*(part.probed.seen for part in parts), strict=True))
        ),
        layout_change=min(part.probed.layout_change for part in parts),
    )
