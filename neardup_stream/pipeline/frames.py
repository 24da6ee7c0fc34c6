"""Fetch the frames of sites before a batch is viewed, and learn them after it is decided.

A frame table is a hint: if a lesson is lost in a crash, or gives way to another daemon's, the next pages
teach it again. What a page's views are is written into its record and never changes.
"""

import asyncio
import logging
import secrets
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from neardup_stream.errors import CorruptData
from neardup_stream.frames.lines import FrameConfig
from neardup_stream.frames.table import (
    STAMP_BYTES,
    FrameTable,
    LearningStep,
    LineHashes,
    learn_tables,
)
from neardup_stream.hashing.handles import handle_of
from neardup_stream.meters import PipelineMeters
from neardup_stream.page import PageId
from neardup_stream.pipeline.arrival import Arrival, Lesson, Prepared
from neardup_stream.pipeline.column_items import ColumnItems
from neardup_stream.pipeline.frame_views import FrameViewer
from neardup_stream.pipeline.known_tables import KnownTable, KnownTables
from neardup_stream.pipeline.retries import Retries
from neardup_stream.pipeline.timing import timed
from neardup_stream.stores.frame_store import FrameChange, FrameStore

__all__ = ["WINDOW_PAGES", "Frames", "site_hash"]

_logger = logging.getLogger(__name__)

WINDOW_PAGES = 4096
"""So many pages later a batch has been decided, unless more may be in flight."""

_FRESH_SECONDS = 10.0
"""A table that was read longer ago is read again: other daemons teach too."""

_MOST_STEP_LINES = 2048
"""A larger table is not held while its pages are in the window: its lessons are learned again."""

_ATTEMPTS = 3
"""How often a lesson is tried against other daemons' writes before it is dropped."""


class _Taught(NamedTuple):
    """What a batch taught.

    Attributes:
        batch: its number.
        end: how many pages were viewed up to its last one.
        lessons: the lines of its pages, by site.
    """

    batch: int
    end: int
    lessons: Mapping[str, Sequence[LineHashes]]


class _Decided(NamedTuple):
    """What a batch taught once it was decided.

    Attributes:
        lessons: the lines of its pages that are counted, by site.
        steps: how the stored tables of sites learned them, unless other daemons had it their way, or a table
            is large.
    """

    lessons: Mapping[str, Sequence[LineHashes]]
    steps: Mapping[str, LearningStep]


