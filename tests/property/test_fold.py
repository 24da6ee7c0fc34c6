"""Laws of the fold: what a subscriber concludes is what happened.

The model below is the service without its parts: pages are judged, change, are forgotten and expire, one
after another, and each step returns the events it would send.
"""

from collections.abc import Iterator, Sequence
from itertools import count
from random import Random
from typing import Literal, NamedTuple, TypeVar

from hypothesis import given, settings
from hypothesis import strategies as st

from neardup_stream.events import EventData
from neardup_stream.fold import Fold
from neardup_stream.subscriber.fold import ClusterFold
from tests.events import (
    At,
    contained,
    delivered,
    duplicate,
    gone,
    merge,
    representative_changed,
    undecided,
    unique,
)

Each = TypeVar("Each")


class Step(NamedTuple):
    """One thing that happens.

    Attributes:
        kind: to judge is to see new content, whether the page was known or not.
        page_id: whom it happens to.
        matches: which pages' clusters a judged page matches.
        merges: whether it makes them one, or joins the oldest.
    """

    kind: Literal["judge", "shorten", "forget", "expire"]
    page_id: str
    matches: frozenset[str]
    merges: bool


class Cluster:
    """Living pages with their versions, the first decided first."""

    def __init__(self, cluster_id: str, page_id: str, version: int, rank: int) -> None:
        self.id = cluster_id
        self.epoch = 0
        self.members = [(rank, page_id, version)]

    def at(self) -> At:
        _, page_id, version = self.members[0]
        return At(self.id, self.epoch, page_id, version)

    def page_ids(self) -> frozenset[str]:
        return frozenset(page_id for _, page_id, _ in self.members)


class Model:
    """The truth.

    Attributes:
        expired: pages that left without an event, and have not returned.
    """

    def __init__(self, *, publishes_unique: bool) -> None:
        self.expired: set[str] = set()
        self._publishes_unique = publishes_unique
        self._versions: dict[str, int] = {}
        self._clusters: dict[str, Cluster] = {}
        self._places: dict[str, Cluster] = {}
        self._spoken_of: set[str] = set()
        self._ranks = count(1)

    def clusters(self) -> dict[str, frozenset[str]]:
        return {each.id: each.page_ids() for each in self._clusters.values() if len(each.members) > 1}

    def representatives(self) -> dict[str, str]:
        return {each.id: each.at().page_id for each in self._clusters.values() if len(each.members) > 1}

    def duplicates(self) -> set[str]:
        return {page_id for each in self._clusters.values() for _, page_id, _ in each.members[1:]}

    def do(self, step: Step) -> list[EventData]:
        act = {"judge": self._judge, "shorten": self._shorten, "forget": self._forget, "expire": self._expire}
        return list(act[step.kind](step))

    def _judge(self, step: Step) -> Iterator[EventData]:
        yield from self._leave(step.page_id, "changed")
        version = self._next_version(step.page_id)
        rank = next(self._ranks)
        matched = {self._places[other].id: self._places[other] for other in step.matches & set(self._places)}
        if not matched:
            yield from self._stand_alone(step.page_id, version, rank)
            return
        survivor, *others = sorted(matched.values(), key=lambda each: each.members[0])
        for absorbed in others if step.merges else ():
            yield self._merge(survivor, absorbed)
        survivor.members.append((rank, step.page_id, version))
        self._places[step.page_id] = survivor
        self._spoken_of |= survivor.page_ids()
        yield duplicate(step.page_id, survivor.at(), version)

    def _stand_alone(self, page_id: str, version: int, rank: int) -> Iterator[EventData]:
        own = Cluster(f"{page_id}.{version}", page_id, version, rank)
        self._clusters[own.id] = self._places[page_id] = own
        yield contained(page_id, version)
        if self._publishes_unique or page_id in self._spoken_of:
            yield unique(page_id, own.id, version)

    def _merge(self, survivor: Cluster, absorbed: Cluster) -> EventData:
        before = absorbed.at()
        survivor.epoch = max(survivor.epoch, absorbed.epoch) + 1
        survivor.members = sorted(survivor.members + absorbed.members)
        del self._clusters[absorbed.id]
        self._places |= dict.fromkeys(absorbed.page_ids(), survivor)
        return merge(survivor.at(), before)

    def _shorten(self, step: Step) -> Iterator[EventData]:
        yield from self._leave(step.page_id, "changed")
        version = self._next_version(step.page_id)
        if step.page_id in self._spoken_of:
            yield undecided(step.page_id, version)

    def _forget(self, step: Step) -> Iterator[EventData]:
        if step.page_id in self._versions:
            cluster = self._places.get(step.page_id)
            yield from self._leave(step.page_id, "gone")
            left = ("", 0) if cluster is None else (cluster.id, cluster.epoch)
            self._spoken_of.add(step.page_id)
            yield gone(step.page_id, self._next_version(step.page_id), left)

    def _expire(self, step: Step) -> Iterator[EventData]:
        cluster = self._places.get(step.page_id)
        if cluster is not None and (len(cluster.members) == 1 or cluster.at().page_id != step.page_id):
            yield from self._leave(step.page_id, "gone")
            self.expired.add(step.page_id)

    def _leave(self, page_id: str, reason: Literal["gone", "changed"]) -> Iterator[EventData]:
        cluster = self._places.pop(page_id, None)
        if cluster is None:
            return
        before = cluster.at()
        cluster.members = [each for each in cluster.members if each[1] != page_id]
        if not cluster.members:
            del self._clusters[cluster.id]
        elif before.page_id == page_id:
            cluster.epoch += 1
            yield representative_changed(cluster.at(), (page_id, before.version), reason)

    def _next_version(self, page_id: str) -> int:
        self.expired.discard(page_id)
        self._versions[page_id] = self._versions.get(page_id, 0) + 1
        return self._versions[page_id]


