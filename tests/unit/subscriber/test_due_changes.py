"""Which changes are due, and from which status."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from neardup_stream.events import EventData
from neardup_stream.subscriber import PageStatus, Subscription
from tests.events import At, duplicate, gone, undecided, unique
from tests.subscriptions import read_event

COPY = PageStatus(cluster_id="x", duplicate_of="first")
GONE = PageStatus(is_gone=True)
NEEDED = PageStatus(is_needed=True)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state.sqlite"


@pytest.fixture
def subscription(path: Path) -> Iterator[Subscription]:
    with Subscription(path) as opened:
        yield opened


def feed(subscription: Subscription, *events: EventData) -> None:
    for event in events:
        offset = subscription.offset("events", 0) or 0
        subscription.feed(read_event(event, event_id=str(offset)), "events", 0, offset)


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
    feed(subscription, event)
    subscription.save()
    for change in subscription.due():
        subscription.done(change)
    feed(subscription, undecided("page", 3), unique("page", "page.4", 4))
    subscription.save()
    if is_restarted:
        subscription.close()
        subscription = Subscription(path)

    assert due(subscription) == [(status, PageStatus(cluster_id="page.4", is_needed=True))]
    subscription.close()
