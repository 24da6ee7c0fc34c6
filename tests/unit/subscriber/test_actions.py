"""What a subscriber's pages are asked to do, event by event."""

import pytest

from neardup_stream.events import EventData
from neardup_stream.subscriber import Actions
from tests.events import duplicate, gone, representative_changed, undecided, unique
from tests.subscriptions import read_event
from tests.unit.subscriber.acting import COPIES, FIRST, LONG, NEXT, DiskFullError, Subscriber, deleted, kinds


def test_a_copy_is_deleted_with_the_version_that_is_a_duplicate(subscriber: Subscriber) -> None:
    subscriber.take([duplicate("copy 1", FIRST, version=3)])
    subscriber.take([duplicate("copy 1", FIRST, version=4)])

    assert subscriber.wait() == [("delete", "copy 1", "4")]


@pytest.mark.parametrize(
    "later", [duplicate("copy 1", FIRST, version=4), representative_changed(NEXT, ("first", 1))]
)
def test_the_delay_begins_anew_for_a_later_version_and_for_another_representative(
    subscriber: Subscriber, later: EventData
) -> None:
    subscriber.take([duplicate("copy 0", FIRST), duplicate("copy 1", FIRST, version=3)])
    subscriber.now += LONG - 1
    subscriber.take([later])
    subscriber.now += LONG - 1
    early = subscriber.take(()) + subscriber.take(())

    assert ("delete", "copy 1") not in {act[:2] for act in early}
    assert ("delete", "copy 1") in {act[:2] for act in subscriber.wait()}


@pytest.mark.parametrize("is_restarted", [False, True])
def test_a_later_version_of_a_deleted_copy_is_deleted_too(
    subscriber: Subscriber, *, is_restarted: bool
) -> None:
    deleted(subscriber)
    subscriber.pages.held.add("copy 1")  # the crawler stored its new text
    if is_restarted:
        subscriber.start_again()

    subscriber.take([duplicate("copy 1", FIRST, version=4)])

    assert subscriber.wait() == [("delete", "copy 1", "4")]
    assert subscriber.wait() == []


@pytest.mark.parametrize(
    "between", [unique("copy 1", "c.4", 4), gone("copy 1", 4, ("c", 4)), undecided("copy 1", 4)]
)
def test_a_deleted_copy_that_left_and_is_one_again_is_deleted_again(
    subscriber: Subscriber, between: EventData
) -> None:
    deleted(subscriber)
    subscriber.pages.held.add("copy 1")

    subscriber.take([between, duplicate("copy 1", FIRST, version=5)])

    assert subscriber.wait() == [("delete", "copy 1", "5")]


def test_a_version_that_comes_while_the_former_one_is_acted_upon_is_due_after_it(
    subscriber: Subscriber,
) -> None:
    deleted(subscriber)
    subscription = subscriber.subscription
    for offset, version in ((1_000, 4), (1_001, 5)):
        event = read_event(duplicate("copy 1", FIRST, version=version), event_id=str(offset))
        subscription.feed(event, "events", 0, offset)
        if version == 4:
            subscription.save()
            (change,) = subscription.due()
    subscription.done(change)
    subscription.save()

    assert [each.page_id for each in subscription.due()] == ["copy 1"]


def test_a_later_version_of_a_page_that_stays_is_not_acted_upon(subscriber: Subscriber) -> None:
    subscriber.take([duplicate("copy 1", FIRST), unique("first", "x", 2)])

    assert subscriber.take([unique("first", "x", 3)]) == []


@pytest.mark.parametrize("leaving", [gone("first", 2, ("x", 2)), unique("first", "first.2", 2)])
def test_only_the_next_representative_is_fetched_again_whichever_event_comes_first(
    subscriber: Subscriber, leaving: EventData
) -> None:
    deleted(subscriber)

    waiting = subscriber.take([leaving])
    following = subscriber.take([representative_changed(NEXT, ("first", 1))])

    assert {act[2] for act in kinds(waiting, "mark") + kinds(waiting, "redirect")} == {""}
    assert kinds([*waiting, *following], "fetch") == [("fetch", COPIES[0], COPIES[0])]
    assert sorted(kinds(following, "mark")) == [
        ("mark", each, "" if each == COPIES[0] else COPIES[0]) for each in COPIES
    ]


