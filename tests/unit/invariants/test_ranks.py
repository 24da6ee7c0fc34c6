"""7: ranks never change; merges go to the older representative; an absorbed cluster never returns."""

import dataclasses

import pytest

from neardup_stream.events import ClusterMerge
from neardup_stream.invariants.history import History
from neardup_stream.wire.events import merge_event_id
from tests.events import At, merge
from tests.page_histories import page_url
from tests.sound_history import (
    at,
    blame,
    cluster_id_of,
    record_of,
    sound_expectations,
    sound_history,
    with_event,
    with_record,
)

FOUR = cluster_id_of(2)
OLDER, YOUNGER = At("older", 2, page_url(2)), At("younger", 1, page_url(5))


def with_merge(data: ClusterMerge) -> History:
    return with_event(
        sound_history(), "cluster-merge", 4, data, own_id=merge_event_id(data.absorbed.id, at(4))
    )


def rank(page: int) -> int:
    return record_of(sound_history(), page).rank


def test_a_rank_that_two_pages_have_is_found() -> None:
    found = blame(with_record(sound_history(), 5, rank=rank(11)))[7]

    assert found == [f"rank {rank(11)} is that of several pages: {page_url(11)}, {page_url(5)}"]


def test_of_several_ranks_that_pages_share_each_is_found_with_all_its_pages() -> None:
    history = sound_history()
    for page, shared in ((5, 11), (4, 11), (3, 2)):
        history = with_record(history, page, rank=rank(shared))

    assert [each for each in blame(history)[7] if "several" in each] == [
        f"rank {rank(2)} is that of several pages: {page_url(2)}, {page_url(3)}",
        f"rank {rank(11)} is that of several pages: {page_url(11)}, {page_url(4)}, {page_url(5)}",
    ]


def test_members_out_of_order_are_found() -> None:
    history = with_record(sound_history(), 3, rank=1000)

    assert blame(history)[7] == [
        f"cluster {FOUR}: {page_url(3)} (rank 1000) comes before {page_url(4)} (rank {rank(4)})"
    ]


def test_while_pages_are_in_flight_members_move() -> None:
    busy = dataclasses.replace(sound_expectations(), is_quiet=False)

    assert 7 not in blame(with_record(sound_history(), 3, rank=1000), busy)


def test_a_representative_that_was_not_decided_first_is_found() -> None:
    history = sound_history()
    cluster = history.clusters[FOUR]
    second = cluster.representative._replace(handle=cluster.members[1], id=record_of(history, 3).id)
    spoiled = {**history.clusters, FOUR: cluster._replace(representative=second)}

    found = blame(history._replace(clusters=spoiled))[7]

    assert found == [f"cluster {FOUR}: representative {page_url(3)} was not decided first"]


def test_a_merge_into_the_younger_cluster_is_found() -> None:
    assert blame(with_merge(merge(OLDER, YOUNGER))).get(7, []) == []
    assert blame(with_merge(merge(YOUNGER._replace(epoch=3), OLDER)))[7] == [
        f"cluster younger (rank {rank(5)}) absorbs the older older (rank {rank(2)})"
    ]


def test_of_representatives_that_live_no_more_it_is_unknown_who_was_first() -> None:
    former = YOUNGER._replace(version=9, epoch=3)

    assert 7 not in blame(with_merge(merge(former, OLDER)))


@pytest.mark.parametrize(
    ("epoch", "details"),
    [
        (1, ["cluster older absorbs younger at epoch 1, not above 1"]),
        (2, []),
    ],
    ids=["the same", "one above"],
)
def test_a_survivors_epoch_is_above_that_of_the_absorbed(epoch: int, details: list[str]) -> None:
    assert blame(with_merge(merge(OLDER._replace(epoch=epoch), YOUNGER))).get(7, []) == details


def test_an_absorbed_cluster_that_is_still_stored_is_found() -> None:
    history = with_merge(merge(OLDER, At(FOUR, 1, page_url(5))))

    assert f"cluster {FOUR} was absorbed by older, and is used again" in blame(history)[7]


def test_a_cluster_that_two_others_absorb_is_found() -> None:
    twice = with_event(
        with_merge(merge(OLDER, YOUNGER)),
        "cluster-merge",
        4,
        merge(OLDER._replace(cluster_id="oldest"), YOUNGER),
        own_id="another id",
    )

    assert blame(twice)[7] == ["cluster younger is absorbed twice, by older and oldest"]


def test_merges_in_a_circle_are_found() -> None:
    ends = [At(name, epoch, f"page {name}") for epoch, name in enumerate("abc", start=1)]
    history = sound_history()
    for absorbed, survivor in ((0, 1), (1, 2), (2, 0)):
        data = merge(ends[survivor]._replace(epoch=9), ends[absorbed])
        history = with_event(
            history, "cluster-merge", 4, data, own_id=merge_event_id(data.absorbed.id, at(4))
        )

    assert blame(history)[7] == ["cluster a was absorbed, transitively, by itself"]
