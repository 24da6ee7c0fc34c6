"""What a subscriber concludes from a few events, whatever their order."""

from collections.abc import Sequence
from itertools import permutations
from typing import NamedTuple

import msgspec
import pytest

from neardup_stream.errors import CorruptData
from neardup_stream.events import EVENT_DATA, EventData, EventName, event_type
from neardup_stream.fold import Fold
from tests.events import (
    At,
    archived,
    contained,
    delivered,
    duplicate,
    event_name,
    gone,
    merge,
    representative_changed,
    undecided,
    unique,
)


def folded(events: Sequence[EventData]) -> Fold:
    fold = Fold()
    for event in events:
        fold.feed(delivered(event))
    return fold


class Story(NamedTuple):
    """Some events, and what they come to."""

    events: Sequence[EventData]
    clusters: dict[str, set[str]]
    deletable: set[str]


STORIES = {
    "nothing": Story((), {}, set()),
    "a-page-alone": Story((unique("a", "A"),), {}, set()),
    "a-duplicate-of-a-page-without-events": Story(
        (duplicate("b", At("A", 1, "a")),), {"A": {"a", "b"}}, {"b"}
    ),
    "an-absorbed-page-that-stood-alone": Story(
        (merge(At("A", 2, "a"), At("B", 0, "b")), duplicate("c", At("A", 2, "a"))),
        {"A": {"a", "b", "c"}},
        {"b", "c"},
    ),
    "clusters-absorbed-in-turn": Story(
        (
            duplicate("c2", At("C", 1, "c")),
            merge(At("B", 2, "b"), At("C", 1, "c")),
            merge(At("A", 3, "a"), At("B", 2, "b")),
            duplicate("c3", At("A", 4, "a")),
        ),
        {"A": {"a", "b", "c", "c2", "c3"}},
        {"b", "c", "c2", "c3"},
    ),
    "an-epoch-of-the-absorbed-above-one-of-the-survivor": Story(
        (
            duplicate("a2", At("A", 1, "a")),
            duplicate("b2", At("B", 7, "b")),
            merge(At("A", 8, "a"), At("B", 7, "b")),
        ),
        {"A": {"a", "a2", "b", "b2"}},
        {"a2", "b", "b2"},
    ),
    "the-representative-forgotten": Story(
        (
            duplicate("b", At("A", 1, "a")),
            duplicate("c", At("A", 2, "a")),
            gone("a", 2, ("A", 3)),
            representative_changed(At("A", 3, "b"), ("a", 1)),
        ),
        {"A": {"b", "c"}},
        {"c"},
    ),
    "a-duplicate-forgotten": Story(
        (duplicate("b", At("A", 1, "a")), duplicate("c", At("A", 2, "a")), gone("b", 2, ("A", 3))),
        {"A": {"a", "c"}},
        {"c"},
    ),
    "the-last-but-one-forgotten": Story(
        (
            duplicate("b", At("A", 1, "a")),
            gone("a", 2, ("A", 2)),
            representative_changed(At("A", 2, "b"), ("a", 1)),
        ),
        {},
        set(),
    ),
    "the-representative-changed-and-stands-alone": Story(
        (
            duplicate("b", At("A", 1, "a")),
            representative_changed(At("A", 2, "b"), ("a", 1), "changed"),
            unique("a", "A2", version=2),
        ),
        {},
        set(),
    ),
    "the-representative-changed-and-joins-the-cluster-it-represented": Story(
        (
            duplicate("b", At("A", 1, "a")),
            representative_changed(At("A", 2, "b"), ("a", 1), "changed"),
            duplicate("a", At("A", 3, "b"), version=2),
        ),
        {"A": {"a", "b"}},
        {"a"},
    ),
    "the-representative-changed-and-represents-others": Story(
        (
            duplicate("b", At("A", 1, "a")),
            representative_changed(At("A", 2, "b"), ("a", 1), "changed"),
            unique("a", "A2", version=2),
            duplicate("c", At("A2", 1, "a", 2)),
        ),
        {"A2": {"a", "c"}},
        {"c"},
    ),
    "a-duplicate-changed-and-stands-alone": Story(
        (duplicate("b", At("A", 1, "a")), unique("b", "B2", version=2)), {}, set()
    ),
    "a-duplicate-changed-and-is-named-before-its-own-word": Story(
        (duplicate("b", At("A", 1, "a")), duplicate("c", At("B2", 1, "b", 2))), {"B2": {"b", "c"}}, {"c"}
    ),
    "a-duplicate-changed-and-is-absorbed": Story(
        (duplicate("b", At("A", 1, "a")), merge(At("C", 1, "c"), At("B2", 0, "b", 2))),
        {"C": {"b", "c"}},
        {"b"},
    ),
    "a-duplicate-became-too-short": Story(
        (duplicate("b", At("A", 1, "a")), undecided("b", version=2)), {}, set()
    ),
    "a-page-forgotten-that-returned": Story(
        (
            duplicate("b", At("A", 1, "a")),
            gone("b", 2, ("A", 2)),
            duplicate("b", At("A", 3, "a"), version=3),
        ),
        {"A": {"a", "b"}},
        {"b"},
    ),
    "two-representative-changes": Story(
        (
            duplicate("b", At("A", 1, "a")),
            duplicate("c", At("A", 2, "a")),
            representative_changed(At("A", 3, "b"), ("a", 1)),
            gone("a", 2, ("A", 3)),
            representative_changed(At("A", 4, "c"), ("b", 1)),
        ),
        {},
        set(),
    ),
    "a-representative-change-before-a-merge": Story(
        (
            duplicate("b", At("A", 1, "a")),
            representative_changed(At("A", 2, "b"), ("a", 1)),
            gone("a", 2, ("A", 2)),
            merge(At("C", 3, "c"), At("A", 2, "b")),
        ),
        {"C": {"b", "c"}},
        {"b"},
    ),
    "a-representative-change-after-a-merge": Story(
        (
            duplicate("b", At("B", 1, "b0")),
            merge(At("A", 2, "a"), At("B", 1, "b0")),
            gone("a", 2, ("A", 3)),
            representative_changed(At("A", 3, "b0"), ("a", 1)),
        ),
        {"A": {"b0", "b"}},
        {"b"},
    ),
    "archived-links-nothing": Story((archived("a"), unique("a", "A")), {}, set()),
    "contained-links-nothing": Story((contained("a"), unique("a", "A")), {}, set()),
    "clusters-switched-off": Story((duplicate("b", None), unique("a", None)), {}, set()),
}


