"""Track which pages each cluster holds."""

from collections.abc import Iterator

__all__ = ["Members"]


class Members:
    """Page ids by cluster id. A cluster of one page, which most are, takes no set."""

    def __init__(self) -> None:
        self._pages: dict[str, str | set[str]] = {}

    def __getitem__(self, cluster_id: str) -> frozenset[str]:
        """Return the pages of a cluster; none for one that is not known."""
        held = self._pages.get(cluster_id, ())
        return frozenset((held,) if isinstance(held, str) else held)

    def add(self, cluster_id: str, page_id: str) -> None:
        """Put a page into a cluster."""
        held = self._pages.setdefault(cluster_id, page_id)
        if isinstance(held, set):
            held.add(page_id)
        elif held != page_id:
            self._pages[cluster_id] = {held, page_id}

    def discard(self, cluster_id: str, page_id: str) -> None:
        """Take a page out of a cluster."""
        held = self._pages.get(cluster_id)
        if isinstance(held, set):
            held.discard(page_id)
            if len(held) == 1:
                self._pages[cluster_id] = held.pop()
        elif held == page_id:
            del self._pages[cluster_id]

    def merge(self, survivor_id: str, absorbed_id: str) -> None:
        """Move all pages of one cluster to another."""
        for page_id in self[absorbed_id]:
            self.add(survivor_id, page_id)
        self._pages.pop(absorbed_id, None)

    def larger_clusters(self) -> Iterator[tuple[str, frozenset[str]]]:
        """Iterate over the clusters of two pages or more."""
        for cluster_id, held in self._pages.items():
            if isinstance(held, set):
                yield cluster_id, frozenset(held)