def test_after_a_downtime_no_copy_is_deleted_before_the_events_are_read_that_were_published_meanwhile(
    subscriber: Subscriber,
) -> None:
    subscriber.take([duplicate(COPIES[0], FIRST)])
    subscriber.start_again()
    subscriber.now += 10 * LONG

    for _ in range(3):
        subscriber.act(end=2)  # the first poll returned nothing
        assert subscriber.pages.held == {"first", *COPIES}
    following = subscriber.take([representative_changed(NEXT, ("first", 1))])

    assert subscriber.pages.held == {"first", *COPIES}
    assert kinds([*following, *subscriber.wait()], "delete") == []


def test_after_a_jump_of_the_clock_no_copy_is_deleted_for_an_end_that_was_asked_for_before(
    subscriber: Subscriber,
) -> None:
    subscriber.take([duplicate(COPIES[0], FIRST)])
    subscriber.act(end=2)
    subscriber.now += 10 * LONG

    assert kinds(subscriber.take([unique("other", "other.1")]), "delete") == []


def test_after_a_pause_no_copy_is_deleted_for_an_end_that_was_asked_for_before_it(
    subscriber: Subscriber,
) -> None:
    subscriber.take([duplicate(COPIES[0], FIRST)])
    subscriber.now += 10 * LONG

    subscriber.act(end=1)

    assert subscriber.pages.held == {"first", *COPIES}


def test_a_copy_is_deleted_in_the_end_though_the_topic_is_ahead_at_every_call(subscriber: Subscriber) -> None:
    subscriber.take([duplicate("copy 1", FIRST)])
    subscriber.now += LONG
    for number in range(4):
        other = read_event(unique("other", f"other.{number}", number), event_id=f"other {number}")
        subscriber.subscription.feed(other, "events", 0, 1 + number)
        subscriber.act(end=3 + number)

    assert "copy 1" not in subscriber.pages.held


def test_a_copy_is_deleted_though_the_topic_lost_records_that_were_waited_for(subscriber: Subscriber) -> None:
    subscriber.take([duplicate("copy 1", FIRST)])
    subscriber.act(end=9)

    assert kinds(subscriber.wait() + subscriber.take(()), "delete") == [("delete", "copy 1", "1")]


def test_without_any_end_no_copy_is_deleted(subscriber: Subscriber) -> None:
    subscriber.take([duplicate("copy 1", FIRST)])
    subscriber.now += LONG
    for _ in range(3):
        subscriber.actions.act({})

    assert subscriber.pages.held == {"first", *COPIES}


def test_pages_of_a_cluster_without_a_known_representative_are_not_deleted(subscriber: Subscriber) -> None:
    subscriber.take(duplicate(each, FIRST) for each in COPIES)
    subscriber.take([gone("first", 2, ("x", 2))])

    assert subscriber.wait() == []
    subscriber.take([representative_changed(NEXT, ("first", 1))])
    assert len(kinds(subscriber.wait(), "delete")) == len(COPIES) - 1


def test_deleted_pages_of_a_cluster_that_is_given_no_representative_are_fetched_again(
    subscriber: Subscriber,
) -> None:
    """They have expired: no event says so, and none follows until they are crawled."""
    deleted(subscriber)
    subscriber.pages.held.add("copy 1")

    waiting = subscriber.take([unique("first", "first.2", 2)])
    later = subscriber.wait()

    assert kinds(waiting, "fetch") == []
    assert sorted(later) == [("fetch", each, each) for each in COPIES if each != "copy 1"]
    assert subscriber.wait() == []


def test_a_deleted_page_whose_new_text_is_too_short_is_fetched_again_once(subscriber: Subscriber) -> None:
    deleted(subscriber)

    asked = subscriber.take([undecided("copy 1", 4)])

    assert asked == [
        ("mark", "copy 1", ""),
        ("redirect", "copy 1", ""),
        ("fetch", "copy 1", "copy 1"),
    ]
    assert subscriber.take([undecided("copy 1", 4)]) == []


