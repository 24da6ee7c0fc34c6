"""2: no page is its own duplicate; a re-crawl without change makes no event."""

import dataclasses

import msgspec

from neardup_stream.event_parts import EventCluster
from neardup_stream.events import DuplicateFound
from neardup_stream.message import Partition, Position
from neardup_stream.wire.events import event_id
from tests.events import unique
from tests.page_histories import page_url
from tests.sound_history import (
    at,
    blame,
    message_of,
    sound_expectations,
    sound_history,
    with_event,
    without_events,
)

RECRAWL = 6
ITS_OWN = [f"event {event_id('duplicate', at(16))} calls page {page_url(12)} its own duplicate"]
COPY = message_of(sound_history(), "duplicate", 16)
DUPLICATE = msgspec.json.decode(COPY.value or b"", type=DuplicateFound)


def test_a_page_that_matches_itself_is_found() -> None:
    itself = msgspec.structs.replace(DUPLICATE.matches[0], id=page_url(12))
    changed = msgspec.structs.replace(DUPLICATE, matches=(*DUPLICATE.matches, itself))

    assert blame(with_event(without_events(sound_history(), COPY), "duplicate", 16, changed))[2] == ITS_OWN


def test_a_page_that_is_declared_duplicate_of_itself_is_found() -> None:
    assert isinstance(DUPLICATE.cluster, EventCluster)
    itself = msgspec.structs.replace(DUPLICATE.cluster.representative, id=page_url(12))
    changed = msgspec.structs.replace(
        DUPLICATE, cluster=msgspec.structs.replace(DUPLICATE.cluster, representative=itself)
    )

    assert blame(with_event(without_events(sound_history(), COPY), "duplicate", 16, changed))[2] == ITS_OWN


def test_an_event_for_a_recrawl_without_change_is_found() -> None:
    history = with_event(sound_history(), "unique", RECRAWL, unique(page_url(5), "c"))

    assert blame(history)[2] == [f"pages-0@6 brings page {page_url(5)} unchanged, and has: unique"]


def test_a_page_that_returned_after_it_expired_is_published_again() -> None:
    history = with_event(sound_history(), "unique", RECRAWL, unique(page_url(5), "c"))
    expiring = dataclasses.replace(sound_expectations(), may_expire=True)

    assert 2 not in blame(history, expiring)


def test_a_page_that_was_left_to_archives_may_be_decided_when_it_comes_again() -> None:
    history = with_event(sound_history(), "unique", RECRAWL, unique(page_url(5), "c"))
    leaving = dataclasses.replace(sound_expectations(), may_leave_pages=True)

    assert 2 not in blame(history, leaving)


def test_of_a_page_in_two_partitions_it_is_unknown_which_record_came_first() -> None:
    history = with_event(sound_history(), "unique", RECRAWL, unique(page_url(5), "c"))
    elsewhere = history.inputs[5]._replace(position=Position(Partition("pages", 1), 0))

    assert 2 not in blame(history._replace(inputs=[*history.inputs, elsewhere]))


def test_what_follows_a_dead_letter_may_be_the_first_of_its_page() -> None:
    history = with_event(sound_history(), "unique", RECRAWL, unique(page_url(5), "c"))
    (letter,) = history.dead_letters
    fifth = [(name, b"5" if name == "neardup.error.offset" else content) for name, content in letter.headers]
    dead = msgspec.structs.replace(letter, headers=fifth)

    assert 2 not in blame(history._replace(dead_letters=[*history.dead_letters, dead]))
