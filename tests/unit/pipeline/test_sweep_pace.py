import pytest
from hypothesis import given
from hypothesis import strategies as st

from neardup_stream.pipeline.sweep_pace import (
    MOST_SWEEPS,
    PAUSE_SHARE,
    RESUME_SHARE,
    SHORTEST_ROUND_SECONDS,
    sweep_pace,
)

lags = st.floats(0, 1e7)
rounds = st.floats(0.01, 1e6)


@given(one=lags, other=lags, round_seconds=rounds, was_paused=st.booleans())
def test_more_lag_never_means_fewer_sweeps_or_more_reading(
    one: float, other: float, round_seconds: float, *, was_paused: bool
) -> None:
    smaller, larger = sorted([one, other])
    before = sweep_pace(smaller, round_seconds, was_paused=was_paused)
    after = sweep_pace(larger, round_seconds, was_paused=was_paused)

    assert 1 <= before.sweep_count <= after.sweep_count <= MOST_SWEEPS
    assert before.is_reading_paused <= after.is_reading_paused


@given(lags, rounds)
def test_reading_is_paused_only_once_all_sweeps_are_in_flight(lag: float, round_seconds: float) -> None:
    pace = sweep_pace(lag, round_seconds, was_paused=False)

    assert not pace.is_reading_paused or pace.sweep_count == MOST_SWEEPS


@pytest.mark.parametrize("was_paused", [False, True])
@pytest.mark.parametrize("share", [PAUSE_SHARE, RESUME_SHARE])
def test_reading_stops_at_one_lag_and_continues_below_a_smaller_one(
    share: float, *, was_paused: bool
) -> None:
    lag = share * 1024
    at, below = (sweep_pace(each, 1024, was_paused=was_paused) for each in (lag, lag * 0.999))

    assert at.is_reading_paused == (share == PAUSE_SHARE or was_paused)
    assert below.is_reading_paused == (share == PAUSE_SHARE and was_paused)


def test_short_rounds_allow_the_jitter_of_a_loaded_machine() -> None:
    lag = PAUSE_SHARE * SHORTEST_ROUND_SECONDS

    assert sweep_pace(lag, 0.1, was_paused=False).is_reading_paused
    assert not sweep_pace(lag * 0.999, 0.1, was_paused=False).is_reading_paused


def test_a_clock_that_was_set_back_is_no_lag() -> None:
    assert sweep_pace(-5, 60, was_paused=True) == (1, False)
