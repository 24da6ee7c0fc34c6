"""What becomes of deleted copies when an index is made anew, which names only what it has seen so far."""

from dataclasses import replace

import pytest

from neardup_stream.subscriber import Effect
from tests.events import At, contained, duplicate, gone, representative_changed, unique
from tests.subscriptions import read_event
from tests.unit.subscriber.acting import (
    COPIES,
    FIRST,
    LONG,
    DiskFullError,
    Subscriber,
    at_url,
    deleted,
    kinds,
    redirected,
)

LATER = "1"
OTHER = unique("other", "other.1")
URL = "https://a.example/copy"


@pytest.mark.parametrize("is_restarted", [False, True])
def test_deleted_copies_that_a_later_index_does_not_name_are_fetched_again_after_a_while(
    subscriber: Subscriber, *, is_restarted: bool
) -> None:
    deleted(subscriber)
    subscriber.pages.held.add("copy 1")

    at_once = subscriber.take([OTHER], LATER)
    if is_restarted:
        subscriber.start_again()
    later = subscriber.wait() + subscriber.wait()

    assert kinds(at_once, "fetch") == [("fetch", "other", "other")]
    assert sorted(later) == [("fetch", each, each) for each in COPIES if each != "copy 1"]


def test_a_deleted_copy_that_a_later_index_names_in_time_is_not_fetched(subscriber: Subscriber) -> None:
    deleted(subscriber)
    subscriber.take([OTHER], LATER)
    subscriber.now += LONG - 1

    subscriber.take([duplicate(each, FIRST) for each in COPIES], LATER)

    assert kinds(subscriber.wait(), "fetch") == []


def test_a_deleted_copy_that_a_later_index_named_and_whose_word_is_to_come_is_fetched(
    subscriber: Subscriber,
) -> None:
    deleted(subscriber)
    subscriber.take([OTHER], LATER)
    renamed = representative_changed(At("y", 2, "other"), ("copy 1", 1), "changed")

    subscriber.take([renamed, *(duplicate(each, FIRST) for each in COPIES if each != "copy 1")], LATER)

    assert kinds(subscriber.wait(), "fetch") == [("fetch", "copy 1", "copy 1")]


@pytest.mark.parametrize("is_restarted", [False, True])
@pytest.mark.parametrize("indexes", [("1",), ("1", "2")])
def test_a_page_that_a_later_index_does_not_name_keeps_its_address(
    subscriber: Subscriber, indexes: tuple[str, ...], *, is_restarted: bool
) -> None:
    subscriber.take([at_url(redirected("copy 1", "https://a.example/"), URL)])
    assert kinds(subscriber.wait(), "delete") == [("delete", "copy 1", "1")]

    asked = [act for index in indexes for act in subscriber.take([OTHER], index)]
    if is_restarted:
        subscriber.start_again()

    assert kinds(asked, "redirect")[0] == ("redirect", URL, "")
    assert ("redirect", "copy 1", "") not in asked
    assert subscriber.wait() == [("fetch", "copy 1", URL)]


def test_an_address_that_a_later_index_has_otherwise_is_not_kept(subscriber: Subscriber) -> None:
    subscriber.take([at_url(duplicate("copy 1", FIRST), URL)])
    subscriber.take([OTHER], LATER)
    subscriber.take([duplicate("copy 1", FIRST)], LATER)
    subscriber.start_again()

    assert subscriber.subscription.fold.url_of("copy 1") == "copy 1"


def test_a_page_that_was_forgotten_is_not_fetched_for_a_later_index(subscriber: Subscriber) -> None:
    subscriber.take([at_url(duplicate("copy 1", FIRST), URL)])
    subscriber.take([gone("copy 1", 2, ("x", 2))])

    subscriber.take([OTHER], LATER)

    assert kinds(subscriber.wait(), "fetch") == []
    assert subscriber.subscription.fold.url_of("copy 1") == "copy 1"


def test_the_address_of_a_page_that_was_forgotten_is_not_kept_for_a_later_index(
    subscriber: Subscriber,
) -> None:
    subscriber.take([at_url(duplicate("copy 1", FIRST), URL), at_url(gone("copy 1", 2, ("x", 2)), URL)])
    subscriber.take([OTHER], LATER)
    subscriber.start_again()

    assert subscriber.subscription.fold.url_of("copy 1") == "copy 1"


def test_an_event_that_concerns_no_cluster_begins_a_later_index_too(subscriber: Subscriber) -> None:
    deleted(subscriber)

    subscriber.take([contained("other")], LATER)

    assert subscriber.subscription.fold.index == LATER
    assert sorted(subscriber.wait()) == [("fetch", each, each) for each in COPIES]


def test_an_event_of_others_begins_no_index(subscriber: Subscriber) -> None:
    event = replace(read_event(OTHER), type="com.example.other", index="later")

    assert subscriber.subscription.fold.feed(event) == Effect()
    assert subscriber.subscription.fold.index == ""


def test_a_copy_is_fetched_though_acting_upon_the_later_index_failed(subscriber: Subscriber) -> None:
    deleted(subscriber)
    subscriber.pages.failing = ("redirect", "copy 1", "")
    with pytest.raises(DiskFullError):
        subscriber.take([OTHER], LATER)
    subscriber.pages.failing = None
    subscriber.start_again()
    subscriber.take(())

    assert ("fetch", "copy 1", "copy 1") in subscriber.wait()
