"""What `recover` takes subscribers to hold, of events of several indexes."""

from collections.abc import Sequence
from itertools import permutations

from neardup_daemon.inspect.published_pages import PublishedPages

from neardup_stream.events import EventData
from neardup_stream.message import Partition, Position, Record
from neardup_stream.wire.events import to_message
from tests.events import At, contained, duplicate, gone, undecided, unique
from tests.subscriptions import written_event

FORMER = (duplicate("b", At("A", 1, "a")), duplicate("c", At("A", 2, "a")), duplicate("d", At("A", 3, "a")))
"""`a` to `d` are one cluster."""


def records(events: Sequence[tuple[str, EventData]]) -> list[Record]:
    """Those of the events topic; each event is of an index."""
    messages = [to_message(written_event(data, index)) for index, data in events]
    return [
        Record(
            position=Position(Partition("events", 0), offset),
            key=message.key,
            value=message.value,
            headers=message.headers,
        )
        for offset, message in enumerate(messages)
    ]


def published(*events: tuple[str, EventData]) -> PublishedPages:
    pages = PublishedPages("nd")
    pages.feed(records(events))
    return pages


def test_pages_of_a_cluster_are_held_until_they_leave_it() -> None:
    of_one = [("1", data) for data in FORMER]

    assert published(*of_one).clustered() == {"a", "b", "c", "d"}
    assert published(*of_one, ("1", unique("d", "D", version=2))).clustered() == {"a", "b", "c"}


def test_what_a_recovery_that_was_killed_left_unsaid_is_held_still() -> None:
    pages = published(
        *(("1", data) for data in FORMER),
        ("2", unique("b", "B", version=9)),
        ("2", undecided("c", version=9)),
    )

    assert pages.clustered() == {"a", "d"}
    assert pages.index == "2"


def test_nothing_is_held_of_earlier_indexes_once_a_recovery_has_named_all_of_their_pages() -> None:
    pages = published(
        *(("1", data) for data in FORMER),
        ("2", unique("b", "B", version=9)),  # killed then
        ("3", duplicate("c", At("A3", 1, "a", version=9), version=9)),
        ("3", unique("b", "B3", version=9)),
        ("3", gone("d", 9, ("A", 4))),
    )

    assert pages.clustered() == {"a", "c"}


def test_the_order_of_the_partitions_does_not_matter() -> None:
    events = records(
        [
            ("", FORMER[0]),
            ("1", duplicate("c", At("A", 2, "a"))),
            ("1", unique("b", "B")),
            ("2", duplicate("d", At("E", 1, "e"))),
            ("2", contained("c")),  # says nothing about clusters
        ]
    )

    for some in permutations(events):
        pages = PublishedPages("nd")
        pages.feed(some)
        assert pages.clustered() == {"a", "c", "d", "e"}
        assert pages.index == "2"


def test_without_events_nothing_is_held() -> None:
    pages = published()

    assert (pages.index, pages.clustered(), pages.highest_version) == ("", set(), 0)
