"""From events to what they add up to: for subscribers who keep clusters, or delete duplicates.

Events arrive in any order and more than once. So nothing here is a step from one state to the next: every
event only adds facts, and of two facts about the same thing one always wins, whichever came first.

- Clusters: a merge says that two ids mean one cluster from now on. Their union is the same in any order.
- A page is where its highest version puts it: in its own event, or where it is named as representative. A
  forgotten page has a version of its own, so that no earlier fact brings it back; and the version with which
  a former representative left is out, even before the event that says where its page went.
- A cluster's representative is the one named by the highest epoch. A merge's epoch is above those of both
  clusters, so epochs compare under every id the cluster ever had.
- Of several indexes that a namespace has had, the latest stands: an index that was recovered, or made anew,
  publishes all that subscribers have to know of it.
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
    """Where one version of a page is; of two places the greater one holds.

    Attributes:
        version: of the page.
        has_left: it spoke for a cluster, and is known to have left it.
        cluster_id: as the event said, perhaps absorbed since; `_NOWHERE` for no cluster.
    """

    version: int
    has_left: bool
    cluster_id: str


class _Account(NamedTuple):
    """Who speaks for a cluster; of two accounts the greater one holds."""

    epoch: int
    page_id: str


class Fold:
    """The clusters that the events of one namespace describe, and which pages may be deleted.

    Feed it every event of the topic, in any order, each at least once. When all that was sent has been fed:

    - the clusters are those that the service keeps, plus members that expired: expiry makes no event;
    - in each of them exactly one living page may not be deleted, its representative.

    Before that it is behind, never unsafe: at any moment a page may be deleted only while another page, not
    known to have left, is known to speak for its cluster.

    Memory: an entry for every page id and every cluster id that was ever named, those of forgotten pages and
    absorbed clusters too, since events about them may still arrive. Pages that no event names (those that
    stand alone, unless `unique` events are switched on) take none.
    """

    def __init__(self) -> None:
        self._index = ""
        self._places: dict[str, _Place] = {}
        self._accounts: dict[str, _Account] = {}
        self._absorbed_by: dict[str, str] = {}

    def feed(self, event: CloudEvent[msgspec.Raw]) -> None:
        """Take in one event, of whatever type: other types, `contained` and `archived` change nothing.

        The first event of a later index takes the place of all that earlier ones have said.

        Raises:
            CorruptData: the data is not what the type promises; nothing was taken in.
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
        """Token of the latest index that was fed; empty before any, and for one without."""
        return self._index

    def clusters(self) -> dict[str, frozenset[str]]:
        """Ids of the living pages of every cluster of two or more, by surviving cluster id.

        Cost: all pages ever named are looked at.
        """
        members: defaultdict[str, set[str]] = defaultdict(set)
        for page_id in self._places:
            cluster_id = self.cluster_of(page_id)
            if cluster_id is not None:
                members[cluster_id].add(page_id)
        return {cluster_id: frozenset(ids) for cluster_id, ids in members.items() if len(ids) > 1}

    def cluster_of(self, page_id: str) -> str | None:
        """Id of the surviving cluster where the page is; None for a page gone, undecided or unheard of."""
        place = self._places.get(page_id)
        if place is None or place.cluster_id == _NOWHERE:
            return None
        return self._surviving(place.cluster_id)

    def representative(self, cluster_id: str) -> str | None:
        """Id of the page that speaks for a cluster, named by any id it ever had.

        None for a cluster unheard of, and while the page that spoke is known to have left but not yet who
        follows.
        """
        survivor_id = self._surviving(cluster_id)
        account = self._accounts.get(survivor_id)
        if account is None or self.cluster_of(account.page_id) != survivor_id:
            return None
        return account.page_id

    def is_deletable(self, page_id: str) -> bool:
        """Whether the page is declared duplicate: another one speaks for its cluster."""
        cluster_id = self.cluster_of(page_id)
        return cluster_id is not None and self.representative(cluster_id) not in (None, page_id)

    def deletable(self) -> frozenset[str]:
        """Ids of all pages that are declared duplicate. Cost: all pages ever named are looked at."""
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
        """The page speaks for the cluster, and so is in it."""
        self._put(page, cluster.id)
        account, survivor_id = _Account(cluster.epoch, page.id), self._surviving(cluster.id)
        self._accounts[survivor_id] = max(account, self._accounts.get(survivor_id, account))

    def _merge(self, survivor_id: str, absorbed_id: str) -> None:
        survivor_id, absorbed_id = self._surviving(survivor_id), self._surviving(absorbed_id)
        if survivor_id != absorbed_id:
            self._absorbed_by[absorbed_id] = survivor_id
            # Two clusters that absorbed the same one, as may happen before the loss of an index is noticed,
            # become one here, whose epochs were never compared.
            self._accounts[survivor_id] = max(self._accounts[survivor_id], self._accounts.pop(absorbed_id))

    def _surviving(self, cluster_id: str) -> str:
        """The end of the chain of merges, which is halved on the way: chains stay short."""
        while (nearer := self._absorbed_by.get(cluster_id)) is not None:
            self._absorbed_by[cluster_id] = self._absorbed_by.get(nearer, nearer)
            cluster_id = nearer
        return cluster_id
