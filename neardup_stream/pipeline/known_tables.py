"""Keep frame tables as this process read or wrote them last; sites used longest ago go first."""

from collections import Counter, OrderedDict
from collections.abc import Container, Iterator, Mapping
from typing import NamedTuple

from neardup_stream.frames.table import FrameTable
from neardup_stream.meters import SiteState
from neardup_stream.pipeline.frame_reading import SETTLED_SITE_PAGES

__all__ = ["KnownTable", "KnownTables"]

_MOST_SITES = 20_000
"""Sites whose tables a process keeps."""

_MOST_LINES = 20_000_000
"""Lines of all these tables; each takes some 15 bytes, since views of pages in flight have tables too."""


class KnownTable(NamedTuple):
    """A table as it was read or written, and when.

    Attributes:
        stamp: of the stored bytes.
        table: what they say.
        seconds: when, by the clock of the process.
    """

    stamp: bytes
    table: FrameTable
    seconds: float


class KnownTables:
    """The tables of sites.

    Args:
        full_lines: a table with so many lines may lack some of a frame.
        most_sites: so many sites stay.
        most_lines: so many lines of all their tables stay.
    """

    def __init__(self, full_lines: int, most_sites: int = _MOST_SITES, most_lines: int = _MOST_LINES) -> None:
        self._full_lines = full_lines
        self._most_sites = most_sites
        self._most_lines = most_lines
        self._tables: OrderedDict[str, KnownTable] = OrderedDict()
        self._counts: Counter[SiteState] = Counter()
        self._line_count = 0

    def __len__(self) -> int:
        return len(self._tables)

    def __contains__(self, site: str) -> bool:
        return site in self._tables

    def __getitem__(self, site: str) -> KnownTable:
        return self._tables[site]

    @property
    def counts(self) -> Mapping[SiteState, int]:
        """Sites by what is known of them."""
        return self._counts

    def get(self, site: str) -> KnownTable | None:
        """Return the table of a site, None if it is not kept."""
        return self._tables.get(site)

    def use(self, site: str) -> None:
        """Note that a site that is kept was used now."""
        self._tables.move_to_end(site)

    def keep(self, tables: Mapping[str, KnownTable]) -> None:
        """Keep tables, but not over those that were read later."""
        for site, known in tables.items():
            former = self._tables.get(site)
            if former is None or former.seconds <= known.seconds:
                self._remove(site)
                self._tables[site] = known
                self._count(known.table, 1)
            self._tables.move_to_end(site)

    def forget_oldest(self, used: Container[str] = ()) -> Iterator[str]:
        """Forget sites until the rest is within the bounds, and yield them.

        Args:
            used: sites that stay in any case, if they were used last.
        """
        while len(self._tables) > self._most_sites or self._line_count > self._most_lines:
            site = next(iter(self._tables))
            if site in used:
                return
            self._remove(site)
            yield site

    def _remove(self, site: str) -> None:
        former = self._tables.pop(site, None)
        if former is not None:
            self._count(former.table, -1)

    def _count(self, table: FrameTable, sign: int) -> None:
        self._line_count += sign * table.hashes.size
        self._counts[self._state(table)] += sign

    def _state(self, table: FrameTable) -> SiteState:
        if table.hashes.size >= self._full_lines:
            return "full"
        return "settled" if table.page_count >= SETTLED_SITE_PAGES else "young"
