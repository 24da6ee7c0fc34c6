"""The most frequent names of a stream, counted in bounded memory."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st
from neardup_daemon.telemetry.top_sites import SpaceSaving, TopSites

NAMES = st.lists(st.tuples(st.sampled_from("abcdefghijklmnop"), st.integers(1, 5)), max_size=200)


@given(NAMES, st.integers(1, 8))
def test_a_count_is_never_above_the_truth_and_frequent_names_are_never_missing(
    stream: list[tuple[str, int]], capacity: int
) -> None:
    truth: Counter[str] = Counter()
    counts = SpaceSaving(capacity)
    for name, count in stream:
        truth[name] += count
        counts.add(name, count)

    top = dict(counts.top(capacity))
    assert len(top) <= capacity
    assert all(certain <= truth[name] for name, certain in top.items())
    assert {name for name, count in truth.items() if count * capacity > truth.total()} <= top.keys()


@given(NAMES)
def test_with_room_for_all_every_count_is_exact_and_in_order(stream: list[tuple[str, int]]) -> None:
    truth: Counter[str] = Counter()
    counts = SpaceSaving(16)
    for name, count in stream:
        truth[name] += count
        counts.add(name, count)

    assert counts.top(16) == sorted(truth.items(), key=lambda item: (-item[1], item[0]))


@given(st.lists(st.sampled_from("abcdefghijkl"), max_size=300))
def test_no_more_sites_are_shown_than_were_asked_for(sites: list[str]) -> None:
    top = TopSites(2)
    for site in sites:
        top.add({site: 3}, {site: 1})

    duplicates, pages = top.collect()
    assert len(duplicates.samples) == len(pages.samples) == min(2, len(set(sites)))
    by_site = {sample.labels["site"]: sample.value for sample in pages.samples}
    assert all(by_site[sample.labels["site"]] == 3 * sample.value for sample in duplicates.samples)


def test_no_sites_are_counted_where_none_are_to_be_shown() -> None:
    top = TopSites(0)
    top.add({"a.example": 1}, {"a.example": 1})

    assert [family.samples for family in top.collect()] == [[], []]
