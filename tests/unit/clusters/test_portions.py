"""Batches are cut into portions of bounded size."""

from collections.abc import Iterator, Sequence

from neardup_stream.clusters.portions import CELLS_AT_ONCE, REQUESTS_AT_ONCE, known_handles
from neardup_stream.clusters.portions import portions as cut
from neardup_stream.clusters.requests import PageVersion, PlaceRequest, QuietRequest, Request
from neardup_stream.match import Match
from neardup_stream.message import Partition, Position
from neardup_stream.page import Handle, PageId

PARTITION = Partition("pages", 0)


def node(number: int) -> PageVersion:
    return PageVersion(Handle(number), 1, PageId(str(number)), str(number))


def place(number: int, matched: range) -> PlaceRequest:
    """Return a page that matches some others."""
    matches = tuple(
        Match(Handle(each), PageId(str(each)), str(each), 1, 0, "exact", rank=1) for each in matched
    )
    return PlaceRequest(Position(PARTITION, number), node(number), matches)


def portions(requests: Sequence[Request]) -> Iterator[list[Request]]:
    """As they are cut where clusters are kept."""
    return cut(requests, known_handles)


def test_a_batch_of_pages_without_matches_is_one_portion() -> None:
    requests = [place(number, range(0)) for number in range(REQUESTS_AT_ONCE)]

    assert list(portions(requests)) == [requests]
    assert list(portions([])) == []


def test_a_portion_has_so_many_requests() -> None:
    requests = [QuietRequest(Position(PARTITION, number)) for number in range(2 * REQUESTS_AT_ONCE + 1)]

    assert [len(each) for each in portions(requests)] == [REQUESTS_AT_ONCE, REQUESTS_AT_ONCE, 1]


def test_a_portion_names_so_many_pages() -> None:
    matched = CELLS_AT_ONCE // 2 - 1
    requests = [place(number, range(10**6 * number, 10**6 * number + matched)) for number in range(1, 6)]

    assert [len(each) for each in portions(requests)] == [2, 2, 1]
    assert [request for each in portions(requests) for request in each] == requests


def test_pages_that_several_requests_name_count_once() -> None:
    requests = [place(number, range(10**6, 10**6 + 1000)) for number in range(1, 201)]

    assert list(portions(requests)) == [requests]


def test_a_request_that_names_more_is_a_portion_of_its_own() -> None:
    large = place(1, range(10, 10 + 2 * CELLS_AT_ONCE))
    requests = [place(2, range(0)), large, place(3, range(0))]

    assert [len(each) for each in portions(requests)] == [1, 1, 1]
