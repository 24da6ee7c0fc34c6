"""`rebuild --into`: tables are laid out for more pages while daemons run, and the command is killed."""

import asyncio
import json
import os
import re
import signal
import subprocess
import tomllib
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import cast

import pytest
import redis
from neardup_daemon.inspect.page_lookup import find_stored
from neardup_daemon.inspect.querying import answer_about
from neardup_daemon.settings.settings import Settings
from neardup_daemon.stored_index import open_stored_index

from neardup_stream.indexes.protocol import Index, IndexedPage, Probed
from neardup_stream.message import Message
from neardup_stream.stores.redis.client import RedisClient
from neardup_stream.stores.redis.config import RedisConfig
from neardup_stream.stores.redis.keys import laying_key
from neardup_stream.stores.redis.leases import Lease
from tests.chaos.arena import CALM, build_arena
from tests.chaos.fleet import serving
from tests.chaos.judging import stored_partition, violations, wait_until_quiet
from tests.pipelines import essay, page_json
from tests.servers.daemon import Daemon
from tests.servers.kafka import KafkaBroker
from tests.servers.process import is_paused, wait_until
from tests.servers.program import piped_program
from tests.servers.proxy import start_proxy
from tests.servers.query_api import start_query_api
from tests.servers.redis import RedisCluster, RedisServer
from tests.system.conftest import StoredIndex, call, namespace_of

QUIET_SECONDS = 60
SIGKILLED = -9
PORTION = 60
STEPS = (
    "after cluster_store.commit",  # announced
    "after records.walk 2",  # filled in part
    "before cluster_store.commit",  # filled
    "after cluster_store.commit",  # switched
)
NEW_SETTINGS = "[index]\nexpected_pages = 20_000_000\nblocks = 3\nsubstrings = 2\n"
URL = "https://example.com/{}"
PLANNED = 'neardup_limit{setting="index.expected_pages"}'


def lay_out(settings: Sequence[str], pages: int, kill: str = "") -> subprocess.CompletedProcess[bytes]:
    points = (f"failpoints.kill={kill}",) if kill else ()
    overrides = [word for setting in (*settings, *points) for word in ("--set", setting)]
    return call("rebuild", "--into", str(pages), *overrides)


def lease_key(index: StoredIndex) -> str:
    """Return the key of the lease for laying out an index that holds pages."""
    name = next(key for key in index.keys(f"{index.namespace}:*") if b"{" in key)
    return laying_key(index.namespace, name.decode().split(":")[1])


def layouts(server: RedisServer | RedisCluster, settings: Sequence[str]) -> set[bytes]:
    """Return the layouts that have buckets: `t` for that of the creation, then `t1.`, `t2.`."""
    keys = keys_of(server, f"{namespace_of(settings)}:*")
    found = [re.search(rb"}:(t(?:\d+\.)?)\d+:", key) for key in keys]
    return {each[1] for each in found if each}


def keys_of(server: RedisServer | RedisCluster, pattern: str) -> Iterator[bytes]:
    for node in server.nodes if isinstance(server, RedisCluster) else [server]:
        with redis.Redis.from_url(node.url) as client:
            yield from client.scan_iter(pattern)


def portion(number: int) -> list[Message]:
    """Return pages: originals first, and in every later portion a near copy of each."""
    edits = [5 * number] if number else []
    return [
        Message(key=b"%d" % topic, value=page_json(f"{topic}-{number}", essay(topic, edits)))
        for topic in range(PORTION)
    ]


def is_planned_anew(daemon: Daemon) -> bool:
    return daemon.metrics("neardup_limit").get(PLANNED) == 20_000_000


def test_tables_change_while_two_daemons_run_and_the_command_is_killed_at_each_step(
    kafka_broker: KafkaBroker, redis_server: RedisServer
) -> None:
    arena = build_arena(kafka_broker, redis_server)
    arena.publish(portion(0))
    with ExitStack() as stack:
        daemons = serving(stack, (*arena.settings, *CALM, "pipeline.max_batch_pages=20"), 2)
        for number, step in enumerate(STEPS, start=1):
            arena.publish(portion(number))
            killed = lay_out(arena.settings, 20_000_000, step)
            assert killed.returncode == SIGKILLED, (step, killed.stderr)
        done = lay_out(arena.settings, 20_000_000)
        arena.publish(portion(len(STEPS) + 1))
        wait_until_quiet(arena.settings, QUIET_SECONDS)
        wait_until(lambda: all(map(is_planned_anew, daemons)), QUIET_SECONDS)
        assert [daemon.stop() for daemon in daemons] == [0, 0]
        logs = [line["event"] for daemon in daemons for line in daemon.log_events()]

    assert (done.returncode, done.stdout.decode()[-len(NEW_SETTINGS) :]) == (0, NEW_SETTINGS)
    assert "table_layout_adopted" in logs
    assert violations(arena.settings) == []
    assert stored_partition(arena.settings) == {
        frozenset(f"https://example.com/{topic}-{number}" for number in range(len(STEPS) + 2))
        for topic in range(PORTION)
    }
    assert lay_out(arena.settings, 20_000_000).returncode == 0
    assert layouts(redis_server, arena.settings) == {b"t1."}


