from time import time

import pytest
from neardup_daemon.clocks import MOST_SECONDS_APART, StoreClock, require_same_time

from neardup_stream.errors import ConfigError

NOW = 1_790_000_000.0


@pytest.mark.parametrize("offset", [-MOST_SECONDS_APART, 0.0, MOST_SECONDS_APART])
def test_clocks_up_to_a_minute_apart_are_the_same_time(offset: float) -> None:
    require_same_time(NOW, NOW + offset)


@pytest.mark.parametrize(
    ("offset", "words"), [(3000.0, "3000 seconds ahead of"), (-61.0, "61 seconds behind")]
)
def test_a_clock_that_is_further_off_is_refused_and_named(offset: float, words: str) -> None:
    with pytest.raises(ConfigError, match=rf"the clock of this host is {words}.*NTP"):
        require_same_time(NOW, NOW + offset)


def test_the_time_is_that_of_redis_and_continues() -> None:
    clock = StoreClock(NOW)
    first, second = clock(), clock()

    assert NOW <= first <= second < NOW + 30


def test_where_redis_does_not_say_the_time_it_is_that_of_this_host() -> None:
    assert abs(StoreClock()() - time()) < 30
