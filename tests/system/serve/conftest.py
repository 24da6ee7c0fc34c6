"""An index, and a server over it."""

import pytest

from tests.servers.redis import RedisServer
from tests.system.conftest import StoredIndex, new_index
from tests.system.serve.served_pages import PAGES


@pytest.fixture(scope="module")
def held(redis_server: RedisServer) -> StoredIndex:
    index = new_index(redis_server)
    index.hold(*PAGES)
    return index
