"""A Redis for runs with faults, whose slow log is read at their end."""

from collections.abc import Iterator

import pytest

from tests.chaos.slow_calls import start_quick_redis
from tests.servers.redis import RedisServer


@pytest.fixture(scope="package")
def redis_server() -> Iterator[RedisServer]:
    """One for all runs. None of their calls held it for more than 10 ms."""
    with start_quick_redis() as server:
        yield server
