"""Laws of the subscriber kit: what changed, what is kept through crashes, and what is never deleted."""

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from neardup_stream.subscriber import Actions, CloudEvent, Fold, PageStatus, Subscription
from neardup_stream.subscriber.facts import facts_of
from neardup_stream.subscriber.fold import ClusterFold
from tests.property.test_fold import Model, Step, agree, disordered, histories
from tests.subscriptions import read_event, read_events

randoms = st.integers(0, 1 << 32).map(Random)
TOPIC = "events"


def published(history: Sequence[Step], random: Random, *, new_index: bool = False) -> list[CloudEvent]:
    """The events of a history out of order and with repeats; of two indexes, one made after the other."""
    model = Model(publishes_unique=False)
    events = disordered(
        read_events(event for step in history for event in model.do(step)),
        random,
    )
    if not new_index:
        return events
    again = Model(publishes_unique=False)
    later = [read_event(event, index="1") for step in history[::-1] for event in again.do(step)]
    mixed = [*events, *later]
    random.shuffle(mixed)
    return mixed


@contextmanager
def state_file() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="neardup-subscription-") as directory:
        yield Path(directory, "state.sqlite")


def statuses(fold: Fold) -> dict[str, PageStatus]:
    return {page_id: fold.status(page_id) for page_id in "abcdef"}


@settings(max_examples=100)
@given(history=histories, random=randoms, new_index=st.booleans())
def test_the_changes_of_all_events_are_what_became_of_every_page(
    history: Sequence[Step], random: Random, *, new_index: bool
) -> None:
    fold, plain = Fold(), ClusterFold()
    followed = dict.fromkeys("abcdef", PageStatus())
    for event in published(history, random, new_index=new_index):
        for page_id, before, after in fold.feed(event).changes:
            assert followed[page_id] == before != after
            followed[page_id] = after
        assert followed == statuses(fold)
        plain.take_in(facts_of(event.type, event.data), event.index)
        assert (fold.clusters(), fold.deletable()) == (plain.clusters(), plain.deletable())


@settings(max_examples=100)
@given(history=histories, random=randoms)
def test_an_event_that_came_before_changes_nothing(history: Sequence[Step], random: Random) -> None:
    fold, seen = Fold(), set[tuple[str, str]]()
    for event in published(history, random):
        effect = fold.feed(event)
        assert not (effect.changes and (event.source, event.id) in seen)
        seen.add((event.source, event.id))


@settings(max_examples=30)
@given(history=histories, random=randoms, new_index=st.booleans())
def test_a_subscription_that_dies_and_starts_again_knows_what_one_that_went_on_knows(
    history: Sequence[Step], random: Random, *, new_index: bool
) -> None:
    """It also acts until every page has its status; an act may be repeated, and is never left out."""
    events = published(history, random, new_index=new_index)
    whole = Fold()
    for event in events:
        whole.feed(event)
    acted = dict.fromkeys("abcdef", PageStatus())
    with state_file() as path:
        is_over = False
        while not is_over:
            with Subscription(path) as subscription:
                for number in range(subscription.offset(TOPIC, 0) or 0, len(events)):
                    subscription.feed(events[number], TOPIC, 0, number)
                    if random.random() < 0.4:
                        subscription.save()
                    for change in subscription.due()[: random.randrange(3)]:
                        acted[change.page_id] = change.after
                        subscription.done(change)
                    if random.random() < 0.1:
                        break  # dies
                else:
                    subscription.save()
                    for change in subscription.due():
                        acted[change.page_id] = change.after
                        subscription.done(change)
                    subscription.save()
                    is_over = True
        with Subscription(path) as subscription:
            assert subscription.offset(TOPIC, 0) == (len(events) or None)
            assert subscription.due() == ()
            assert statuses(subscription.fold) == statuses(whole) == acted
            assert subscription.fold.clusters() == whole.clusters()


class Shelf:
    """Pages that a subscriber holds; what it does to them."""

    def __init__(self) -> None:
        self.held = set("abcdef")
        self.canonical: dict[str, str | None] = {}
        self.redirects: dict[str, str | None] = {}

    def has(self, page_id: str) -> bool:
        return page_id in self.held

    def mark_canonical(self, page_id: str, canonical_id: str | None) -> None:
        self.canonical[page_id] = canonical_id

    def redirect(self, url: str, canonical_url: str | None) -> None:
        self.redirects[url] = canonical_url

    def delete(self, page_id: str, version: int) -> None:
        assert version > 0
        self.held.discard(page_id)

    def forget(self, page_id: str, version: int) -> None:
        assert version > 0
        self.held.discard(page_id)

    def fetch(self, page_id: str, url: str) -> None:
        assert page_id == url
        self.held.add(page_id)


def acting(subscription: Subscription, shelf: Shelf, events: Sequence[CloudEvent]) -> Iterator[None]:
    """Act after each event, and yield; in the end until nothing is due any more."""
    now = 0.0
    actions = Actions(subscription, shelf, delete_after_seconds=2, clock=lambda: now)
    for number, event in enumerate(events):
        subscription.feed(event, TOPIC, 0, number)
        now += 1
        actions.act({(TOPIC, 0): number + 1})
        yield
    now += 100
    for _ in range(3):
        actions.act({(TOPIC, 0): len(events)})


@settings(max_examples=60)
@given(history=histories, random=randoms)
def test_after_a_later_index_every_page_is_held_that_is_no_duplicate_there_and_was_not_forgotten(
    history: Sequence[Step], random: Random
) -> None:
    events = published(history, random, new_index=True)
    shelf = Shelf()
    forgotten = {event.subject for event in events if event.type == "io.neardup.gone.v1"}
    with state_file() as path, Subscription(path) as subscription:
        for _ in acting(subscription, shelf, events):
            pass
        assert set("abcdef") - shelf.held <= subscription.fold.deletable() | forgotten


@settings(max_examples=60)
@given(history=histories, random=randoms)
def test_the_last_copy_of_a_text_is_never_deleted_and_in_the_end_all_others_are(
    history: Sequence[Step], random: Random
) -> None:
    model = Model(publishes_unique=False)
    events = disordered(read_events(event for step in history for event in model.do(step)), random)
    shelf = Shelf()
    forgotten = {event.subject for event in events if event.type == "io.neardup.gone.v1"}
    with state_file() as path, Subscription(path) as subscription:
        for _ in acting(subscription, shelf, events):
            for cluster_id, members in subscription.fold.clusters().items():
                if subscription.fold.representative(cluster_id) and not members & forgotten:
                    assert members & shelf.held
        fold = subscription.fold
        agree(fold, model)
        for members in model.clusters().values():
            assert members & shelf.held == members - fold.deletable()
        for page_id in "abcdef":
            kept = fold.status(page_id).duplicate_of
            assert shelf.redirects.get(page_id) is None  # their URLs are no addresses
            assert shelf.canonical.get(page_id) == kept or fold.status(page_id).is_gone