@pytest.mark.parametrize("story", STORIES.values(), ids=STORIES)
def test_a_story_means_the_same_in_every_order_and_with_repeats(story: Story) -> None:
    for order in permutations(story.events):
        for fold in (folded(order), folded((*order, *order))):
            assert fold.clusters() == story.clusters
            assert fold.deletable() == story.deletable


def test_a_page_and_a_cluster_are_found_under_every_id_the_cluster_had() -> None:
    fold = folded((merge(At("B", 2, "b"), At("C", 1, "c")), merge(At("A", 3, "a"), At("B", 2, "b"))))

    assert [fold.cluster_of(page_id) for page_id in "abc"] == ["A", "A", "A"]
    assert [fold.representative(cluster_id) for cluster_id in "ABC"] == ["a", "a", "a"]


def test_what_was_never_heard_of_is_nowhere_and_not_deletable() -> None:
    fold = Fold()

    assert fold.cluster_of("x") is None
    assert fold.representative("X") is None
    assert not fold.is_deletable("x")


def test_no_page_is_deletable_between_the_word_that_a_representative_left_and_who_follows() -> None:
    fold = folded((duplicate("b", At("A", 1, "a")), duplicate("c", At("A", 2, "a")), gone("a", 2, ("A", 3))))

    assert fold.clusters() == {"A": {"b", "c"}}
    assert fold.representative("A") is None
    assert fold.deletable() == set()


def test_a_former_representative_is_not_deletable_before_the_word_of_where_it_went() -> None:
    fold = folded(
        (duplicate("b", At("A", 1, "a")), representative_changed(At("A", 2, "b"), ("a", 1), "changed"))
    )

    assert fold.cluster_of("a") is None
    assert not fold.is_deletable("a")


