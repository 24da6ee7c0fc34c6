"""However much is asked at once, every call of a script does a bounded amount of work."""

import random
from collections.abc import AsyncIterator, Callable, Sequence
from importlib.resources import files
from itertools import chain, pairwise
from pathlib import Path

import pytest

from neardup_stream.clusters.clusters import Clusters
from neardup_stream.clusters.portions import CELLS_AT_ONCE, ROW_BYTES_AT_ONCE
from neardup_stream.clusters.protocol import Decider
from neardup_stream.clusters.unclustered import Unclustered
from neardup_stream.indexes.layout import IndexConfig, IndexLayout
from neardup_stream.indexes.permuted import PermutedIndex
from neardup_stream.indexes.protocol import IndexedPage
from neardup_stream.message import Partition, Position
from neardup_stream.page import Fingerprint64
from neardup_stream.pipeline.decide import decide_requests
from neardup_stream.stores.aged_parts import AgedPart, pack_part
from neardup_stream.stores.cluster_store import (
    BLOCK_BYTES,
    BLOCK_OFFSETS,
    PAGES,
    Aged,
    CellAddress,
    MemberRange,
    Transaction,
    block_address,
    rows_table,
)
from neardup_stream.stores.frame_store import FrameChange
from neardup_stream.stores.protocol import RankWrite, RecordChange, RecordDrop
from neardup_stream.stores.redis.client import RedisClient
from neardup_stream.stores.redis.clusters import CELLS_PER_CALL, MEMBERS_PER_CALL, RedisClusters
from neardup_stream.stores.redis.config import RedisConfig
from neardup_stream.stores.redis.frames import TABLES_PER_CALL, RedisFrames
from neardup_stream.stores.redis.keys import ClusterKeys, Keys
from neardup_stream.stores.redis.records import RECORDS_PER_CALL, RedisRecords
from neardup_stream.stores.redis.tables import (
    BUCKETS_PER_CALL,
    ENTRIES_PER_CALL,
    REMOVED_PER_CALL,
    WORK_PER_CALL,
    RedisTables,
    remove_named_buckets,
)
from neardup_stream.stores.redis.walking import WALKED_BYTES, WALKED_FIELDS, walk_hashes
from tests.integration.recorded_calls import (
    COMMIT_ARGUMENTS,
    RecordingClient,
    no_descriptions,
    place,
    sized,
    spread,
)
from tests.servers.redis import RedisServer

BOUNDED_HERE = (
    "age_clusters",
    "commit_clusters",
    "drop_records",
    "fetch_frames",
    "fetch_records",
    "probe_insert",
    "read_clusters",
    "remove_buckets",
    "remove_members",
    "replace_frames",
    "replace_records",
    "trim_clusters",
    "walk_hashes",
    "write_ranks",
)
CONSTANT = ("claim_slots", "end_lease", "missing_rights", "raise_input_epoch", "take_lease", "take_turn")
BOUNDED_ELSEWHERE = (
    "count_records",  # tests/integration/test_redis_usage.py
    "due_clusters",  # tests/contracts/clusters.py, by its limit
    "sweep_clusters",  # takes what `due_clusters` returned
)
"""Scripts by what bounds one call: a test of this file, nothing that grows, or another test."""

LARGE_ROW = 32_000
TRIMMED_BYTES = 1 << 20

LAYOUT = IndexLayout(IndexConfig(expected_pages=1_000_000))
SCHEMA = "5c"


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
    assert max(done for _, _, _, done, _ in client.answers) == ENTRIES_PER_CALL

    client.calls.clear()
    await index.remove(pages)
    assert client.most_keys == REMOVED_PER_CALL


async def test_no_call_is_cut_where_all_ranges_have_grown_alike(client: RecordingClient, keys: Keys) -> None:
    index = PermutedIndex(RedisTables(client, keys), LAYOUT)
    draw = random.Random(7)
    blocks = [draw.sample(range(1 << 16), 64) for _ in range(4)]
    pages = [IndexedPage(spread(number), 1, Fingerprint64(_joined(blocks, draw))) for number in range(1500)]
    await index.probe_and_insert(pages)
    for _ in range(12):
        client.answers.clear()
        await index.probe(pages)

    entry_count = len(pages) * LAYOUT.table_count
    assert sum(done for *_, done, _ in client.answers) == entry_count
    assert sum(work for *_, work in client.answers) > entry_count * WORK_PER_CALL // ENTRIES_PER_CALL


