"""A subscriber that folds events by the rules of docs/events.md, from JSON, without any code of the program.

After each event it says which pages may have become deletable, and for which other page.
"""

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

__all__ = ["Deletable", "PageVersion", "Subscriber"]


class PageVersion(NamedTuple):
    """A version of a page, as an event names it."""

    page: str
    version: int


class Deletable(NamedTuple):
    """A page that may be deleted now, and the page that is kept for it."""

    page: PageVersion
    kept: PageVersion


class _Place(NamedTuple):
    order: tuple[int, bool]
    """Version, and whether the page is known to have left with it."""
    cluster: str | None


class Subscriber:
    """Holds what the events said so far.

    Attributes:
        index: token of the latest index.
    """

    def __init__(self) -> None:
        self.index = ""
        self._begin_anew()

    def feed(self, headers: Mapping[str, bytes], value: bytes) -> Iterator[Deletable]:
        """Take in one event; iterate over what may be deleted in the clusters that it has changed."""
        index = headers.get("ce_index", b"").decode()
        if index < self.index:
            return
        if index > self.index:
            self.index = index
            self._begin_anew()
        self._changed: set[str] = set()
        self._take_in(headers["ce_type"].decode().split(".")[2], json.loads(value))
        for cluster in {self._survivor(each) for each in self._changed}:
            yield from self._deletable_in(cluster)

    def clusters(self) -> frozenset[frozenset[str]]:
        """Return the clusters of two pages or more."""
        return frozenset(frozenset(pages) for pages in self._members.values() if len(pages) > 1)

    def deletable(self) -> set[str]:
        """Return all pages that may be deleted."""
        return {each.page.page for cluster in list(self._members) for each in self._deletable_in(cluster)}

    def _begin_anew(self) -> None:
        self._absorbed: dict[str, str] = {}
        self._places: dict[str, _Place] = {}
        self._members: defaultdict[str, set[str]] = defaultdict(set)
        self._named: dict[str, tuple[int, str]] = {}
        self._changed = set()

    def _take_in(self, kind: str, data: Mapping[str, Any]) -> None:
        match kind:
            case "duplicate":
                self._put(data["page"], data["cluster"]["id"])
                self._name(data["cluster"], data["cluster"]["representative"])
            case "unique":
                self._name(data["cluster"], data["page"])
            case "gone" | "undecided":
                self._put(data["page"], None)
            case "cluster-merge":
                for side in (data["absorbed"], data["survivor"]):
                    self._name(side, side["representative"])
                self._merge(data["absorbed"]["id"], data["survivor"]["id"])
            case "representative-changed":
                self._put(data["former"], None, has_left=True)
                self._name(data["cluster"], data["representative"])

    def _put(self, page: Mapping[str, Any], cluster: str | None, *, has_left: bool = False) -> None:
        name, order = page["id"], (page["version"], has_left)
        before = self._places.get(name)
        if before is not None and before.order >= order:
            return
        if before is not None and before.cluster is not None:
            left = self._survivor(before.cluster)
            self._members[left].discard(name)
            self._changed.add(left)
        self._places[name] = _Place(order, cluster)
        if cluster is not None:
            self._members[self._survivor(cluster)].add(name)
            self._changed.add(cluster)

    def _name(self, cluster: Mapping[str, Any], page: Mapping[str, Any]) -> None:
        self._put(page, cluster["id"])
        survivor, named = self._survivor(cluster["id"]), (cluster["epoch"], page["id"])
        self._named[survivor] = max(named, self._named.get(survivor, named))
        self._changed.add(survivor)

    def _merge(self, absorbed: str, survivor: str) -> None:
        absorbed, survivor = self._survivor(absorbed), self._survivor(survivor)
        if absorbed == survivor:
            return
        self._absorbed[absorbed] = survivor
        self._members[survivor] |= self._members.pop(absorbed, set())
        named = [self._named.pop(absorbed, None), self._named.get(survivor)]
        self._named[survivor] = max(each for each in named if each is not None)
        self._changed.add(survivor)

    def _survivor(self, cluster: str) -> str:
        while cluster in self._absorbed:
            cluster = self._absorbed[cluster]
        return cluster

    def _deletable_in(self, cluster: str) -> Iterator[Deletable]:
        members = self._members.get(cluster, set())
        _, kept = self._named.get(cluster, (0, ""))
        if kept in members:
            for page in members - {kept}:
                yield Deletable(self._version(page), self._version(kept))

    def _version(self, page: str) -> PageVersion:
        return PageVersion(page, self._places[page].order[0])