def test_daemons_start_with_the_settings_of_either_layout_and_with_no_other(index: StoredIndex) -> None:
    index.hold(*(page_json(name, essay(1)) for name in "ab"))
    tables = tomllib.loads(NEW_SETTINGS)["index"]
    larger = (*index.settings, *(f"index.{name}={value}" for name, value in tables.items()))
    other = (*index.settings, "index.expected_pages=3000000")
    early = StoredIndex(index.server, larger).call("query", "https://example.com/a")
    assert early.returncode == 2
    assert b"index.expected_pages is 8193 to 16384 there and 16777217 to 33554432 here" in early.stderr
    assert b"'neardup-stream rebuild --into PAGES'" in early.stderr

    assert lay_out(index.settings, 20_000_000).returncode == 0

    for settings in (index.settings, larger):
        found = StoredIndex(index.server, settings).json_of("query", "https://example.com/a")
        assert [match["id"] for match in found["matches"]] == ["https://example.com/b"]
        explained = StoredIndex(index.server, settings).json_of("explain", *map(URL.format, "ab"))
        assert explained["tables"]["simhash_count"] == 6  # of 2 substrings
    refused = StoredIndex(index.server, other).call("query", "https://example.com/a")
    assert refused.returncode == 2
    assert b"set these" in refused.stderr
    checks = [StoredIndex(index.server, each).call("check").stdout for each in (index.settings, larger)]
    assert [b"redis: the tables were laid out again" in each for each in checks] == [True, False]


def test_the_query_api_compares_and_explains_by_the_layout_in_force(index: StoredIndex) -> None:
    index.hold(*(page_json(name, essay(1)) for name in "ab"))
    names = [URL.format(name) for name in "ab"]
    compared = json.dumps({"first": {"url": names[0]}, "second": {"url": names[1]}}).encode()

    with start_query_api(index.settings) as api:
        assert lay_out(index.settings, 20_000_000).returncode == 0
        answers = [
            api.ask("GET", f"/v1/explain?url={names[0]}&url={names[1]}", None),
            api.post("/v1/compare", compared),
        ]

    assert [answer.value["tables"]["simhash_count"] for answer in answers] == [6, 6]


class LaidOutMeanwhile:
    """The tables of an index, which a whole run of the command lays out again just before they are probed."""

    def __init__(self, tables: Index, settings: Sequence[str]) -> None:
        self._tables = tables
        self._settings = settings
        self.probes = 0

    async def probe(self, pages: Sequence[IndexedPage]) -> Probed:
        self.probes += 1
        if self.probes == 1:
            assert (await asyncio.to_thread(lay_out, self._settings, 200_000)).returncode == 0
        return await self._tables.probe(pages)


async def test_a_query_finds_the_matches_though_the_tables_it_knows_are_removed_meanwhile(
    index: StoredIndex,
) -> None:
    await asyncio.to_thread(index.hold, *(page_json(name, essay(1)) for name in "ab"))
    settings = Settings.load(overrides=index.settings)

    async with open_stored_index(settings, None) as stores:
        page = await find_stored(URL.format("a"), stores.pages)
        tables = LaidOutMeanwhile(stores.pages.index, index.settings)
        pages = replace(stores.pages, index=cast("Index", tables))
        answer = await answer_about(page, replace(stores, pages=pages), (), settings)

    assert [match.id for match in answer.matches] == [URL.format("b")]
    assert (tables.probes, answer.is_truncated) == (2, False)


def test_the_layout_in_force_cancels_what_another_run_has_begun(index: StoredIndex) -> None:
    index.hold(*(page_json(name, essay(1)) for name in "ab"))
    assert lay_out(index.settings, 200_000, "before cluster_store.commit 2").returncode == SIGKILLED
    assert layouts(index.server, index.settings) == {b"t", b"t1."}

    cancelled = lay_out(index.settings, 10_000)

    assert (cancelled.returncode, layouts(index.server, index.settings)) == (0, {b"t"})


def test_a_number_that_has_the_layout_in_force_leaves_that_and_says_so(index: StoredIndex) -> None:
    index.hold(*(page_json(name, essay(1)) for name in "ab"))
    first, again = (lay_out(index.settings, pages).stdout.decode() for pages in (200_000, 210_000))

    assert "same layout" not in first
    assert "210,000 pages have the same layout as 200,000, for which the tables are laid out" in again
    assert "expected_pages = 200_000\n" in again


