"""Which changes are due, and from which status."""

from pathlib import Path

import pytest

from neardup_stream.events import EventData
from neardup_stream.subscriber import PageStatus, Subscription
from tests.events import At, duplicate, gone, merge, undecided, unique
from tests.subscriptions import read_event

COPY = PageStatus(cluster_id="x", duplicate_of="first")
GONE = PageStatus(is_gone=True)
NEEDED = PageStatus(is_needed=True)


def feed(subscription: Subscription, *events: EventData) -> None:
    for event in events:
        offset = subscription.offset("events", 0) or 0
        subscription.feed(read_event(event, event_id=str(offset)), "events", 0, offset)


def acted_upon(subscription: Subscription, *events: EventData) -> None:
    feed(subscription, *events)
    subscription.save()
    for change in subscription.due():
        subscription.done(change)
    subscription.save()


def due(subscription: Subscription) -> list[tuple[PageStatus, PageStatus]]:
    """Return the statuses before and after of the page that is due."""
    return [(before, after) for page_id, before, after in subscription.due() if page_id == "page"]


def test_nothing_is_due_before_it_is_saved(subscription: Subscription) -> None:
    feed(subscription, undecided("page"))
    assert due(subscription) == []

    subscription.save()

    assert due(subscription) == [(PageStatus(), NEEDED)]


@pytest.mark.parametrize("is_restarted", [False, True])
@pytest.mark.parametrize(
    ("event", "status"),
    [
        (duplicate("page", At("x", 1, "first"), version=2), COPY),
        (gone("page", 2, ("x", 1)), GONE),
        (undecided("page", 2), NEEDED),
    ],
    ids=["copy", "gone", "needed"],
)
def test_a_change_is_due_from_the_status_that_was_acted_upon(
    path: Path, event: EventData, status: PageStatus, *, is_restarted: bool
) -> None:
    subscription = Subscription(path)
    acted_upon(subscription, event)
    feed(subscription, undecided("page", 3), unique("page", "page.4", 4))
    subscription.save()
    if is_restarted:
        subscription.close()
        subscription = Subscription(path)

    assert due(subscription) == [(status, PageStatus(cluster_id="page.4", is_needed=True))]
    subscription.close()


@pytest.mark.parametrize("is_restarted", [False, True])
def test_a_page_that_was_due_and_changed_back_is_due_until_it_is_done(
    path: Path, *, is_restarted: bool
) -> None:
    subscription = Subscription(path)
    acted_upon(subscription, undecided("page"))
    feed(subscription, duplicate("page", At("x", 1, "first"), version=2))
    subscription.save()
    assert due(subscription) == [(NEEDED, COPY)]
    if is_restarted:
        subscription.close()
        subscription = Subscription(path)

    feed(subscription, undecided("page", 3))
    subscription.save()

    assert due(subscription) == [(NEEDED, NEEDED)]
    subscription.close()


def test_a_page_that_changed_while_it_was_acted_upon_and_then_back_is_due(subscription: Subscription) -> None:
    acted_upon(subscription, undecided("page"))
    feed(subscription, duplicate("page", At("x", 1, "first"), version=2))
    subscription.save()
    changes = subscription.due()
    feed(subscription, gone("page", 3, ("x", 2)))
    for change in changes:
        subscription.done(change)
    feed(subscription, undecided("page", 4))
    subscription.save()

    assert due(subscription) == [(COPY, NEEDED)]


def test_a_merge_is_kept_though_an_event_of_the_absorbed_cluster_comes_late(path: Path) -> None:
    with Subscription(path) as before:
        feed(before, merge(At("A", 5, "a"), At("B", 1, "b")), duplicate("page", At("B", 1, "b")))
        before.save()

    with Subscription(path) as after:
        assert after.fold.clusters() == {"A": {"a", "b", "page"}}
        assert after.fold.representative("B") == "a"
