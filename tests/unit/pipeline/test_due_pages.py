"""When a page is due, and how long a round over all pages takes."""

import pytest

from neardup_stream.errors import ConfigError
from neardup_stream.pipeline.retention import RetentionConfig, due
from neardup_stream.stores.page_record import PageState
from tests.unit.pipeline.retained_pages import CONFIG, DAY, START, at, page


@pytest.mark.parametrize(
    ("state", "days", "expected"),
    [("live", 10, "remove"), ("short", 10, "remove"), ("gone", 2, "drop")],
)
def test_nothing_is_due_a_second_before_its_time(state: PageState, days: int, expected: str) -> None:
    seconds = days * DAY

    assert [due(page(state), START + seconds + early, CONFIG) for early in (-1, 0, 1)] == [
        None,
        expected,
        expected,
    ]


def test_what_is_expiring_is_always_due() -> None:
    assert due(page("expiring"), START, CONFIG) == "finish"


def test_without_a_limit_every_page_is_kept_and_stubs_are_not() -> None:
    config = RetentionConfig(page_seconds=None, stub_seconds=2 * DAY)

    assert due(page("live"), at(10**6), config) is None
    assert due(page("gone"), at(2), config) == "drop"


@pytest.mark.parametrize(
    ("name", "setting"),
    [("page_seconds", r"retention\.seconds"), ("stub_seconds", r"retention\.stub_seconds")],
)
def test_a_number_below_one_is_refused_by_the_name_of_its_setting(name: str, setting: str) -> None:
    numbers = {"page_seconds": 1, "stub_seconds": 1}

    RetentionConfig(**numbers)
    with pytest.raises(ConfigError, match=setting):
        RetentionConfig(**(numbers | {name: 0}))


@pytest.mark.parametrize(
    ("page_seconds", "stub_seconds", "round_seconds"),
    [(600, 86_400, 60), (None, 86_400, 8640), (86_400, 600, 60)],
    ids=["pages", "stubs alone", "stubs first"],
)
def test_a_round_takes_a_tenth_of_the_shortest_time_that_anything_is_kept(
    page_seconds: int | None, stub_seconds: int, round_seconds: float
) -> None:
    assert RetentionConfig(page_seconds, stub_seconds).round_seconds == pytest.approx(round_seconds)
