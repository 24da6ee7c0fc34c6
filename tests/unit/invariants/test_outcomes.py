"""1: every position below the committed offset has exactly one outcome."""

import dataclasses
from collections.abc import Callable

import msgspec
import pytest

from neardup_stream.events import EventName
from neardup_stream.invariants.history import History
from neardup_stream.stores.applied_positions import LATER_PARTITIONS
from neardup_stream.wire.events import event_id, former_merge_event_id, merge_event_id
from tests.events import At, duplicate, gone, merge, undecided, unique
from tests.page_histories import page_url
from tests.sound_history import (
    PARTITION,
    at,
    blame,
    cluster_id_of,
    message_of,
    sound_expectations,
    sound_history,
    with_event,
    with_record,
    without_events,
    without_record,
)

ELSEWHERE = ("pages", 7, 0)


def lost(name: EventName, offset: int) -> History:
    """Without one event."""
    history = sound_history()
    return without_events(history, message_of(history, name, offset))


LOST: dict[str, tuple[Callable[[], History], str]] = {
    "a duplicate": (
        lambda: lost("duplicate", 16),
        f"pages-0@16 has no event, and its page {page_url(12)} is a duplicate in cluster {cluster_id_of(12)}",
    ),
    "a forget": (
        lambda: lost("gone", 9),
        f"pages-0@9 has no gone event, and has forgotten page {page_url(7)}",
    ),
    "the place of a page that handed over": (
        lambda: lost("unique", 10),
        "pages-0@10 has changed a representative, and no event reports the cluster of its own page",
    ),
    "a dead letter": (
        lambda: sound_history()._replace(dead_letters=[]),
        "pages-0@11 cannot be a page (empty_value), and has no dead letter",
    ),
    "the record of a page": (
        lambda: without_record(sound_history(), 5),
        f"pages-0@5 has no event, and there is no record of page {page_url(5)}",
    ),
    "the event of a page that was left to archives": (
        lambda: with_record(sound_history(), 5, state="archived"),
        f"pages-0@5 has no event, and has left page {page_url(5)} to the archives",
    ),
    "an offset of a re-crawl": (
        lambda: with_record(sound_history(), 5, later=()),
        f"pages-0@6 has no event, and page {page_url(5)} has seen only offset 5",
    ),
    "all offsets of the partition": (
        lambda: with_record(sound_history(), 5, later=(), made_by=ELSEWHERE),
        f"pages-0@5 has no event, and page {page_url(5)} has seen nothing of this partition",
    ),
}


@pytest.mark.parametrize("what", LOST)
def test_what_is_lost_is_found_by_its_position(what: str) -> None:
    spoiled, detail = LOST[what]

    assert detail in blame(spoiled())[1]


def test_a_stub_that_was_never_decided_does_not_show_that_an_event_is_lost() -> None:
    """Redis lost the record, so the forget was decided as unknown; then a paused daemon wrote the stub."""
    assert 1 not in blame(with_record(lost("gone", 9), 7, rank=0))


def test_without_clusters_every_stub_shows_that_its_event_is_lost() -> None:
    unclustered = dataclasses.replace(sound_expectations(), keeps_clusters=False)

    assert blame(with_record(lost("gone", 9), 7, rank=0), unclustered)[1] == [
        f"pages-0@9 has no gone event, and has forgotten page {page_url(7)}"
    ]


SEVERAL = f"duplicate {event_id('duplicate', at(1))}, unique {event_id('unique', at(16))}"
SURPLUS: dict[str, tuple[Callable[[], History], str]] = {
    "two outcomes": (
        lambda: with_event(sound_history(), "undecided", 1, undecided(page_url(1))),
        "pages-0@1 has several outcomes: duplicate, undecided",
    ),
    "an event of a forget for a page": (
        lambda: with_event(sound_history(), "gone", 5, gone(page_url(5), 2, ("c", 1))),
        "pages-0@5 is a page record and has events: gone",
    ),
    "an event for what was skipped": (
        lambda: with_event(sound_history(), "unique", 12, unique(page_url(9), "c")),
        "pages-0@12 is a skipped record and has events: unique",
    ),
    "an event for a dead letter": (
        lambda: with_event(sound_history(), "unique", 11, unique(page_url(9), "c")),
        "pages-0@11 is a dead letter and has events: unique",
    ),
    "an event of another page": (
        lambda: with_event(sound_history(), "unique", 5, unique(page_url(9), "c")),
        f"pages-0@5 is of page {page_url(5)}, and its unique event of {page_url(9)}",
    ),
    "an event of no record": (
        lambda: with_event(sound_history(), "unique", 99, unique(page_url(99), "c")),
        f"unique event {event_id('unique', at(99))} of {page_url(99)} belongs to no record",
    ),
    "a version that two positions have decided": (
        lambda: with_event(sound_history(), "unique", 16, unique(page_url(1), "c")),
        f"version 1 of page {page_url(1)} has several outcomes: {SEVERAL}",
    ),
    "a merge under a foreign id": (
        lambda: with_event(
            sound_history(), "cluster-merge", 4, merge(At("s", 2, "a"), At("x", 1, "b")), own_id="1234"
        ),
        "event 1234, a merge of cluster x, belongs to no record",
    ),
    "a merge that another page's record has caused": (
        lambda: with_event(
            sound_history(),
            "cluster-merge",
            4,
            merge(At("s", 2, "a"), At("x", 1, "b"), cause=page_url(5)),
            own_id=merge_event_id("x", at(4)),
        ),
        f"event {merge_event_id('x', at(4))}, a merge of cluster x, belongs to no record",
    ),
}


