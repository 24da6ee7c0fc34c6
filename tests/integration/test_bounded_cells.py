"""Cells of pages hold what waits for them: however long its URLs are, calls read and write few bytes."""

from typing import Any, Final

from neardup_stream.clusters.clusters import Clusters
from neardup_stream.clusters.portions import CHANGED_BYTES_AT_ONCE
from neardup_stream.message import Partition, Position
from neardup_stream.pipeline.decide import decide_requests
from neardup_stream.stores.redis.client import ScriptCall
from neardup_stream.stores.redis.clusters import RedisClusters
from neardup_stream.stores.redis.config import RedisConfig
from neardup_stream.stores.redis.keys import ClusterKeys
from tests.integration.recorded_calls import COMMIT_ARGUMENTS, RecordingClient, no_descriptions, place, sized
from tests.servers.redis import RedisServer

LONG_URL: Final = "{}" + "u" * 4000
FILLING_URL: Final = "{}" + "u" * 8200
"""A match that waits with such a URL leaves no room for another one."""
CELL_BYTES: Final = 1 << 15
"""More than one cell takes."""

COMMITTED_COUNT: Final = 10
"""Place of the argument that says how many requests a commit decides."""

SWAPS, WRITES = 3, 6
"""Places of the cells that a commit writes."""


async def test_matches_that_wait_for_pages_with_long_urls_are_read_and_written_few_bytes_at_a_time(
    redis_server: RedisServer, namespace: str
) -> None:
    """One daemon decides pages that match those of another, which decides them later."""
    waiting = range(1000, 1064)
    first = [place(Position(Partition("pages", 0), each), waiting, LONG_URL, rank=0) for each in range(64)]
    second = [place(Position(Partition("pages", 1), each - 1), range(0), LONG_URL) for each in waiting]

    async with RecordingClient(RedisConfig(redis_server.url)) as client:
        keys = ClusterKeys(namespace=namespace, schema_id="5c", slot_bits=14)
        deciding = Clusters(RedisClusters(client, keys), lambda _pages: no_descriptions())
        for requests in (first[:32], first[32:], second):
            decided = await decide_requests(deciding, requests, lambda _request, _placement: b"", 0)
            assert len(decided) == len(requests)

    commits = [call for call in client.calls if len(call.args) == COMMIT_ARGUMENTS]
    several = [call for call in commits if call.args[COMMITTED_COUNT] != 1]
    assert max(map(written, several)) < CHANGED_BYTES_AT_ONCE + CELL_BYTES
    assert max(map(written, commits)) < len(waiting) * CELL_BYTES
    read = [sum(map(len, filter(None, answer[0]))) for answer in client.answers if is_values(answer)]
    assert CHANGED_BYTES_AT_ONCE // 2 < max(read) < CHANGED_BYTES_AT_ONCE + CELL_BYTES


async def test_commits_about_pages_that_match_pages_without_room_send_and_compare_few_bytes(
    redis_server: RedisServer, namespace: str
) -> None:
    """Of what waits for a page nothing is sent, and not all such cells are looked at by one commit."""
    full = range(1000, 1300)
    filling = place(Position(Partition("pages", 0), 0), full, FILLING_URL, rank=0)
    matching = [
        place(Position(Partition("pages", 0), 1 + each), full[each * 30 :][:30], rank=0) for each in range(10)
    ]

    async with RecordingClient(RedisConfig(redis_server.url)) as client:
        keys = ClusterKeys(namespace=namespace, schema_id="5c", slot_bits=14)
        deciding = Clusters(RedisClusters(client, keys), lambda _pages: no_descriptions())
        await decide_requests(deciding, [filling], lambda _request, _placement: b"", 0)
        client.calls.clear()
        decided = await decide_requests(deciding, matching, lambda _request, _placement: b"", 0)

    assert [each.dropped_edges for each in decided] == [30] * 10
    commits = [call for call in client.calls if len(call.args) == COMMIT_ARGUMENTS]
    assert max(sum(map(len, sized(call))) for call in commits) < CELL_BYTES
    assert 1 < len(commits) < len(matching)


def written(call: ScriptCall) -> int:
    """Return how many bytes a commit has sent of the cells that it writes, before and after."""
    arguments = list(sized(call))
    return len(arguments[SWAPS]) + len(arguments[WRITES])


def is_values(answer: Any) -> bool:
    """Return whether a script answered with cells and members."""
    return isinstance(answer, list) and len(answer) == 2 and isinstance(answer[0], list)
