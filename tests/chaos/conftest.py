"""A Redis for runs with faults, whose slow log is read at their end."""

from collections.abc import Iterator

import pytest

from tests.chaos.slow_calls import SLOW_LOG, put_first, report_long_calls
from tests.servers.redis import RedisServer, start_redis


@pytest.fixture(scope="package")
def redis_server() -> Iterator[RedisServer]:
    """One for all runs. None of their calls held it for more than 10 ms."""
    with start_redis(options=SLOW_LOG) as server:
        put_first([server])
        yield server
        assert report_long_calls([server]) == []
