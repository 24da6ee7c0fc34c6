"""The verify stage: fetch the page records of candidates, and compare each with its page.

A stale candidate (a candidate whose page has changed or gone) is removed from the tables when it is met,
except where a record in flight replaced it, which removes it itself.
Where a probe left entries unread, stale ones may have hidden living pages, so that page is probed again.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Final, NamedTuple

from neardup_stream.indexes.protocol import Index, Probed
from neardup_stream.match import Candidate
from neardup_stream.message import Position
from neardup_stream.meters import PipelineMeters, Rejection
from neardup_stream.page import Handle
from neardup_stream.pipeline.arrival import Judged, Registered
from neardup_stream.pipeline.batch import Run
from neardup_stream.pipeline.candidate_comparison import NOTHING, Compared, Verification, compare_candidates
from neardup_stream.pipeline.classification import VerdictConfig
from neardup_stream.pipeline.fetching import fetch_records
from neardup_stream.pipeline.page_locks import PageLocks
from neardup_stream.pipeline.probe import probe, probing_pages
from neardup_stream.pipeline.retries import Retries
from neardup_stream.pipeline.stores import PageStores
from neardup_stream.pipeline.timing import timed
from neardup_stream.stores.page_record import PageRecord
from neardup_stream.stores.protocol import RecordStore

__all__ = ["Detected", "Replaced", "Verify", "detect", "fetch_candidates"]

_MAX_REPEATS = 8
"""How often a page is probed again behind stale; each time removes some, so later pages see further."""


class Replaced(NamedTuple):
    """What is known of the versions that records in flight have replaced.

    Attributes:
        find: returns the version of a candidate that a record after this position has replaced.
        is_kept: whether a stale candidate may be one of a page before, which is probed again: its entries
            stay, unless they hide others. They are removed when the record that replaced it is decided.
    """

    find: Callable[[Position, Candidate], PageRecord | None]
    is_kept: Callable[[Candidate], bool]


NOTHING_REPLACED: Final = Replaced(lambda _position, _candidate: None, lambda _candidate: False)
"""Where nothing is in flight beside the batch."""


class Detected(NamedTuple):
    """The pages of a batch that were judged, and what the metrics want to know of it."""

    judged: list[Judged]
    candidate_count: int
    rejections: Counter[Rejection]
    bucket_cap_hits: int
    truncated_count: int = 0


class Verify:
    """Verifies the candidates of runs.

    Args:
        stores: where candidates and their page records are.
        config: when two pages are alike.
        locks: released by the pages that are verified.
        retries: while the store is unavailable.
        meters: receives the times, candidates and rejections.
    """

    def __init__(
        self,
        stores: PageStores,
        config: VerdictConfig,
        locks: PageLocks,
        retries: Retries,
        meters: PipelineMeters,
    ) -> None:
        self._stores = stores
        self._config = config
        self._locks = locks
        self._retries = retries
        self._meters = meters

    async def run(self, run: Run) -> None:
        """Set `judged`, and release the page locks.

        Raises:
            DependencyLost: the store stayed unavailable.
        """
        if run.items:
            await self._retries.retry(partial(self.verify, run))
            await self._locks.leave(run.page_ids)

    async def verify(self, run: Run) -> None:
        """Set `judged`; may be repeated.

        Raises:
            StoreUnavailable: verify again.
        """
        if run.probed is None:
            return
        with timed(self._meters, "verify"):
            detected = await detect(
                *run.probed,
                self._stores.index,
                self._stores.records,
                self._config,
                Replaced(partial(self._stores.former.find, run), self._stores.former.is_kept),
            )
        self._count(detected)
        run.judged = detected.judged

    def _count(self, detected: Detected) -> None:
        self._meters.candidates(detected.candidate_count)
        for rejection, count in detected.rejections.items():
            self._meters.rejected_candidates(rejection, count)
        self._meters.bucket_cap_hits(detected.bucket_cap_hits)
        self._meters.truncated_probes(detected.truncated_count)


async def detect(
    registered: Sequence[Registered],
    probed: Probed,
    index: Index,
    store: RecordStore,
    config: VerdictConfig,
    replaced: Replaced = NOTHING_REPLACED,
) -> Detected:
    """Find the stored pages that each page of a batch matches.

    Args:
        registered: the batch.
        probed: what `probe_and_insert` answered to it.
        index: of all pages.
        store: of their records.
        config: when two pages are alike.
        replaced: the versions that records in flight have replaced.

    Raises:
        StoreUnavailable: detecting again gives the same matches.
    Cost: one fetch for the batch; a probe call and a fetch more where stale were in the way.
    """
    compared: list[Compared] = [NOTHING] * len(registered)
    rejections: Counter[Rejection] = Counter()
    candidate_count = bucket_cap_hits = truncated_count = 0
    rows: Sequence[int] = range(len(registered))  # of the pages that are to be compared
    for repeat in range(_MAX_REPEATS):
        pages = [registered[row] for row in rows]
        if repeat:
            probed = await probe(probing_pages(pages), index)
        found = await _verified(pages, probed.candidates, store, config, replaced.find)
        for row, each in zip(rows, found.compared, strict=True):
            compared[row] = each
        candidate_count += sum(map(len, probed.candidates))
        rejections += found.rejections
        bucket_cap_hits += probed.bucket_cap_hits
        if removable := _removable(found.stale_candidates, probed.truncated_rows, replaced.is_kept):
            await index.remove_stale(probed, removable)
        behind_stale = [at for at in sorted(probed.truncated_rows) if found.stale_candidates[at]]
        truncated_count += len(probed.truncated_rows) - len(behind_stale)
        rows = [rows[at] for at in behind_stale]
        if not rows:
            break
    judged = [
        Judged(page, each.matches, each.containers) for page, each in zip(registered, compared, strict=True)
    ]
    return Detected(judged, candidate_count, rejections, bucket_cap_hits, truncated_count + len(rows))


def _removable(
    stale_candidates: Sequence[Sequence[Candidate]],
    truncated: frozenset[int],
    is_kept: Callable[[Candidate], bool],
) -> set[tuple[Handle, int]]:
    """Return which stale candidates are removed now: all that hide others, and those that are not kept."""
    return {
        (each.handle, each.version_byte)
        for at, of_page in enumerate(stale_candidates)
        for each in of_page
        if at in truncated or not is_kept(each)
    }


async def _verified(
    registered: Sequence[Registered],
    candidates: Sequence[Sequence[Candidate]],
    store: RecordStore,
    config: VerdictConfig,
    find_former: Callable[[Position, Candidate], PageRecord | None],
) -> Verification:
    records = await fetch_candidates(candidates, store)
    return compare_candidates(
        [page.record for page in registered],
        candidates,
        records,
        config,
        lambda row, candidate: find_former(registered[row].arrival.record.position, candidate),
    )


async def fetch_candidates(
    candidates: Iterable[Iterable[Candidate]], store: RecordStore
) -> dict[Handle, PageRecord]:
    """Return the records of all candidates that have one, in one round trip."""
    handles = list(dict.fromkeys(candidate.handle for each in candidates for candidate in each))
    return await fetch_records(handles, store) if handles else {}