page_ids = st.sampled_from("abcdef")
steps = st.builds(
    Step,
    # Judged twice as often as the rest together: a page that was never decided has nothing to lose.
    kind=st.sampled_from(["judge"] * 6 + ["shorten", "forget", "expire"]),
    page_id=page_ids,
    matches=st.frozensets(page_ids, max_size=4),
    merges=st.booleans(),
)
histories = st.lists(steps, min_size=12, max_size=40)


def agree(fold: ClusterFold, model: Model) -> None:
    living = {cluster_id: ids - model.expired for cluster_id, ids in fold.clusters().items()}
    assert {cluster_id: ids for cluster_id, ids in living.items() if len(ids) > 1} == model.clusters()
    assert fold.deletable() - model.expired == model.duplicates()
    for cluster_id, page_id in model.representatives().items():
        assert fold.representative(cluster_id) == page_id
        assert model.clusters()[cluster_id] - fold.deletable() == {page_id}


def disordered(events: Sequence[Each], random: Random) -> list[Each]:
    """Return all of them, some more than once, in any order."""
    repeated = [*events, *random.choices(events, k=len(events) // 2)] if events else []
    random.shuffle(repeated)
    return repeated


@settings(max_examples=150)
@given(history=histories, publishes_unique=st.booleans(), random=st.randoms(use_true_random=False))
def test_in_any_order_and_with_repeats_the_events_add_up_to_what_happened(
    history: Sequence[Step], *, publishes_unique: bool, random: Random
) -> None:
    model, fold = Model(publishes_unique=publishes_unique), Fold()
    events = [event for step in history for event in model.do(step)]

    for event in disordered(events, random):
        fold.feed(delivered(event))

    agree(fold, model)


@settings(max_examples=150)
@given(history=histories, publishes_unique=st.booleans())
def test_fed_in_order_the_fold_is_never_behind(history: Sequence[Step], *, publishes_unique: bool) -> None:
    model, fold = Model(publishes_unique=publishes_unique), Fold()

    for step in history:
        for event in model.do(step):
            fold.feed(delivered(event))
        agree(fold, model)


@settings(max_examples=150)
@given(history=histories, random=st.randoms(use_true_random=False))
def test_from_half_of_the_events_no_cluster_may_be_deleted_as_a_whole(
    history: Sequence[Step], random: Random
) -> None:
    model, fold = Model(publishes_unique=False), Fold()
    events = [event for step in history for event in model.do(step)]

    for event in disordered(events, random):
        fold.feed(delivered(event))
        for cluster_id, members in fold.clusters().items():
            kept = members - fold.deletable()
            assert kept == members or kept == {fold.representative(cluster_id)}
