"""4: what subscribers make of the events is what is stored, and every cluster keeps one page."""

import dataclasses

import pytest

from neardup_stream.invariants.history import History, StoredCluster
from neardup_stream.page import Handle
from tests.page_histories import page_url
from tests.sound_history import (
    blame,
    cluster_id_of,
    handle_of_page,
    message_of,
    sound_expectations,
    sound_history,
    with_record,
    without_events,
    without_record,
)

PAIR, FOUR = cluster_id_of(11), cluster_id_of(2)


def with_members(cluster_id: str, *pages: int) -> History:
    """A cluster has other members than it had; its representative stays."""
    history = sound_history()
    members = tuple(handle_of_page(history, page) for page in pages)
    cluster = history.clusters[cluster_id]._replace(members=members)
    return history._replace(clusters={**history.clusters, cluster_id: cluster})


@pytest.mark.parametrize("seed", range(5))
def test_the_order_of_the_events_does_not_matter(seed: int) -> None:
    assert blame(sound_history(), dataclasses.replace(sound_expectations(), seed=seed)) == {}


def test_a_member_that_the_store_has_lost_is_found() -> None:
    found = blame(with_members(FOUR, 2, 3, 4))[4]

    assert f"cluster {FOUR}: only in the events: {page_url(10)}; only in the store: none" in found
    assert f"page {page_url(10)} is in no cluster, and is declared duplicate" in found


def test_a_member_that_no_event_names_is_found() -> None:
    found = blame(with_members(FOUR, 2, 3, 4, 10, 5))[4]

    assert f"cluster {FOUR}: only in the events: none; only in the store: {page_url(5)}" in found


def test_a_cluster_that_the_store_has_lost_is_found() -> None:
    history = sound_history()
    kept = {key: cluster for key, cluster in history.clusters.items() if key != PAIR}

    found = blame(history._replace(clusters=kept))[4]

    assert (
        f"cluster {PAIR}: only in the events: {page_url(11)}, {page_url(12)}; only in the store: none"
        in found
    )


def test_a_cluster_that_subscribers_never_heard_of_is_found() -> None:
    history = sound_history()

    found = blame(without_events(history, message_of(history, "duplicate", 16)))[4]

    both = f"{page_url(11)}, {page_url(12)}"
    assert f"cluster {PAIR}: only in the events: none; only in the store: {both}" in found
    assert f"cluster {PAIR}: representative {page_url(11)}; not declared duplicate: {both}" in found


def test_another_representative_than_was_published_is_found() -> None:
    history = sound_history()
    handle = handle_of_page(history, 12)
    twelve = history.clusters[PAIR].representative._replace(handle=handle, id=history.records[handle].id)
    spoiled = {**history.clusters, PAIR: history.clusters[PAIR]._replace(representative=twelve)}

    found = blame(history._replace(clusters=spoiled))[4]

    assert f"cluster {PAIR}: representative {page_url(12)}; not declared duplicate: {page_url(11)}" in found


def test_a_representative_outside_of_its_cluster_is_found() -> None:
    assert (
        f"cluster {PAIR}: representative {page_url(11)} is not a member" in blame(with_members(PAIR, 12))[4]
    )


def test_a_member_in_two_clusters_is_found() -> None:
    (detail,) = [each for each in blame(with_members(FOUR, 2, 3, 4, 10, 12))[4] if "both" in each]

    assert {FOUR, PAIR} < {each.strip(":") for each in detail.split()}


def test_a_member_without_a_record_is_found() -> None:
    handle = handle_of_page(sound_history(), 12)

    found = blame(without_record(sound_history(), 12))[4]

    assert f"cluster {PAIR}: member {handle:016x} has no record" in found


@pytest.mark.parametrize("state", ["expiring", "gone"])
def test_a_page_that_expires_may_be_in_its_cluster_or_out_of_it(state: str) -> None:
    expired = with_record(sound_history(), 10, state=state)
    members = with_members(FOUR, 2, 3, 4).clusters

    assert 4 not in blame(expired)
    assert 4 not in blame(expired._replace(clusters=members))


def test_a_pair_of_which_one_has_expired_is_no_cluster_any_more() -> None:
    expired = with_record(sound_history(), 12, state="gone")
    kept = {key: cluster for key, cluster in expired.clusters.items() if key != PAIR}

    assert 4 not in blame(expired._replace(clusters=kept))


def test_a_forgotten_page_that_is_still_in_the_events_of_its_cluster_is_found() -> None:
    history = sound_history()
    forget = next(each.position for each in history.inputs if each.kind == "forget")
    made_by = forget.partition.input_id, forget.partition.number, forget.offset

    found = blame(with_record(history, 10, state="gone", made_by=made_by))[4]

    assert f"cluster {FOUR}: only in the events: {page_url(10)}; only in the store: none" in found


def test_while_pages_are_in_flight_nothing_is_compared() -> None:
    busy = dataclasses.replace(sound_expectations(), is_quiet=False)

    assert 4 not in blame(with_members(FOUR, 2, 3, 4), busy)


def test_a_cluster_of_strangers_is_found() -> None:
    history = sound_history()
    stranger = history.clusters[PAIR].representative._replace(handle=Handle(1))
    clusters = {**history.clusters, "1.1": StoredCluster(stranger, (Handle(1), Handle(2)))}

    assert len([each for each in blame(history._replace(clusters=clusters))[4] if "no record" in each]) == 2
