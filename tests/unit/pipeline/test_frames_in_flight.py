"""What pages in flight teach counts for those behind them, for as long as it may become part of the table."""

import pytest

from tests.pages_of_sites import framed_site
from tests.unit.pipeline.viewed_pages import (
    CONTENT_WORDS,
    EMPTY,
    SHOP,
    arrive,
    content_tokens,
    is_whole,
    view,
    viewer,
)


def test_pages_of_earlier_batches_that_are_in_flight_teach_those_of_later_ones() -> None:
    of = viewer()
    view(of, arrive(framed_site(SHOP, 1, 4)), batch=1)

    assert content_tokens(view(of, arrive(framed_site(SHOP, 5, 1), 4), batch=2)) == [CONTENT_WORDS]


def test_what_a_batch_taught_is_taken_back_where_its_pages_turn_out_to_be_no_lessons() -> None:
    of = viewer()
    view(of, arrive(framed_site(SHOP, 1, 4)), batch=1)
    of.confirm(1, {SHOP: []})

    (alone,) = view(of, arrive(framed_site(SHOP, 5, 1), 4), batch=2).arrivals

    assert is_whole(alone)


def test_what_other_batches_taught_outlasts_a_finished_one() -> None:
    of = viewer()
    view(of, arrive(framed_site(SHOP, 1, 4)), batch=1)
    view(of, arrive(framed_site(SHOP, 5, 4), 4), batch=2)
    of.confirm(1, {SHOP: []})

    assert content_tokens(view(of, arrive(framed_site(SHOP, 9, 1), 8), batch=3)) == [CONTENT_WORDS]


@pytest.mark.parametrize("count", [4, 40])
def test_lessons_that_are_confirmed_count_as_before(count: int) -> None:
    one, other = viewer(), viewer()
    arrivals = arrive(framed_site(SHOP, 1, count))
    for of in (one, other):
        view(of, arrivals, batch=1)
    one.confirm(1, {SHOP: [each.lines.hashes for each in arrivals if each.lines is not None]})

    later = arrive(framed_site(SHOP, 100, 3), count)
    assert view(one, later, batch=2).arrivals == view(other, later, batch=2).arrivals


def test_a_table_with_pages_of_others_takes_the_place_of_what_was_known() -> None:
    of = viewer()
    view(of, arrive(framed_site(SHOP, 1, 4)), batch=1)
    of.replace(SHOP, EMPTY, [1])

    (alone,) = view(of, arrive(framed_site(SHOP, 5, 1), 4), batch=2).arrivals

    assert is_whole(alone)


def test_confirming_lessons_of_a_site_that_was_forgotten_is_no_error() -> None:
    of = viewer()
    view(of, arrive(framed_site(SHOP, 1, 4)), batch=1)
    of.forget(SHOP)
    of.confirm(1, {SHOP: []})
    of.replace(SHOP, EMPTY, [1])

    assert is_whole(view(of, arrive(framed_site(SHOP, 5, 1), 4), batch=2).arrivals[0])


def test_what_was_in_flight_of_a_site_that_was_forgotten_counts_no_more() -> None:
    of = viewer()
    view(of, arrive(framed_site(SHOP, 1, 4)), batch=1)
    of.forget(SHOP)

    assert is_whole(view(of, arrive(framed_site(SHOP, 5, 1), 4), batch=2).arrivals[0])