def test_needed_are_representatives_and_pages_that_are_undecided() -> None:
    fold = folded((duplicate("b", At("A", 1, "a")), undecided("short"), gone("lost", 2, ("C", 1))))

    assert list(filter(fold.is_needed, ("a", "b", "short", "lost", "unheard of"))) == ["a", "short"]


def test_a_cluster_that_was_absorbed_twice_keeps_one_page_in_whatever_order_the_merges_come() -> None:
    """Before the loss of an index is noticed, another record may cause another merge of a cluster."""
    data: tuple[EventData, ...] = (
        duplicate("b2", At("B", 1, "b")),
        merge(At("A", 5, "a"), At("B", 1, "b")),
        merge(At("C", 2, "c"), At("B", 1, "b")),
    )
    for events in permutations(data):
        fold = folded(events)

        assert set(fold.clusters().values()) == {frozenset({"a", "b", "b2", "c"})}
        assert fold.deletable() == {"b", "b2", "c"}


def test_of_two_addresses_of_one_version_the_same_one_stands_in_whatever_order_the_events_come() -> None:
    event = unique("a", "A")
    data = [
        msgspec.structs.replace(
            event, page=msgspec.structs.replace(event.page, url=f"https://a.example/{name}")
        )
        for name in "12"
    ]

    assert [folded(events).url_of("a") for events in permutations(data)] == ["https://a.example/2"] * 2


def test_a_long_chain_of_merges_is_followed() -> None:
    count = 5_000
    events = [merge(At(f"c{n}", n, f"p{n}"), At(f"c{n - 1}", n - 1, f"p{n - 1}")) for n in range(1, count)]

    fold = folded(events)

    assert fold.cluster_of("p0") == f"c{count - 1}"
    assert len(fold.deletable()) == count - 1


def test_an_event_of_a_type_that_is_not_ours_changes_nothing() -> None:
    foreign = msgspec.structs.replace(delivered(duplicate("b", At("A", 1, "a"))), type="com.example.other")
    fold = Fold()

    fold.feed(foreign)

    assert fold.clusters() == {}


def test_fields_that_are_added_later_are_ignored() -> None:
    event = delivered(duplicate("b", At("A", 1, "a")))
    fold = Fold()

    fold.feed(msgspec.structs.replace(event, data=msgspec.Raw(b'{"later":1,' + bytes(event.data)[1:])))

    assert fold.deletable() == {"b"}


@pytest.mark.parametrize("name", EVENT_DATA)
@pytest.mark.parametrize(
    "data", [b"{}", b"[", b"\xff", b"[" * 100_000], ids=["empty", "cut", "bytes", "deep"]
)
def test_data_that_is_not_what_its_type_promises_is_refused(name: EventName, data: bytes) -> None:
    event = delivered(duplicate("b", At("A", 1, "a")))
    fold = Fold()

    with pytest.raises(CorruptData, match=event_type(name)):
        fold.feed(msgspec.structs.replace(event, type=event_type(name), data=msgspec.Raw(data)))


def test_every_kind_of_event_is_in_some_story() -> None:
    assert {event_name(event) for story in STORIES.values() for event in story.events} == set(EVENT_DATA)


def test_the_latest_index_of_a_namespace_stands_in_whatever_order_events_arrive() -> None:
    """Its ids and versions begin anew, and say nothing of the earlier one's."""
    data = [
        delivered(duplicate("b", At("A", 3, "a"))),
        delivered(merge(At("A", 4, "a"), At("B", 1, "c")), index="1"),
        delivered(duplicate("a", At("B", 1, "b")), index="2"),
        delivered(duplicate("c", At("B", 1, "b")), index="2"),
    ]
    for events in permutations(data):
        fold = Fold()
        for event in events:
            fold.feed(event)
        assert fold.clusters() == {"B": {"a", "b", "c"}}
        assert fold.deletable() == {"a", "c"}


def test_nothing_may_be_deleted_for_what_an_earlier_index_said() -> None:
    fold = folded([duplicate("b", At("A", 3, "a"))])

    fold.feed(delivered(unique("z", "Z"), index="1"))

    assert fold.deletable() == frozenset()
