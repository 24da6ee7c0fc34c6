"""From which addresses a subscriber redirects, and where to."""

import pytest
from msgspec.structs import replace

from tests.events import gone, unique
from tests.unit.subscriber.acting import DiskFullError, Subscriber, at_url, kinds, redirected


def test_a_duplicate_with_another_address_is_redirected_from_there(subscriber: Subscriber) -> None:
    first = redirected("copy 1", "https://a.example/first")
    subscriber.take([at_url(first, "https://a.example/old")])

    moved = replace(first, page=replace(first.page, version=2, url="https://a.example/new"))
    asked = kinds(subscriber.take([moved]), "redirect")

    assert asked == [
        ("redirect", "https://a.example/old", ""),
        ("redirect", "https://a.example/new", "https://a.example/first"),
    ]


@pytest.mark.parametrize(
    ("url", "target"),
    [
        ("https://a.example/1", "https://a.example/1"),
        ("HTTP://a.example/1", "HTTP://a.example/1"),
        ("javascript:alert(1)", ""),
        (" javascript:alert(1)", ""),
        ("data:text/html,1", ""),
        ("//a.example/1", ""),
        ("http:a.example/1", ""),
        ("httpx://a.example/1", ""),
    ],
)
def test_no_page_is_redirected_to_what_is_no_web_address(
    subscriber: Subscriber, url: str, target: str
) -> None:
    asked = subscriber.take([redirected("copy 1", url)])

    assert {("mark", "copy 1", "first"), ("redirect", "copy 1", target)} <= set(asked)


@pytest.mark.parametrize("is_restarted", [False, True])
def test_the_address_that_was_redirected_is_released_though_the_page_has_another_one_now(
    subscriber: Subscriber, *, is_restarted: bool
) -> None:
    subscriber.take([at_url(redirected("copy 1", "https://a.example/first"), "https://a.example/old")])
    if is_restarted:
        subscriber.start_again()

    asked = subscriber.take([at_url(unique("copy 1", "copy 1.2", 2), "https://a.example/new")])
    later = subscriber.take([at_url(unique("copy 1", "copy 1.3", 3), "https://a.example/newer")])

    assert ("redirect", "https://a.example/old", "") in asked
    assert ("redirect", "https://a.example/old", "") not in later


def test_an_address_is_released_that_was_redirected_after_another_one(subscriber: Subscriber) -> None:
    first = redirected("copy 1", "https://a.example/first")
    moved = replace(first, page=replace(first.page, version=2))
    subscriber.take([at_url(first, "https://a.example/old")])
    subscriber.take([at_url(moved, "https://a.example/new")])

    asked = subscriber.take([at_url(unique("copy 1", "copy 1.3", 3), "https://a.example/newer")])

    assert kinds(asked, "redirect") == [
        ("redirect", "https://a.example/new", ""),
        ("redirect", "https://a.example/newer", ""),
    ]


def test_an_address_is_released_though_the_process_died_when_it_was_redirected(
    subscriber: Subscriber,
) -> None:
    target = "https://a.example/first"
    subscriber.pages.failing_after = ("redirect", "https://a.example/old", target)
    with pytest.raises(DiskFullError):
        subscriber.take([at_url(redirected("copy 1", target), "https://a.example/old")])
    subscriber.start_again()

    asked = subscriber.take([at_url(unique("copy 1", "copy 1.2", 2), "https://a.example/new")])

    assert ("redirect", "https://a.example/old", "") in asked


def test_the_address_of_a_duplicate_is_released_once_the_page_is_forgotten(subscriber: Subscriber) -> None:
    subscriber.take([redirected("copy 1", "https://a.example/first")])

    asked = subscriber.take([gone("copy 1", 2, ("x", 1))])

    assert kinds(asked, "redirect") == [("redirect", "copy 1", "")]


def test_no_address_is_redirected_to_itself(subscriber: Subscriber) -> None:
    address = "https://a.example/first"

    asked = subscriber.take([at_url(redirected("copy 1", address), address)])

    assert ("redirect", address, "") in asked
    assert ("redirect", address, address) not in asked
