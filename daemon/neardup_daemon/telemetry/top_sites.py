"""Count the sites with most pages and most duplicates, in bounded memory.

Space-Saving (Metwally, Agrawal, El Abbadi, "Efficient computation of frequent and top-k elements in data
streams", 2005): a site that is not counted takes the place of the site with the smallest count, and with it
that count as its possible error. A site with more than 1/capacity of all pages is always among the counted.
"""

from collections.abc import Iterator, Mapping
from heapq import heappop, heappush, heapreplace
from typing import Final

from prometheus_client.core import CounterMetricFamily
from prometheus_client.registry import Collector

from neardup_daemon.telemetry.metric_registry import PREFIX

__all__ = ["SpaceSaving", "TopSites"]

_COUNTED_PER_SHOWN: Final = 50
"""Sites counted for each one shown: the share of pages below which a site may be miscounted."""


class SpaceSaving:
    """Counts the most frequent names among many.

    Args:
        capacity: names counted at a time, at least 1.

    Cost: O(1) for a counted name, O(log capacity) on average for one that takes another's place.
    """

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._counts: dict[str, int] = {}
        self._errors: dict[str, int] = {}
        self._smallest: list[tuple[int, str]] = []  # a heap; an entry may lag behind its name's count

    def add(self, name: str, count: int) -> str | None:
        """Count `name`; the name whose place it took, if it took one."""
        evicted = None
        if name not in self._counts and len(self._counts) >= self._capacity:
            evicted = self._evict()
            self._errors[name] = self._counts[name] = self._counts.pop(evicted)
            self._errors.pop(evicted, None)
        if name not in self._counts or evicted is not None:
            heappush(self._smallest, (self._counts.get(name, 0) + count, name))
        self._counts[name] = self._counts.get(name, 0) + count
        return evicted

    def _evict(self) -> str:
        """Remove the name with the smallest count from the heap, and return it."""
        while True:
            count, name = self._smallest[0]
            if count == self._counts[name]:
                heappop(self._smallest)
                return name
            heapreplace(self._smallest, (self._counts[name], name))

    def top(self, count: int) -> list[tuple[str, int]]:
        """Return the `count` names with most certain occurrences, with those counts, most first."""
        certain = {name: total - self._errors.get(name, 0) for name, total in self._counts.items()}
        return sorted(certain.items(), key=lambda item: (-item[1], item[0]))[:count]


class TopSites(Collector):
    """Duplicates and pages of the sites with most duplicates, as a Prometheus collector.

    Args:
        shown: sites at each scrape; 0 counts nothing and shows none.
    """

    def __init__(self, shown: int) -> None:
        self._shown = shown
        self._duplicates = SpaceSaving(max(1, shown * _COUNTED_PER_SHOWN))
        self._pages: dict[str, int] = {}

    def add(self, pages: Mapping[str, int], duplicates: Mapping[str, int]) -> None:
        """Count the pages of one batch by site, and those of them that are duplicates."""
        if not self._shown:
            return
        for site, count in duplicates.items():
            evicted = self._duplicates.add(site, count)
            self._pages.setdefault(site, 0)
            if evicted is not None:
                self._pages.pop(evicted, None)
        for site in pages.keys() & self._pages.keys():
            self._pages[site] += pages[site]

    def collect(self) -> Iterator[CounterMetricFamily]:
        """Yield the sites with most duplicates."""
        duplicates = CounterMetricFamily(
            f"{PREFIX}site_duplicates", "Duplicates of the sites with most of them.", labels=["site"]
        )
        pages = CounterMetricFamily(
            f"{PREFIX}site_pages",
            "Pages judged of the same sites, without those too short, from their first duplicate on.",
            labels=["site"],
        )
        for site, count in self._duplicates.top(self._shown):
            duplicates.add_metric([site], count)
            pages.add_metric([site], self._pages[site])
        yield duplicates
        yield pages