def test_the_index_is_not_rebuilt_while_its_tables_are_laid_out(index: StoredIndex) -> None:
    index.hold(*(page_json(name, essay(1)) for name in "ab"))
    assert lay_out(index.settings, 200_000, "before cluster_store.commit 2").returncode == SIGKILLED

    refused = index.call("rebuild")
    finished = lay_out(index.settings, 200_000)

    assert (refused.returncode, finished.returncode) == (2, 0)
    assert b"'rebuild --into' has not finished" in refused.stderr
    assert index.call("rebuild", "--set", "index.expected_pages=200000").returncode == 0


def test_fewer_pages_than_the_index_holds_are_refused_and_change_nothing(only_index: StoredIndex) -> None:
    only_index.hold(*(page_json(name, essay(number)) for number, name in enumerate("abc")))
    before = only_index.keys()

    refused = lay_out(only_index.settings, 2)

    assert refused.returncode == 2
    assert b"holds some 3 page records" in refused.stderr
    assert only_index.keys() == before


def test_more_pages_than_six_times_the_plan_of_creation_are_laid_out_with_a_warning(
    index: StoredIndex,
) -> None:
    index.hold(*(page_json(name, essay(1)) for name in "ab"))

    six_times, more = (lay_out(index.settings, pages) for pages in (60_000, 200_000))

    assert (six_times.returncode, more.returncode) == (0, 0)
    assert b"page_record_layout_outgrown" not in six_times.stderr
    assert more.stderr.count(b"page_record_layout_outgrown") == 1


def test_the_tables_of_a_redis_cluster_change_twice(redis_cluster: RedisCluster, namespace: str) -> None:
    settings = (f"redis.url={redis_cluster.url}", f"redis.namespace={namespace}")
    index = StoredIndex(redis_cluster.nodes[0], settings)
    index.hold(*(page_json(name, essay(1)) for name in "ab"))

    runs = [lay_out(settings, pages) for pages in (200_000, 50_000)]

    assert [run.returncode for run in runs] == [0, 0], runs[-1].stderr
    assert layouts(redis_cluster, settings) == {b"t2."}
    index.hold(page_json("c", essay(1)))
    found = index.json_of("query", "https://example.com/c")
    assert {match["id"][-1] for match in found["matches"]} == {"a", "b"}


@pytest.mark.parametrize("step", ["before cluster_store.commit", "before cluster_store.commit 2"])
def test_it_continues_where_redis_is_unavailable_around_the_fill(index: StoredIndex, step: str) -> None:
    index.hold(*(page_json(name, essay(1)) for name in "ab"))
    with start_proxy(index.server.port) as proxy:
        settings = (*index.settings, f"redis.url=redis://127.0.0.1:{proxy.port}", f"failpoints.stop={step}")
        overrides = [word for setting in settings for word in ("--set", setting)]
        with piped_program(["rebuild", "--into", "200000", *overrides]) as run:
            wait_until(lambda: is_paused(run.child.pid), 60)
            proxy.refuse()
            run.child.send_signal(signal.SIGCONT)
            assert any(b"dependency_unavailable" in line for line in run.stderr)
            proxy.heal()
            code, log = run.child.wait(60), run.stderr.read()

    assert code == 0, log.decode()
    assert layouts(index.server, index.settings) == {b"t1."}


async def test_a_second_one_is_refused_while_the_first_is_at_work(index: StoredIndex) -> None:
    await asyncio.to_thread(index.hold, *(page_json(name, essay(1)) for name in "ab"))
    before = index.keys(f"{index.namespace}:*")
    async with RedisClient(RedisConfig(index.server.url)) as client:
        lease = Lease(client, lease_key(index), "'rebuild --into'")
        await lease.take()
        refused = await lease.hold(asyncio.to_thread(lay_out, index.settings, 200_000))

    assert refused.returncode == 2
    assert f"another 'rebuild --into' is at work, process {os.getpid()} on ".encode() in refused.stderr
    assert index.keys(f"{index.namespace}:*") == before
    assert (await asyncio.to_thread(lay_out, index.settings, 200_000)).returncode == 0


def test_one_that_was_paused_while_another_began_ends_with_an_error(index: StoredIndex) -> None:
    index.hold(*(page_json(name, essay(1)) for name in "ab"))
    lease = lease_key(index)
    settings = (*index.settings, "failpoints.stop=before cluster_store.commit")
    overrides = [word for setting in settings for word in ("--set", setting)]
    with (
        piped_program(["rebuild", "--into", "200000", *overrides]) as run,
        redis.Redis.from_url(index.server.url) as client,
    ):
        wait_until(lambda: is_paused(run.child.pid), 60)
        wait_until(lambda: not client.exists(lease), 60)
        client.set(lease, "process 1 on host 0 0")
        run.child.send_signal(signal.SIGCONT)
        code, log = run.child.wait(60), run.stderr.read()
        left = client.getdel(lease)

    assert (code, left) == (2, b"process 1 on host 0 0")
    assert b"has lost its lease to process 1 on host" in log
    assert lay_out(index.settings, 200_000).returncode == 0