def test_a_page_is_forgotten_with_the_version_of_the_forgetting(subscriber: Subscriber) -> None:
    subscriber.take([duplicate("copy 1", FIRST, version=3)])

    asked = subscriber.take([gone("copy 1", 4, ("x", 2))])

    assert kinds(asked, "forget") == [("forget", "copy 1", "4")]


def test_a_representative_that_left_is_not_fetched_before_its_own_event_comes(subscriber: Subscriber) -> None:
    deleted(subscriber)
    subscriber.pages.held.remove("first")

    subscriber.take([representative_changed(NEXT, ("first", 1))])

    assert not subscriber.pages.has("first")


@pytest.mark.parametrize("is_restarted", [False, True])
def test_a_page_at_which_a_method_failed_is_acted_upon_again_though_its_status_changed_back(
    subscriber: Subscriber, *, is_restarted: bool
) -> None:
    subscriber.pages.failing = ("redirect", "copy 1", "")
    with pytest.raises(DiskFullError):
        subscriber.take([duplicate("copy 1", FIRST), duplicate("copy 2", FIRST)])
    assert subscriber.pages.asked[-1] == ("mark", "copy 1", "first")
    subscriber.pages.failing = None
    if is_restarted:
        subscriber.start_again()

    asked = subscriber.take([undecided("copy 1", 2)])

    assert {("mark", "copy 1", ""), ("mark", "copy 2", "first")} <= set(asked)
    assert subscriber.take(()) == []


def test_a_failed_method_is_called_again_at_the_next_time_and_those_before_it_are_not(
    subscriber: Subscriber,
) -> None:
    subscriber.pages.failing = ("mark", "copy 2", "first")
    with pytest.raises(DiskFullError):
        subscriber.take([duplicate("copy 1", FIRST), duplicate("copy 2", FIRST)])
    subscriber.pages.failing = None

    assert kinds(subscriber.take(()), "mark") == [("mark", "copy 2", "first")]


def test_while_the_representative_is_not_held_it_is_fetched_once_in_a_while_and_no_copy_is_deleted(
    subscriber: Subscriber,
) -> None:
    subscriber.take(duplicate(each, FIRST, version=3) for each in COPIES)
    for _ in range(2):  # the request was lost
        subscriber.pages.held.remove("first")
        subscriber.pages.looked_for.clear()

        assert subscriber.wait() == [("fetch", "first", "first")]
        assert subscriber.take(()) == subscriber.take(()) == []
        assert subscriber.pages.looked_for == ["first"]
        assert subscriber.pages.held == {"first", *COPIES}

    assert sorted(kinds(subscriber.wait(), "delete")) == [("delete", each, "3") for each in COPIES]


@pytest.mark.parametrize(("delete_after", "put_off"), [(10.0, 60.0), (100.0, 100.0)])
def test_a_missing_representative_is_looked_for_again_after_the_delay_or_a_minute_if_that_is_longer(
    subscriber: Subscriber, delete_after: float, put_off: float
) -> None:
    subscriber.actions = Actions(
        subscriber.subscription, subscriber.pages, delete_after, clock=lambda: subscriber.now
    )
    subscriber.take([duplicate("copy 1", FIRST)])
    subscriber.pages.held.remove("first")
    looked_for = []
    for seconds in (delete_after, put_off - 1, 1):
        subscriber.now += seconds
        subscriber.pages.looked_for.clear()
        subscriber.take(())
        subscriber.take(())
        looked_for.append(list(subscriber.pages.looked_for))
        subscriber.pages.held.discard("first")  # the request was lost

    assert looked_for == [["first"], [], ["first"]]


def test_what_was_acted_upon_is_not_acted_upon_after_a_start_again(subscriber: Subscriber) -> None:
    assert subscriber.take([duplicate("copy 1", FIRST)]) != []
    subscriber.start_again()

    assert subscriber.take(()) == []
