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
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from .facts import NOWHERE, Fact, Merged, Named, Put

__all__ = ["Account", "ClusterFold", "Knowledge", "Place"]


class Place(NamedTuple):
    """Where one version of a page is; of two places the greater one holds.

    Attributes:
        version: of the page.
        has_left: it was the representative of a cluster, and is known to have left it.
        is_gone: it was forgotten.
        cluster_id: as the event has it, perhaps absorbed since; `NOWHERE` for no cluster.
    """

    version: int
    has_left: bool
    is_gone: bool
    cluster_id: str


class Account(NamedTuple):
    """The representative of a cluster at an epoch; of two accounts the greater one holds."""

    epoch: int
    page_id: str


@dataclass(slots=True)
class Knowledge:
    """Everything that a fold knows.

    Attributes:
        index: token of the latest index; empty before any, and for one without.
        places: by page id.
        accounts: by surviving cluster id.
        absorbed_by: the survivor of each absorbed cluster, which may be absorbed itself.
        urls: of the version in `places`, by page id, where the URL is not the id; of a page that no event of
            the latest index names, as the earlier ones had it.
    """

    index: str = ""
    places: dict[str, Place] = field(default_factory=dict)
    accounts: dict[str, Account] = field(default_factory=dict)
    absorbed_by: dict[str, str] = field(default_factory=dict)
    urls: dict[str, str] = field(default_factory=dict)


class ClusterFold:
    """The clusters that the events of one namespace describe, and which pages may be deleted.

    Feed it every event of the topic, in any order, each at least once. After the last event:

    - the clusters are those of the store, plus members that expired: expiry publishes no event;

    - each of them has exactly one living page that may not be deleted, its representative.

    Before that the fold is stale but safe: a page may be deleted only while another page, which has not left
    according to the events so far, is the representative of its cluster.

    Memory: an entry for every page id and every cluster id in any event, including forgotten pages and
    absorbed clusters, because events about them may still arrive. Pages without events (unique ones, unless
    `unique` events are switched on) take none.

    Args:
        knowledge: of an earlier fold, to go on from; it is changed in place.
    """

    def __init__(self, knowledge: Knowledge | None = None) -> None:
        self.knowledge = knowledge or Knowledge()

    def take_in(self, facts: Sequence[Fact], index: str) -> None:
        """Take in what one event adds.

        The first event of a later index takes the place of all that earlier ones have said, also one without
        facts.

        Args:
            facts: of the event, as `facts_of` returns them.
            index: token of the event's index, empty for none.
        """
        if index < self.index:
            return
        if index > self.index:
            self.begin(index)
        for fact in facts:
            match fact:
                case Put():
                    self._put(fact)
                case Named():
                    self._name(fact)
                case Merged():
                    self._merge(fact)

    @property
    def index(self) -> str:
        """Token of the latest index that was fed; empty before any, and for one without."""
        return self.knowledge.index

    def url_of(self, page_id: str) -> str:
        """Return the address of a page as the latest event has it; the id of a page that no event names."""
        return self.knowledge.urls.get(page_id, page_id)

    def clusters(self) -> dict[str, frozenset[str]]:
        """Return the ids of the living pages of every cluster of two or more, by surviving cluster id.

        Cost: all pages ever named are looked at.
        """
        members: defaultdict[str, set[str]] = defaultdict(set)
        for page_id in self.knowledge.places:
            cluster_id = self.cluster_of(page_id)
            if cluster_id is not None:
                members[cluster_id].add(page_id)
        return {cluster_id: frozenset(ids) for cluster_id, ids in members.items() if len(ids) > 1}

    def cluster_of(self, page_id: str) -> str | None:
        """Return the id of the surviving cluster of a page; None for one gone, undecided or not known."""
        place = self.knowledge.places.get(page_id)
        if place is None or place.cluster_id == NOWHERE:
            return None
        return self.survivor_of(place.cluster_id)

    def representative(self, cluster_id: str) -> str | None:
        """Return the id of the representative of a cluster, by any id it ever had.

        None for a cluster that is not known, and while the representative is known to have left but not yet
        which page follows.
        """
        survivor_id = self.survivor_of(cluster_id)
        account = self.knowledge.accounts.get(survivor_id)
        if account is None or self.cluster_of(account.page_id) != survivor_id:
            return None
        return account.page_id

    def survivor_of(self, cluster_id: str) -> str:
        """Return the end of the chain of merges, which is halved on the way: chains stay short."""
        absorbed_by = self.knowledge.absorbed_by
        while (nearer := absorbed_by.get(cluster_id)) is not None:
            absorbed_by[cluster_id] = absorbed_by.get(nearer, nearer)
            cluster_id = nearer
        return cluster_id

    def version_of(self, page_id: str) -> int:
        """Return the highest version of a page in any event of the latest index; 0 for a page in none."""
        place = self.knowledge.places.get(page_id)
        return 0 if place is None else place.version

    def is_needed(self, page_id: str) -> bool:
        """Return whether no other page stands for the page: it is a representative, or undecided.

        False for a page that is not known, and while an event that decides it is still to come.
        """
        place = self.knowledge.places.get(page_id)
        cluster_id = self.cluster_of(page_id)
        if cluster_id is not None:
            return self.representative(cluster_id) == page_id
        return place is not None and not (place.has_left or place.is_gone)

    def is_deletable(self, page_id: str) -> bool:
        """Return whether the page is declared duplicate: another one is the representative of its cluster."""
        cluster_id = self.cluster_of(page_id)
        return cluster_id is not None and self.representative(cluster_id) not in (None, page_id)

    def deletable(self) -> frozenset[str]:
        """Return the ids of all pages that are declared duplicate.

        Cost: all pages ever named are looked at.
        """
        return frozenset(filter(self.is_deletable, self.knowledge.places))

    def begin(self, index: str) -> None:
        """Forget all that earlier indexes have said, but for the addresses of pages that are not gone."""
        places = self.knowledge.places
        urls = {
            page_id: url
            for page_id, url in self.knowledge.urls.items()
            if page_id not in places or not places[page_id].is_gone
        }
        self.knowledge = Knowledge(index, urls=urls)

    def _put(self, fact: Put) -> None:
        page, knowledge = fact.page, self.knowledge
        place = Place(page.version, fact.has_left, fact.is_gone, fact.cluster_id)
        known = knowledge.places.get(page.id)
        if known is None or place > known:
            knowledge.places[page.id] = place
        if known is None or page.version > known.version:
            self._set_url(page.id, page.url)
        elif page.version == known.version:
            self._set_url(page.id, max(page.url, self.url_of(page.id)))

    def _set_url(self, page_id: str, url: str) -> None:
        if url != page_id:
            self.knowledge.urls[page_id] = url
        else:
            self.knowledge.urls.pop(page_id, None)

    def _name(self, fact: Named) -> None:
        self._put(Put(fact.page, fact.cluster_id))
        account, survivor_id = Account(fact.epoch, fact.page.id), self.survivor_of(fact.cluster_id)
        accounts = self.knowledge.accounts
        accounts[survivor_id] = max(account, accounts.get(survivor_id, account))

    def _merge(self, fact: Merged) -> None:
        survivor_id, absorbed_id = self.survivor_of(fact.survivor_id), self.survivor_of(fact.absorbed_id)
        if survivor_id != absorbed_id:
            self.knowledge.absorbed_by[absorbed_id] = survivor_id
            # Two clusters that absorbed the same one, as may happen before the loss of an index is noticed,
            # become one here, whose epochs were never compared.
            accounts = self.knowledge.accounts
            accounts[survivor_id] = max(accounts[survivor_id], accounts.pop(absorbed_id))