class Frames:
    """Views pages without their frames, and learns frames from pages.

    Args:
        store: keeps the tables.
        viewer: makes the views.
        config: how much is learned of a site.
        handle_key: secret of this index.
        retries: while the store is unavailable.
        meters: where views and lessons are counted.
        now_seconds: a clock that only grows.
        window_pages: after so many pages more, lessons of a batch that its decisions refuted are taken back.
            Views do not depend on how many pages are in flight while those are not more. With 0 each batch
            is to be learned before the next is viewed.
    """

    def __init__(
        self,
        *,
        store: FrameStore,
        viewer: FrameViewer,
        config: FrameConfig,
        handle_key: bytes,
        retries: Retries,
        meters: PipelineMeters,
        now_seconds: Callable[[], float],
        window_pages: int = WINDOW_PAGES,
    ) -> None:
        self._store = store
        self._viewer = viewer
        self._config = config
        self._handle_key = handle_key
        self._retries = retries
        self._meters = meters
        self._now_seconds = now_seconds
        self._known = KnownTables(config.max_lines)
        self._window_pages = window_pages
        self._writer = secrets.token_bytes(STAMP_BYTES // 2)
        self._writes = 0
        self._window: deque[_Taught] = deque()
        self._decided: dict[int, _Decided] = {}
        self._replaced: set[str] = set()
        self._batch = 0
        self._page_count = 0

    async def view(self, prepared: Prepared) -> Prepared:
        """Take the frames out of a batch's pages.

        Raises:
            DependencyLost: the store stayed unavailable.
        """
        in_columns = isinstance(prepared.items, ColumnItems)  # then no page has lines to view
        arrivals = [] if in_columns else prepared.arrivals
        sites = _sites(prepared)
        with timed(self._meters, "frames"):
            await self._retries.retry(partial(self._read, sites))
            tables = {site: self._known[site].table for site in sites}
            for site in self._known.forget_oldest(tables):
                self._viewer.forget(site)
            self._batch += 1
            self._bring_up_to_date()
            view = partial(self._viewer.view, arrivals, self._batch, tables)
            has_lines = any(arrival.lines is not None for arrival in arrivals)
            viewed = await asyncio.to_thread(view) if has_lines else view()
        self._page_count += len(prepared.items) if in_columns else len(arrivals)
        lessons: defaultdict[str, list[LineHashes]] = defaultdict(list)
        for lesson in viewed.lessons.values():
            lessons[lesson.site].append(lesson.lines)
        self._window.append(_Taught(self._batch, self._page_count, lessons))
        self._meters.frame_tokens(viewed.frame_tokens, viewed.tokens)
        self._meters.frame_sites(self._known.counts)
        content = iter(viewed.arrivals)
        items = prepared.items
        if not in_columns:
            items = [next(content) if isinstance(item, Arrival) else item for item in items]
        return prepared._replace(items=items, lessons=viewed.lessons, frame_batch=self._batch)

    async def learn(self, prepared: Prepared, lessons: Sequence[Lesson]) -> None:
        """Count the lines of pages that were decided.

        Args:
            prepared: the batch, as it was viewed.
            lessons: those of its pages that are to be counted.

        Raises:
            DependencyLost: the store stayed unavailable.
        """
        by_site: defaultdict[str, list[LineHashes]] = defaultdict(list)
        for lesson in lessons:
            by_site[lesson.site].append(lesson.lines)
        learned: dict[str, KnownTable] = {}
        tried: dict[bytes, FrameTable] = {}
        await self._retries.retry(partial(self._teach, by_site, learned, tried))
        self._known.keep(learned)
        if prepared.frame_batch:
            steps = {
                site: LearningStep(tried[known.stamp], known.table)
                for site, known in learned.items()
                if known.stamp in tried and known.table.hashes.size <= _MOST_STEP_LINES
            }
            self._decided[prepared.frame_batch] = _Decided(by_site, steps)

    def _bring_up_to_date(self) -> None:
        """Take over tables with pages of other daemons, and take back what decisions refuted long enough ago.

        A table that has nothing new but pages of this daemon is not taken over: they count already.
        """
        while self._replaced:
            site = self._replaced.pop()
            if site in self._known:
                self._viewer.replace(site, self._known[site].table, list(self._decided))
        while self._window and self._page_count - self._window[0].end >= self._window_pages:
            batch, _, lessons = self._window[0]
            if batch not in self._decided:
                break
            decided = self._decided.pop(batch)
            counted = {site: decided.lessons.get(site, ()) for site in lessons}
            self._viewer.confirm(batch, counted, decided.steps)
            self._window.popleft()

    async def _read(self, sites: Iterable[str]) -> None:
        """May be repeated as a whole."""
        now = self._now_seconds()
        wanted = []
        for site in sites:
            known = self._known.get(site)
            if known is None or now - known.seconds > _FRESH_SECONDS:
                wanted.append(site)
            else:
                self._known.use(site)
        if wanted:
            former = {site: self._known.get(site) for site in wanted}
            for site, known in (await self._fetched(wanted)).items():
                if self._known.get(site) is not former[site]:
                    continue  # it was taught meanwhile
                self._note_other_writers(site, known)
                self._known.keep({site: _unless_same(former[site], known)})

    async def _fetched(self, sites: Sequence[str]) -> dict[str, KnownTable]:
        packed = await self._store.fetch([self._hash(site) for site in sites])
        return {site: self._unpacked(each) for site, each in zip(sites, packed, strict=True)}

    async def _teach(
        self,
        by_site: Mapping[str, Sequence[LineHashes]],
        learned: dict[str, KnownTable],
        tried: dict[bytes, FrameTable],
    ) -> None:
        """May be repeated as a whole.

        Args:
            by_site: the lessons.
            learned: gets what was stored.
            tried: gets the stamp of each attempt, and the table before it.
        """
        waiting = {site: lines for site, lines in by_site.items() if site not in learned}
        seen = {site: self._known[site] for site in waiting if site in self._known}
        for _ in range(_ATTEMPTS):
            unknown = [site for site in waiting if site not in seen]
            if unknown:
                seen |= await self._fetched(unknown)
            untried = {site: lines for site, lines in waiting.items() if seen[site].stamp not in tried}
            taught = await asyncio.to_thread(self._learned, untried, seen) if untried else {}
            stored = {site: seen[site] for site in waiting if seen[site].stamp in tried}
            stored |= await self._written(taught, seen, tried)
            learned |= {site: known for site, known in stored.items() if known.stamp in tried}
            seen = {site: known for site, known in stored.items() if known.stamp not in tried}
            for site, known in seen.items():
                self._note_other_writers(site, known)
            waiting = {site: waiting[site] for site in seen}
            if not waiting:
                break
        self._meters.frame_lessons(taught=len(learned), dropped=len(waiting))
        learned |= {site: seen[site] for site in waiting}

    async def _written(
        self, tables: Mapping[str, KnownTable], seen: Mapping[str, KnownTable], tried: dict[bytes, FrameTable]
    ) -> dict[str, KnownTable]:
        """Write tables, unless others did since they were seen; return what is stored of each site then."""
        if not tables:
            return {}
        tried.update({new.stamp: seen[site].table for site, new in tables.items()})
        answers = await self._store.replace(
            [
                FrameChange(self._hash(site), seen[site].stamp, new.table.pack(new.stamp))
                for site, new in tables.items()
            ]
        )
        return {
            site: new if answer is None else self._unpacked(answer)
            for (site, new), answer in zip(tables.items(), answers, strict=True)
        }

    def _learned(
        self, pages: Mapping[str, Sequence[LineHashes]], seen: Mapping[str, KnownTable]
    ) -> dict[str, KnownTable]:
        """Return the tables of some sites with the lessons of these pages."""
        tables = learn_tables(
            [seen[site].table for site in pages], list(pages.values()), self._config.max_lines
        )
        now = self._now_seconds()
        return {
            site: KnownTable(self._new_stamp(), table, now) for site, table in zip(pages, tables, strict=True)
        }

    def _new_stamp(self) -> bytes:
        """Return the stamp of the next write."""
        self._writes += 1
        return self._writer + self._writes.to_bytes(STAMP_BYTES - len(self._writer), "big")

    def _unpacked(self, packed: bytes | None) -> KnownTable:
        """Return a stored table; one that cannot be read is empty, and is replaced by the next lesson."""
        try:
            table = FrameTable.unpack(packed or None)
        except CorruptData as error:
            _logger.warning("frame_table_unreadable", extra={"fields": {"error": str(error)}})
            table = FrameTable.empty()
        return KnownTable((packed or b"")[:STAMP_BYTES], table, self._now_seconds())

    def _note_other_writers(self, site: str, stored: KnownTable) -> None:
        """Remember to take over a table that another daemon wrote, or a command removed."""
        former = self._known.get(site)
        is_ours = stored.stamp.startswith(self._writer)
        if former is not None and stored.stamp != former.stamp and not is_ours:
            self._replaced.add(site)

    def _hash(self, site: str) -> int:
        return site_hash(site, self._handle_key)


def _unless_same(former: KnownTable | None, known: KnownTable) -> KnownTable:
    """Return `known`, with the very table of `former` where it was not written since."""
    if former is None or former.stamp != known.stamp:
        return known
    return known._replace(table=former.table)


def _sites(prepared: Prepared) -> list[str]:
    """Return the sites of the pages of a batch, in the order in which they come."""
    items = prepared.items
    sites = items.pages.sites if isinstance(items, ColumnItems) else [each.site for each in prepared.arrivals]
    return [site for site in dict.fromkeys(sites) if site]


def site_hash(site: str, handle_key: bytes) -> int:
    """Return the key of a site in the store."""
    return handle_of(PageId(site), handle_key)
