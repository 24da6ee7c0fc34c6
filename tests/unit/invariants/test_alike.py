"""5: two living pages that match are in one cluster."""

import dataclasses

import msgspec
import pytest

from neardup_stream.indexes.layout import IndexConfig, IndexLayout
from neardup_stream.invariants.alike import judge_matches
from neardup_stream.invariants.evidence import Evidence
from neardup_stream.invariants.history import Expectations, History, Matching
from neardup_stream.page import Handle
from tests.page_histories import page_url
from tests.sound_history import (
    blame,
    cluster_id_of,
    record_of,
    sound_expectations,
    sound_history,
    with_record,
)

PAIR = cluster_id_of(11)


def apart() -> History:
    """The pair is no cluster any more."""
    history = sound_history()
    return history._replace(clusters={key: each for key, each in history.clusters.items() if key != PAIR})


def matching() -> Matching:
    found = sound_expectations().matching
    assert found is not None
    return found


def expecting(changed: Matching | None) -> Expectations:
    return dataclasses.replace(sound_expectations(), matching=changed)


def test_matching_pages_that_stand_apart_are_found() -> None:
    (detail,) = blame(apart())[5]

    assert set(detail.removesuffix(" match").split(" and ")) == {
        f"page {page_url(11)} (alone)",
        f"page {page_url(12)} (alone)",
    }


def test_matching_pages_in_two_clusters_are_found() -> None:
    history = sound_history()
    cluster = history.clusters[PAIR]
    clusters = {
        **history.clusters,
        "one": cluster._replace(members=cluster.members[:1]),
        "other": cluster._replace(members=cluster.members[1:]),
    }
    del clusters[PAIR]

    (detail,) = blame(history._replace(clusters=clusters))[5]

    assert "(in one)" in detail
    assert "(in other)" in detail


def test_a_rule_that_connects_only_some_matches_leaves_the_others_apart() -> None:
    assert 5 not in blame(apart(), expecting(matching()._replace(links=lambda _match: False)))
    assert 5 not in blame(apart(), expecting(None))


@pytest.mark.parametrize("state", ["short", "expiring", "gone"])
def test_pages_that_are_not_fully_there_match_no_page(state: str) -> None:
    history = with_record(apart(), 12, state=state)

    assert 5 not in blame(history)


def test_pages_of_two_scopes_match_no_page() -> None:
    assert 5 not in blame(with_record(apart(), 12, scope="elsewhere"))


@pytest.mark.parametrize(
    ("count", "pairs"),
    [
        pytest.param(4, 6, id="as many as a probe reads"),
        pytest.param(6, 0, id="an oversized bucket, of which no page sees all"),
        pytest.param(40, 0, id="a much larger bucket"),
    ],
)
def test_pages_in_an_oversized_bucket_may_not_have_seen_each_other(count: int, pairs: int) -> None:
    history = sound_history()
    original = record_of(history, 5)
    copies = {
        Handle(number): msgspec.structs.replace(original, url=f"https://example.com/copy/{number}")
        for number in range(1, count)
    }
    layout = IndexLayout(IndexConfig(bands=16, bucket_cap=4))

    found = blame(
        history._replace(records={**history.records, **copies}),
        expecting(matching()._replace(layout=layout)),
    )

    assert len(found.get(5, [])) == pairs


@pytest.mark.parametrize("pages_at_once", [1, 3, 1000])
def test_pages_that_stand_apart_are_found_however_few_are_looked_at_together(pages_at_once: int) -> None:
    found = list(judge_matches(Evidence(apart(), sound_expectations()), pages_at_once))

    assert [violation.detail for violation in found] == blame(apart())[5]


def test_an_oversized_bucket_that_one_shard_holds_hides_pages_from_all_others() -> None:
    history = sound_history()
    original = record_of(history, 5)
    copies = {Handle(number): original for number in range(1, 40)}
    layout = IndexLayout(IndexConfig(bands=16, bucket_cap=4))
    with_copies = history._replace(records={**history.records, **copies})
    expectations = expecting(matching()._replace(layout=layout))

    assert list(judge_matches(Evidence(with_copies, expectations), pages_at_once=1)) == []
