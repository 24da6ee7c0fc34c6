"""Which pages of a former index the topic must still have a record of, before `recover` gives them up."""

import time

import pytest
from neardup_daemon.repair.lost_records import require_records
from neardup_daemon.settings.settings import Settings

from neardup_stream.errors import ConfigError
from neardup_stream.message import Partition
from neardup_stream.stores.redis.client import RedisClient
from tests.pipelines import essay, page_json
from tests.servers.process import wait_until
from tests.system.conftest import StoredIndex

PAGES = tuple(page_json(name, essay(number)) for number, name in enumerate("abc"))
TOPIC = Partition("pages", 0)
SHORT = "retention.seconds=1"


async def require(index: StoredIndex, committed: int, beginning: int = 0, *settings: str) -> None:
    """Ask for the records of a topic that begins at an offset and is committed up to another."""
    loaded = Settings.load(overrides=(*index.settings, *settings))
    async with RedisClient(loaded.redis.config()) as client:
        await require_records(client, loaded, {TOPIC: committed}, {TOPIC: beginning})


@pytest.mark.parametrize("beginning", [0, 7])
async def test_as_many_records_as_there_are_pages_are_enough_and_fewer_are_not(
    index: StoredIndex, beginning: int
) -> None:
    index.hold(*PAGES)

    await require(index, beginning + len(PAGES), beginning)
    with pytest.raises(ConfigError, match="Redis still has 3 pages"):
        await require(index, beginning + len(PAGES) - 1, beginning)


async def test_no_record_is_asked_for_of_pages_that_are_due_to_expire(index: StoredIndex) -> None:
    index.hold(*PAGES)
    until_a_second_has_passed()

    await require(index, 1, 0, SHORT)


async def test_no_record_is_asked_for_of_removed_pages(index: StoredIndex) -> None:
    index.hold(*PAGES)
    until_a_second_has_passed()
    assert b"3 pages expired" in index.call("expire", "--retention-seconds", "1").stdout

    await require(index, 1)


def until_a_second_has_passed() -> None:
    """Records count whole seconds, so that two of the clock's must go by."""
    begun = int(time.time())
    wait_until(lambda: int(time.time()) > begun + 1, 10)
