"""Up to which record of each partition a subscription has read."""

from pathlib import Path
from sqlite3 import OperationalError

import pytest

from neardup_stream.subscriber import Effect, Subscription
from tests.events import unique
from tests.file_sizes import largest_file
from tests.subscriptions import read_event

TOPIC = "events"


def saved_offset(subscription: Subscription, path: Path) -> int | None:
    """Return the offset after a start again."""
    subscription.save()
    subscription.close()
    with Subscription(path) as again:
        return again.offset(TOPIC, 0)


def test_of_a_partition_that_was_never_read_there_is_no_offset(
    subscription: Subscription, path: Path
) -> None:
    subscription.read_to(TOPIC, 1, 4)

    assert saved_offset(subscription, path) is None


def test_a_record_that_is_no_event_is_not_read_again(subscription: Subscription, path: Path) -> None:
    subscription.skip(TOPIC, 0, 5)

    assert saved_offset(subscription, path) == 6


@pytest.mark.parametrize("position", [0, 7])
def test_a_position_without_any_event_is_saved(subscription: Subscription, path: Path, position: int) -> None:
    subscription.read_to(TOPIC, 0, position)

    assert saved_offset(subscription, path) == position


def test_an_earlier_position_changes_nothing(subscription: Subscription, path: Path) -> None:
    subscription.read_to(TOPIC, 0, 7)
    subscription.read_to(TOPIC, 0, 3)

    assert saved_offset(subscription, path) == 7


@pytest.mark.parametrize("count", [10, 3_000], ids=["at the end", "in the middle"])
def test_a_save_that_a_full_disk_ended_says_so_and_is_done_when_there_is_room(
    subscription: Subscription, path: Path, count: int
) -> None:
    for number in range(count):
        subscription.feed(read_event(unique(f"{number:01000d}", f"{number}.1", 1)), TOPIC, 0, number)

    with largest_file(path.stat().st_size):
        for _ in range(2):
            with pytest.raises(OperationalError, match="disk"):
                subscription.save()

    assert saved_offset(subscription, path) == count


def test_a_record_that_was_taken_in_before_changes_nothing_and_sets_no_offset_back(
    subscription: Subscription, path: Path
) -> None:
    subscription.feed(read_event(unique("a", "a.2", 2)), TOPIC, 0, 5)

    effect = subscription.feed(read_event(unique("a", "a.3", 3)), TOPIC, 0, 3)

    assert effect == Effect()
    assert subscription.fold.version_of("a") == 2
    assert saved_offset(subscription, path) == 6


@pytest.mark.parametrize(
    ("ends", "has_read"),
    [
        ({0: 7}, True),
        ({0: 8}, False),
        ({0: 7, 1: 1}, False),
        ({0: 7, 1: 0}, True),
        ({}, True),
    ],
)
def test_all_is_read_once_the_end_of_every_partition_is(
    subscription: Subscription, ends: dict[int, int], *, has_read: bool
) -> None:
    subscription.read_to(TOPIC, 0, 7)

    assert subscription.has_read({(TOPIC, number): end for number, end in ends.items()}) is has_read