@pytest.mark.parametrize("what", SURPLUS)
def test_what_was_never_caused_is_found(what: str) -> None:
    spoiled, detail = SURPLUS[what]

    assert detail in blame(spoiled())[1]


def test_a_merge_of_a_former_release_is_none_of_these_unless_it_may_be_there() -> None:
    data = merge(At("s", 2, "a"), At("x", 1, "b"), cause=page_url(4))
    history = with_event(sound_history(), "cluster-merge", 4, data, own_id=former_merge_event_id("x"))
    upgraded = dataclasses.replace(sound_expectations(), has_former_merges=True)

    assert any("belongs to no record" in detail for detail in blame(history)[1])
    assert not any("belongs to no record" in detail for detail in blame(history, upgraded).get(1, []))


def test_positions_above_the_committed_offset_need_no_outcome_yet_and_may_have_it() -> None:
    history = lost("duplicate", 16)

    assert 1 not in blame(history._replace(committed={PARTITION: 16}))
    assert 1 in blame(history._replace(committed={PARTITION: 17}))
    assert 1 not in blame(sound_history()._replace(committed={PARTITION: 0}))


def test_a_page_that_stands_alone_is_silent_unless_unique_events_are_switched_on() -> None:
    strict = dataclasses.replace(sound_expectations(), publishes_unique=True, publishes_undecided=True)

    found = blame(sound_history(), strict)[1]

    assert (
        f"pages-0@5 has no event, though unique events are switched on, and has made page {page_url(5)}"
        in found
    )
    assert (
        f"pages-0@7 has no event, though undecided events are switched on, and has made page {page_url(6)}"
        in found
    )


def test_a_page_that_may_have_expired_and_been_dropped_is_no_loss() -> None:
    lenient = dataclasses.replace(sound_expectations(), may_expire=True)

    assert 1 not in blame(without_record(sound_history(), 5), lenient)


def test_the_stub_of_a_forgotten_page_may_be_dropped() -> None:
    assert 1 not in blame(without_record(sound_history(), 7))


def test_a_record_with_no_room_for_another_partition_accounts_for_all_of_them() -> None:
    full = tuple(("pages", number, 0) for number in range(1, LATER_PARTITIONS + 1))

    def later(count: int) -> History:
        return with_record(sound_history(), 5, later=full[:count], made_by=ELSEWHERE)

    assert 1 not in blame(later(LATER_PARTITIONS - 1))
    assert 1 in blame(later(LATER_PARTITIONS - 2))


def test_a_change_that_came_before_its_page_was_decided_supersedes_it_silently() -> None:
    """After a crash between registering and deciding, only the newer version is decided."""
    history = without_events(sound_history(), message_of(sound_history(), "duplicate", 1))
    changed = with_record(history, 1, made_by=("pages", 0, 14), version=2)

    assert not [detail for detail in blame(changed).get(1, []) if "@1 " in detail]


@pytest.mark.parametrize(("version", "is_missed"), [(1, False), (2, True)])
def test_a_version_may_be_decided_by_another_position_that_brought_it(
    version: int, *, is_missed: bool
) -> None:
    """Its own has claimed it a moment too late."""
    elsewhere = duplicate(page_url(12), At(cluster_id_of(12), 1, page_url(11)), version)

    history = with_event(lost("duplicate", 16), "duplicate", 6, elsewhere)

    assert any("@16 " in detail for detail in blame(history)[1]) is is_missed


@pytest.mark.parametrize(("stamped_ms", "is_missed"), [(999, False), (1000, True), (1001, True)])
def test_events_deleted_by_the_broker_are_not_missed(stamped_ms: int, *, is_missed: bool) -> None:
    """Those of records stamped since then are all there."""
    history = lost("gone", 9)
    stamped = [each._replace(timestamp_ms=stamped_ms) for each in history.inputs]
    since = dataclasses.replace(sound_expectations(), events_since_ms=1000)

    assert (1 in blame(history._replace(inputs=stamped), since)) is is_missed


@pytest.mark.parametrize("since_ms", [1, None], ids=["it was older", "unknown"])
def test_dead_letters_deleted_by_the_broker_are_not_missed(since_ms: int | None) -> None:
    expectations = dataclasses.replace(sound_expectations(), dead_letters_since_ms=since_ms)

    assert 1 not in blame(sound_history()._replace(dead_letters=[]), expectations)


def test_a_dead_letter_that_does_not_say_where_it_stood_accounts_for_nothing() -> None:
    (letter,) = sound_history().dead_letters
    nameless = msgspec.structs.replace(letter, headers=())

    assert 1 in blame(sound_history()._replace(dead_letters=[nameless]))


def test_events_of_records_that_the_broker_has_deleted_are_not_taken_for_invented() -> None:
    history = sound_history()
    kept = [each for each in history.inputs if each.position.offset > 1]

    assert 1 not in blame(history._replace(inputs=kept))


def test_events_of_other_inputs_are_ignored() -> None:
    history = with_event(sound_history(), "unique", 99, unique(page_url(99), "c"))
    theirs = msgspec.structs.replace(
        history.events[-1],
        headers=[
            (name, b"/neardup/nd/other" if name == "ce_source" else value)
            for name, value in history.events[-1].headers
        ],
    )

    assert 1 not in blame(history._replace(events=[*history.events[:-1], theirs]))
