"""8: the members of a cluster are connected by matches that their stored sketches confirm."""

import dataclasses

import msgspec

from neardup_stream.events import DuplicateFound
from neardup_stream.invariants.history import History
from neardup_stream.wire.events import from_message
from tests.page_histories import page_url
from tests.sound_history import (
    blame,
    cluster_id_of,
    handle_of_page,
    message_of,
    record_of,
    sound_expectations,
    sound_history,
    with_event,
    with_record,
    without_events,
    without_record,
)

PAIR = cluster_id_of(11)


def stranger_in_the_pair(history: History) -> History:
    """Page 5, which matches no page, is in the cluster of 11 and 12."""
    pair = history.clusters[PAIR]
    members = (*pair.members, handle_of_page(history, 5))
    return history._replace(clusters={**history.clusters, PAIR: pair._replace(members=members)})


def duplicate_of(history: History, offset: int) -> DuplicateFound:
    """Return the duplicate that the record at an offset has caused."""
    data = from_message(message_of(history, "duplicate", offset)).data
    return msgspec.json.decode(data, type=DuplicateFound)


def saying(history: History, offset: int, **fields: object) -> History:
    """Return the same, but the duplicate of the record at an offset says something else."""
    duplicate = msgspec.structs.replace(duplicate_of(history, offset), **fields)
    return with_event(
        without_events(history, message_of(history, "duplicate", offset)), "duplicate", offset, duplicate
    )


def test_a_member_that_no_event_connects_is_found() -> None:
    (detail,) = blame(stranger_in_the_pair(sound_history()))[8]

    assert detail == f"cluster {PAIR}: no stored match connects {page_url(5)} with the others"


def test_a_member_whose_published_match_is_none_by_what_is_stored_is_found() -> None:
    history = sound_history()
    stranger = record_of(history, 5)
    names = ("fingerprint", "text_fingerprint", "sketch", "shingle_count", "bands")
    changed = with_record(history, 12, **{name: getattr(stranger, name) for name in names})

    (detail,) = blame(changed)[8]

    assert page_url(12) in detail or page_url(11) in detail


def test_a_match_of_another_scope_connects_nothing() -> None:
    assert 8 in blame(with_record(sound_history(), 12, scope="elsewhere"))


def test_members_that_a_page_connected_which_has_changed_stay_together() -> None:
    history = sound_history()
    bridge = record_of(history, 4)  # 2 and 3 match it, and not each other

    for gone in (
        without_record(history, 4),
        with_record(history, 4, version=bridge.version + 1, text_fingerprint=1, fingerprint=2**63),
        with_record(history, 4, state="gone"),
    ):
        assert 8 not in blame(without_member(gone))


def without_member(history: History) -> History:
    """Page 4 has left its cluster; of the copy of it, which connects the same pages, nothing is known."""
    sound = sound_history()
    left = {handle_of_page(sound, 4), handle_of_page(sound, 10)}
    cluster_id = cluster_id_of(2)
    cluster = history.clusters[cluster_id]
    members = tuple(handle for handle in cluster.members if handle not in left)
    history = without_record(history, 10) if handle_of_page(sound, 10) in history.records else history
    return history._replace(clusters={**history.clusters, cluster_id: cluster._replace(members=members)})


def test_matches_that_an_event_does_not_list_are_found_again() -> None:
    history = sound_history()
    duplicate = duplicate_of(history, 4)
    assert len(duplicate.matches) == 2
    for number in (0, 1):
        short = saying(history, 4, matches=(duplicate.matches[number],), matches_total=2)
        assert 8 not in blame(without_copy(short))
        whole = saying(history, 4, matches=(duplicate.matches[number],), matches_total=1)
        assert 8 in blame(without_copy(whole))


def without_copy(history: History) -> History:
    """Of page 10, a copy of 4, nothing is known."""
    cluster_id = cluster_id_of(2)
    cluster, copy = history.clusters[cluster_id], handle_of_page(history, 10)
    members = tuple(handle for handle in cluster.members if handle != copy)
    history = without_record(history, 10)
    history = without_events(history, message_of(history, "duplicate", 14))
    return history._replace(clusters={**history.clusters, cluster_id: cluster._replace(members=members)})


def test_what_a_page_connected_that_has_left_and_listed_some_matches_alone_is_not_judged() -> None:
    history = sound_history()
    short = saying(history, 4, matches=duplicate_of(history, 4).matches[:1], matches_total=2)

    assert 8 not in blame(without_member(without_record(short, 4)))


def test_after_a_recovery_the_representative_stands_for_the_matches_of_a_member() -> None:
    history = stranger_in_the_pair(sound_history())
    match = msgspec.structs.replace(
        duplicate_of(history, 16).matches[0], id=page_url(11), url=page_url(11), version=1
    )
    page = msgspec.structs.replace(duplicate_of(history, 16).page, id=page_url(5), url=page_url(5))
    correction = msgspec.structs.replace(
        duplicate_of(history, 16), page=page, matches=(match,), matches_total=1
    )
    corrected = with_event(history, "duplicate", 5, correction)

    assert 8 in blame(corrected)
    assert 8 not in blame(corrected._replace(version_floor=7))


def test_it_is_judged_by_every_rule() -> None:
    expectations = dataclasses.replace(sound_expectations(), matching=None)

    assert 8 in blame(stranger_in_the_pair(sound_history()), expectations)