def _joined(blocks: Sequence[Sequence[int]], draw: random.Random) -> int:
    """Return a fingerprint with one of the values of each block."""
    return sum(draw.choice(values) << 16 * place for place, values in enumerate(blocks))


async def test_a_call_reads_few_records(client: RecordingClient, keys: Keys) -> None:
    handles = [spread(number) for number in range(3 * RECORDS_PER_CALL + 1)]

    assert await RedisRecords(client, keys).fetch(handles) == [None] * len(handles)

    assert (len(client.calls), client.most_keys) == (4, RECORDS_PER_CALL)


async def test_a_call_reads_few_cells_and_members(client: RecordingClient, clusters: RedisClusters) -> None:
    addresses = [
        CellAddress(PAGES, spread(number).to_bytes(8, "big")) for number in range(2 * CELLS_PER_CALL + 1)
    ]
    ranges = [
        MemberRange(spread(number).to_bytes(8, "big") + bytes(4), MEMBERS_PER_CALL // 2)
        for number in range(1, 6)
    ]

    values, members = await clusters.read(addresses, ranges)

    assert (values, members) == ([None] * len(addresses), [[]] * len(ranges))
    assert [len(call.keys) for call in client.calls[3:]] == [2, 2, 1]
    assert client.most_keys <= CELLS_PER_CALL


@pytest.mark.parametrize("size_bytes", [16, 16_000])
async def test_a_call_walks_over_few_fields_and_few_bytes(
    client: RecordingClient, namespace: str, size_bytes: int
) -> None:
    hashes = [f"{namespace}:{{0}}:{number}" for number in range(64)]
    fields = {b"%d" % number: bytes(size_bytes) for number in range(16)}
    for name in hashes[::2]:
        await client.execute("HSET", name, *chain.from_iterable(fields.items()))
    left, counts = hashes, []

    while left:
        walked = await walk_hashes(client, left)
        left = left[walked.read_count :]
        counts.append(len(walked.fields))

    assert sum(counts) == 32 * len(fields)
    assert max(counts) <= WALKED_FIELDS
    assert (max(counts) - len(fields)) * size_bytes < WALKED_BYTES


async def test_a_commit_of_pages_that_match_many_others_expects_few_cells(
    client: RecordingClient, clusters: RedisClusters
) -> None:
    partition, count, matched = Partition("pages", 0), 100, 100
    requests = [
        place(Position(partition, each), range(10**6 * each, 10**6 * each + matched)) for each in range(count)
    ]
    deciding = Clusters(clusters, lambda _pages: no_descriptions())

    decided = await decide_requests(deciding, requests, lambda _request, _placement: b"", 0)

    assert len(decided) == count
    # Beside page cells, a commit writes its rows and the bounds of their offsets.
    assert client.most_keys <= CELLS_AT_ONCE + count


@pytest.mark.parametrize(
    "made_of",
    [lambda store: Clusters(store, lambda _pages: no_descriptions()), Unclustered],
    ids=["clusters", "no clusters"],
)
async def test_a_commit_stores_few_bytes_of_decisions_and_copies_few_that_are_stored(
    client: RecordingClient, clusters: RedisClusters, made_of: Callable[[RedisClusters], Decider]
) -> None:
    partition, count = Partition("pages", 0), 200
    requests = [place(Position(partition, each), range(0)) for each in range(count)]
    deciding = made_of(clusters)

    decided = await decide_requests(deciding, requests, lambda _request, _placement: bytes(LARGE_ROW), 0)

    commits = [call for call in client.calls if len(call.args) == COMMIT_ARGUMENTS]
    sizes = await block_sizes(client, clusters, partition)
    assert [len(each.record) for each in decided] == [LARGE_ROW] * count
    assert max(len(argument) for call in commits for argument in sized(call)) < ROW_BYTES_AT_ONCE + LARGE_ROW
    assert len(commits) < 2 * count * LARGE_ROW / ROW_BYTES_AT_ONCE + 2
    assert max(sizes) < BLOCK_BYTES + ROW_BYTES_AT_ONCE + LARGE_ROW
    assert sum(sizes) > count * LARGE_ROW
    stored = await deciding.already_decided([each.position for each in requests])
    assert set(stored.outcomes.values()) == set(decided)


async def test_a_trim_removes_few_bytes(client: RecordingClient, clusters: RedisClusters) -> None:
    partition, block = Partition("pages", 0), 3 * BLOCK_BYTES
    for number in range(12):
        part = pack_part(AgedPart(0, [], bytes(block)))
        address = block_address(Position(partition, number * BLOCK_OFFSETS))
        await clusters.commit(Transaction({}, {}, {}, appended=[(address, part)]))

    left, cursor = [12], 0
    while left[-1]:
        cursor = await clusters.trim(partition, 12 * BLOCK_OFFSETS, cursor) or 0
        left.append(len(await block_sizes(client, clusters, partition)))

    assert max(before - after for before, after in pairwise(left)) * block <= TRIMMED_BYTES + block


async def test_a_call_ages_few_pages(client: RecordingClient, clusters: RedisClusters) -> None:
    await clusters.age([Aged(number, spread(number)) for number in range(2 * CELLS_PER_CALL + 1)])

    assert [len(call.args) for call in client.calls] == [CELLS_PER_CALL, CELLS_PER_CALL, 1]


async def test_a_call_reads_and_writes_few_frame_tables(client: RecordingClient, keys: Keys) -> None:
    frames, sites = RedisFrames(client, keys), [spread(number) for number in range(2 * TABLES_PER_CALL + 1)]
    tables = [number.to_bytes(8, "big") for number in range(1, len(sites) + 1)]

    answers = await frames.replace(
        [FrameChange(site, b"", table) for site, table in zip(sites, tables, strict=True)]
    )

    assert answers == [None] * len(sites)
    assert await frames.fetch(sites) == tables
    assert [len(call.keys) for call in client.calls] == 2 * [TABLES_PER_CALL, TABLES_PER_CALL, 1]


async def test_a_call_writes_few_records(client: RecordingClient, keys: Keys) -> None:
    records, count = RedisRecords(client, keys), 2 * RECORDS_PER_CALL + 1
    handles = [spread(number) for number in range(count)]

    await records.replace([RecordChange(each, None, bytes(8)) for each in handles])
    await records.write_ranks([RankWrite(each, 0, 1) for each in handles])
    await records.drop([RecordDrop(each, None, 1) for each in handles])

    assert [len(call.keys) for call in client.calls] == 3 * [RECORDS_PER_CALL, RECORDS_PER_CALL, 1]


async def test_tables_are_removed_few_buckets_at_a_time(client: RecordingClient, keys: Keys) -> None:
    await PermutedIndex(RedisTables(client, keys), LAYOUT).probe_and_insert(
        [IndexedPage(spread(number), 1, Fingerprint64(spread(number))) for number in range(100)]
    )
    client.calls.clear()

    assert await remove_named_buckets(client, keys, [cut.bucket_bits for cut in LAYOUT.cuts]) > 0

    assert client.most_keys == BUCKETS_PER_CALL


def test_every_script_does_a_bounded_amount_of_work_in_one_call() -> None:
    scripts = {each.name for each in Path(str(files("neardup_stream.stores.redis"))).glob("*.lua")}

    assert {f"{name}.lua" for name in (*BOUNDED_HERE, *CONSTANT, *BOUNDED_ELSEWHERE)} == scripts


async def block_sizes(client: RedisClient, clusters: RedisClusters, partition: Partition) -> list[int]:
    """Bytes of the stored blocks of a partition."""
    key = clusters._keys.of(CellAddress(rows_table(partition), b""))
    return [len(value) for value in await client.execute("HVALS", key)]
