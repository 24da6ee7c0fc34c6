"""However much is asked at once, every call of a script does a bounded amount of work."""

from collections.abc import AsyncIterator, Sequence
from typing import Any

import pytest

from neardup_stream.clusters.clusters import Clusters
from neardup_stream.clusters.portions import CELLS_AT_ONCE
from neardup_stream.clusters.requests import PageVersion, PlaceRequest
from neardup_stream.indexes.layout import IndexConfig, IndexLayout
from neardup_stream.indexes.permuted import PermutedIndex
from neardup_stream.indexes.protocol import IndexedPage
from neardup_stream.match import Match
from neardup_stream.message import Partition, Position
from neardup_stream.page import Fingerprint64, Handle, PageId
from neardup_stream.pipeline.decide import decide_requests
from neardup_stream.stores.cluster_store import PAGES, Cell, MemberRange
from neardup_stream.stores.redis.client import RedisClient, Script, ScriptCall
from neardup_stream.stores.redis.cluster_keys import ClusterKeys
from neardup_stream.stores.redis.clusters import CELLS_PER_CALL, MEMBERS_PER_CALL, RedisClusters
from neardup_stream.stores.redis.config import RedisConfig
from neardup_stream.stores.redis.keys import Keys
from neardup_stream.stores.redis.records import RECORDS_PER_CALL, RedisRecords
from neardup_stream.stores.redis.tables import (
    ENTRIES_PER_CALL,
    REMOVED_PER_CALL,
    WORK_PER_CALL,
    RedisTables,
)
from tests.servers.redis import RedisServer

LAYOUT = IndexLayout(IndexConfig(expected_pages=1_000_000))
SCHEMA = "5c"


class RecordingClient(RedisClient):
    """Keeps the calls and their answers."""

    def __init__(self, config: RedisConfig) -> None:
        super().__init__(config)
        self.calls: list[ScriptCall] = []
        self.answers: list[Any] = []

    async def run(self, script: Script, calls: Sequence[ScriptCall]) -> list[Any]:
        answers = await super().run(script, calls)
        self.calls += calls
        self.answers += answers
        return answers

    @property
    def most_keys(self) -> int:
        """Of all calls."""
        return max(len(call.keys) for call in self.calls)


@pytest.fixture
async def client(redis_server: RedisServer) -> AsyncIterator[RecordingClient]:
    async with RecordingClient(RedisConfig(redis_server.url)) as client:
        yield client


@pytest.fixture
def keys(namespace: str) -> Keys:
    return Keys(
        namespace=namespace,
        schema_id=SCHEMA,
        shard_bits=LAYOUT.shard_bits,
        table_count=LAYOUT.table_count,
        bucket_bits=LAYOUT.key_bucket_bits,
        slot_bits=LAYOUT.slot_bits,
    )


@pytest.fixture
def clusters(client: RecordingClient, namespace: str) -> RedisClusters:
    return RedisClusters(client, ClusterKeys(namespace=namespace, schema_id=SCHEMA, slot_bits=14))


def spread(number: int) -> Handle:
    return Handle(number * 0x9E37_79B9_7F4A_7C15 % 2**64)


async def test_a_call_of_the_tables_reads_few_members_where_buckets_are_large(
    client: RecordingClient, keys: Keys
) -> None:
    index = PermutedIndex(RedisTables(client, keys), LAYOUT)
    pages = [IndexedPage(spread(number), 1, Fingerprint64(7)) for number in range(100)]
    await index.probe_and_insert(pages)

    probed = await index.probe(pages)

    assert [len(each) for each in probed.candidates] == [len(pages) - 1] * len(pages)
    reported_bytes = max(len(answer[0]) for answer in client.answers)
    assert reported_bytes <= (WORK_PER_CALL + len(pages)) * (reported_bytes_of_one := 4 + 8 + 8 + 1)
    assert reported_bytes > WORK_PER_CALL // 2 * reported_bytes_of_one


async def test_a_call_of_the_tables_takes_few_entries(client: RecordingClient, keys: Keys) -> None:
    index = PermutedIndex(RedisTables(client, keys), LAYOUT)
    pages = [IndexedPage(spread(number), 1, Fingerprint64(spread(number))) for number in range(500)]

    await index.probe_and_insert(pages)
    assert max(done for _, _, _, done in client.answers) == ENTRIES_PER_CALL

    client.calls.clear()
    await index.remove(pages)
    assert client.most_keys == REMOVED_PER_CALL


async def test_a_call_reads_few_records(client: RecordingClient, keys: Keys) -> None:
    handles = [spread(number) for number in range(3 * RECORDS_PER_CALL + 1)]

    assert await RedisRecords(client, keys).fetch(handles) == [None] * len(handles)

    assert (len(client.calls), client.most_keys) == (4, RECORDS_PER_CALL)


async def test_a_call_reads_few_cells_and_members(client: RecordingClient, clusters: RedisClusters) -> None:
    cells = [Cell(PAGES, spread(number).to_bytes(8, "big")) for number in range(2 * CELLS_PER_CALL + 1)]
    ranges = [
        MemberRange(spread(number).to_bytes(8, "big") + bytes(4), MEMBERS_PER_CALL // 2)
        for number in range(1, 6)
    ]

    values, members = await clusters.read(cells, ranges)

    assert (values, members) == ([None] * len(cells), [[]] * len(ranges))
    assert [len(call.keys) for call in client.calls[3:]] == [2, 2, 1]
    assert client.most_keys <= CELLS_PER_CALL


async def test_a_commit_of_pages_that_match_many_others_expects_few_cells(
    client: RecordingClient, clusters: RedisClusters
) -> None:
    partition, count, matched = Partition("pages", 0), 100, 100
    requests = [
        place(Position(partition, each), range(10**6 * each, 10**6 * each + matched)) for each in range(count)
    ]
    deciding = Clusters(clusters, lambda _handles: no_descriptions())

    decided = await decide_requests(deciding, requests, lambda _request, _placement: b"", 0)

    assert len(decided) == count
    # Beside page cells, a commit writes its rows and the bounds of their offsets.
    assert client.most_keys <= CELLS_AT_ONCE + count


async def no_descriptions() -> dict[Handle, Any]:
    """Of pages that represent no others."""
    return {}


def place(position: Position, matched: range) -> PlaceRequest:
    """A page that matches some others, of which nothing is known."""
    own = PageId(f"https://example.com/{position.offset}")
    matches = tuple(
        Match(spread(each), PageId(str(each)), str(each), 1, 0, "exact", rank=1) for each in matched
    )
    node = PageVersion(spread(position.offset + 1), 1, own, own)
    return PlaceRequest(position, node, matches)
