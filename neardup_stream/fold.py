"""Fold events to the clusters they describe, for subscribers who keep clusters or delete duplicates.

Events arrive in any order and more than once. So an event is not a step from one state to the next: every
event only adds facts, and of two facts about the same thing one takes precedence regardless of their order.

- Clusters: a merge makes two ids mean one cluster. Their union is the same in any order.

- Pages: a page is in the cluster that its highest version names, in its own event or as a representative. A
  forget has a version of its own, so no earlier fact can revive the page. The version with which a former
  representative left is in no cluster, even before the event about its new cluster arrives.

- Representatives: the highest epoch names the representative. A merge's epoch is above those of both
  clusters, so epochs compare under every id the cluster ever had.

- Indexes: the latest index of a namespace replaces earlier ones: a recovered or new index publishes
  everything that subscribers need.
"""

from collections import defaultdict
from typing import NamedTuple

import msgspec

from neardup_stream.errors import CorruptData
from neardup_stream.events import (
    EVENT_DATA,
    ChangedCluster,
    ClusterMerge,
    DuplicateFound,
    EventCluster,
    EventData,
    EventPage,
    Gone,
    GonePage,
    OwnCluster,
    Representative,
    RepresentativeChanged,
    Undecided,
    UniqueFound,
    event_type,
)
from neardup_stream.wire.events import CloudEvent

__all__ = ["Fold"]

_NOWHERE = ""
_DECODERS: dict[str, msgspec.json.Decoder[EventData]] = {
    event_type(name): msgspec.json.Decoder(data) for name, data in EVENT_DATA.items()
}


class _Place(NamedTuple):
    """The cluster of one version of a page; the greater tuple takes precedence.

    Attributes:
        version: of the page.
        has_left: it was a representative, and has left its cluster.
        cluster_id: as in the event, perhaps absorbed since; `_NOWHERE` for no cluster.
    """

    version: int
    has_left: bool
    cluster_id: str


class _Account(NamedTuple):
    """The representative of a cluster; the greater tuple takes precedence."""

    epoch: int
    page_id: str


class Fold:
    """The clusters that the events of one namespace describe, and which pages may be deleted.

    Feed it every event of the topic, in any order, each at least once. After the last event:

    - the clusters are those of the store, plus members that expired: expiry publishes no event;

    - each of them has exactly one living page that may not be deleted, its representative.

    Before that the fold is stale but safe: a page may be deleted only while another page, which has not left
    according to the events so far, is the representative of its cluster.

    Memory: an entry for every page id and every cluster id in any event, including forgotten pages and
    absorbed clusters, because events about them may still arrive. Pages without events (unique ones, unless
    `unique` events are switched on) take none.
    """

    def __init__(self) -> None:
        self._index = ""
        self._places: dict[str, _Place] = {}
        self._accounts: dict[str, _Account] = {}
        self._absorbed_by: dict[str, str] = {}

    def feed(self, event: CloudEvent[msgspec.Raw]) -> None:
        """Add one event of any type; `contained`, `archived` and unknown types change nothing.

        The first event of a later index replaces the state of earlier indexes.

        Raises:
            CorruptData: the data does not fit the type; the state is unchanged.
        """
        decoder = _DECODERS.get(event.type)
        if decoder is None:
            return
        try:
            data = decoder.decode(event.data)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise CorruptData(f"event {event.id!r} is no {event.type}: {error}") from error
        index = event.index or ""
        if index > self._index:
            self._index = index
            self._places, self._accounts, self._absorbed_by = {}, {}, {}
        if index == self._index:
            self._take_in(data)

    @property
    def index(self) -> str:
        """Return the token of the latest index that was fed; empty before any, and for one without."""
        return self._index

    def clusters(self) -> dict[str, frozenset[str]]:
        """Return the ids of the living pages of every cluster of two or more, by surviving cluster id.

        Cost: O(pages ever named).
        """
        members: defaultdict[str, set[str]] = defaultdict(set)
        for page_id in self._places:
            cluster_id = self.cluster_of(page_id)
            if cluster_id is not None:
                members[cluster_id].add(page_id)
        return {cluster_id: frozenset(ids) for cluster_id, ids in members.items() if len(ids) > 1}

    def cluster_of(self, page_id: str) -> str | None:
        """Return the id of the page's surviving cluster; None for a gone, undecided or unknown page."""
        place = self._places.get(page_id)
        if place is None or place.cluster_id == _NOWHERE:
            return None
        return self._surviving(place.cluster_id)

    def representative(self, cluster_id: str) -> str | None:
        """Return the id of the representative of a cluster, given any id it ever had.

        Return None for an unknown cluster, and while the former representative is known to have left but the
        new one is not known.
        """
        survivor_id = self._surviving(cluster_id)
        account = self._accounts.get(survivor_id)
        if account is None or self.cluster_of(account.page_id) != survivor_id:
            return None
        return account.page_id

    def is_deletable(self, page_id: str) -> bool:
        """Return whether the page is declared duplicate.

        Another page is the representative of its cluster.
        """
        cluster_id = self.cluster_of(page_id)
        return cluster_id is not None and self.representative(cluster_id) not in (None, page_id)

    def deletable(self) -> frozenset[str]:
        """Return the ids of all pages that are declared duplicate. Cost: O(pages ever named)."""
        return frozenset(filter(self.is_deletable, self._places))

    def _take_in(self, data: EventData) -> None:
        match data:
            case DuplicateFound(page=page, cluster=EventCluster() as cluster):
                self._put(page, cluster.id)
                self._name(cluster, cluster.representative)
            case UniqueFound(page=page, cluster=OwnCluster() as cluster):
                self._name(cluster, page)
            case DuplicateFound(page=page) | UniqueFound(page=page) | Gone(page=page) | Undecided(page=page):
                self._put(page, _NOWHERE)
            case ClusterMerge(survivor=survivor, absorbed=absorbed):
                self._name(survivor, survivor.representative)
                self._name(absorbed, absorbed.representative)
                self._merge(survivor.id, absorbed.id)
            case RepresentativeChanged(cluster=cluster, former=former, representative=representative):
                self._name(cluster, representative)
                self._put(former, _NOWHERE, has_left=True)

    def _put(
        self, page: EventPage | GonePage | Representative, cluster_id: str, *, has_left: bool = False
    ) -> None:
        place = _Place(page.version, has_left, cluster_id)
        self._places[page.id] = max(place, self._places.get(page.id, place))

    def _name(
        self, cluster: EventCluster | OwnCluster | ChangedCluster, page: EventPage | Representative
    ) -> None:
        """Make the page the representative, and so a member, of the cluster."""
        self._put(page, cluster.id)
        account, survivor_id = _Account(cluster.epoch, page.id), self._surviving(cluster.id)
        self._accounts[survivor_id] = max(account, self._accounts.get(survivor_id, account))

    def _merge(self, survivor_id: str, absorbed_id: str) -> None:
        survivor_id, absorbed_id = self._surviving(survivor_id), self._surviving(absorbed_id)
        if survivor_id != absorbed_id:
            self._absorbed_by[absorbed_id] = survivor_id
            # Two clusters may absorb the same one before the loss of an index is detected. They become one
            # here, although their epochs were never compared.
            self._accounts[survivor_id] = max(self._accounts[survivor_id], self._accounts.pop(absorbed_id))

    def _surviving(self, cluster_id: str) -> str:
        """Return the end of the chain of merges, with path halving."""
        while (nearer := self._absorbed_by.get(cluster_id)) is not None:
            self._absorbed_by[cluster_id] = self._absorbed_by.get(nearer, nearer)
            cluster_id = nearer
        return cluster_id
