"""The servers the other tests stand on: each answers, and none outlives the process that started it."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from textwrap import dedent

import pytest
import redis
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.errors import TopicAlreadyExistsError

from tests.chaos.slow_calls import LONG_MICROSECONDS, SLOW_LOG, SlowCalls
from tests.servers.kafka import KafkaBroker
from tests.servers.process import (
    ServerFailed,
    ServerMissing,
    ServerProcess,
    find_program,
    free_ports,
    wait_until,
)
from tests.servers.program import environment, piped_program, run_program
from tests.servers.redis import RedisCluster, RedisServer, find_redis, find_valkey, start_redis

GONE_SECONDS = 120
SCRIPT_SECONDS = 300
WAITING = ("find-all", "-b", "4", "-d", "3")
"""Reads a pipe on which nothing comes."""


def test_redis_answers(redis_server: RedisServer) -> None:
    with redis.Redis.from_url(redis_server.url) as client:
        assert client.ping()
        assert client.info("server")["process_id"] == redis_server.pid


def test_slow_calls_are_kept_while_the_slow_log_is_emptied() -> None:
    """In a run of minutes the log would take most of the server's memory."""
    calls = SlowCalls()
    busy = "local n = 0; for i = 1, {} do n = n + i end; return n"
    with start_redis(options=SLOW_LOG) as server, redis.Redis.from_url(server.url) as client:
        client.eval(busy.format(20_000_000), 0)
        calls.collect(server)
        lengths = [client.slowlog_len()]
        client.eval(busy.format(1), 0)
        calls.collect(server)
        lengths.append(client.slowlog_len())

    (long_call,) = calls.report()
    assert lengths == [0, 0]
    assert long_call.microseconds > LONG_MICROSECONDS
    assert long_call.command.startswith("EVAL local n = 0;")


def test_valkey_answers(valkey_server: RedisServer) -> None:
    with redis.Redis.from_url(valkey_server.url) as client:
        assert client.info("server")["server_name"] == "valkey"


@pytest.mark.parametrize("find_server", [find_redis, find_valkey], ids=["redis", "valkey"])
def test_a_server_takes_options_and_a_private_socket(find_server: Callable[[], str]) -> None:
    options = {"maxmemory-policy": "noeviction", "appendonly": "yes"}

    with (
        start_redis(find_server, options, unix_socket=True) as server,
        redis.Redis.from_url(server.url, decode_responses=True) as client,
    ):
        assert client.config_get(*options) == options


def test_a_cluster_serves_every_slot_from_three_masters_with_a_replica_each(
    redis_cluster: RedisCluster,
) -> None:
    roles = []
    for node in redis_cluster.nodes:
        with redis.Redis.from_url(node.url, decode_responses=True) as client:
            info = client.execute_command("CLUSTER INFO")
            roles.append(client.info("replication")["role"])
            assert (info["cluster_state"], info["cluster_slots_ok"]) == ("ok", "16384")

    assert sorted(roles) == ["master"] * 3 + ["slave"] * 3


@pytest.mark.parametrize("codec", [None, "gzip", "snappy", "lz4", "zstd"])
async def test_a_record_sent_to_the_broker_is_read_back(
    kafka_broker: KafkaBroker, topic_prefix: str, codec: str | None
) -> None:
    kafka_broker.create_topic(topic_prefix, partitions=2)

    async with AIOKafkaProducer(
        bootstrap_servers=kafka_broker.bootstrap_servers, compression_type=codec, acks="all"
    ) as producer:
        await producer.send_and_wait(topic_prefix, b"value" * 100, key=b"key")
    async with AIOKafkaConsumer(
        topic_prefix, bootstrap_servers=kafka_broker.bootstrap_servers, auto_offset_reset="earliest"
    ) as consumer:
        record = await consumer.getone()

    assert (record.key, record.value) == (b"key", b"value" * 100)


def test_a_topic_that_exists_is_refused(kafka_broker: KafkaBroker, topic_prefix: str) -> None:
    kafka_broker.create_topic(topic_prefix)

    with pytest.raises(TopicAlreadyExistsError, match=topic_prefix):
        kafka_broker.create_topic(topic_prefix)


def test_a_stopped_server_is_gone() -> None:
    with start_redis() as server:
        server.stop()

        assert not _exists(server.pid)


@pytest.mark.parametrize(
    "start", ["tests.servers.redis.start_redis", "tests.servers.kafka.start_kafka"], ids=["redis", "kafka"]
)
def test_a_server_stops_when_its_parent_is_killed(start: str, tmp_path: Path) -> None:
    module, function = start.rsplit(".", 1)
    script = tmp_path / "parent.py"
    script.write_text(
        dedent(f"""
            import signal
            from {module} import {function}

            with {function}() as server:
                print(server.pid, flush=True)
                signal.pause()
        """)
    )
    root = Path(__file__).parents[2]
    with subprocess.Popen(
        [sys.executable, script],
        stdout=subprocess.PIPE,
        # Killed, it cannot tidy up its directory: that shall be pytest's to remove.
        env=os.environ | {"PYTHONPATH": str(root), "TMPDIR": str(tmp_path)},
    ) as parent:
        assert parent.stdout is not None
        server_pid = int(parent.stdout.readline())

        parent.send_signal(signal.SIGKILL)

    wait_until(lambda: not _exists(server_pid), GONE_SECONDS)


def test_a_missing_program_is_named_with_the_package_that_brings_it() -> None:
    with pytest.raises(ServerMissing, match=r"no-such-server is not on PATH.*apt-get install some-package"):
        find_program("no-such-server", package="some-package")


def test_a_server_that_ends_early_shows_its_log(tmp_path: Path) -> None:
    process = ServerProcess([find_redis(), "--no-such-directive", "1"], tmp_path)

    with pytest.raises(ServerFailed, match=r"ended with code 1(.|\n)*no-such-directive"):
        process.wait_until_ready(lambda: False, GONE_SECONDS)


def test_a_server_that_is_never_ready_is_ended(tmp_path: Path) -> None:
    process = ServerProcess([find_redis(), "--port", str(free_ports(1)[0])], tmp_path)

    with pytest.raises(ServerFailed, match="not ready"):
        process.wait_until_ready(lambda: False, timeout_seconds=0)
    assert not _exists(process.pid)


def test_ports_are_handed_out_in_turn() -> None:
    ports = [*free_ports(3), *free_ports(3)]

    assert len(set(ports)) == 6


def test_a_forked_program_does_what_a_started_one_does() -> None:
    page = b'{"url": "http://a.example/", "text": "one page"}'
    seconds = re.compile(rb"[0-9.]+ s\b")
    for words in (
        ["--version"],
        ["query"],
        ["tail", "--set", "kafka.bootstrap_servers=127.0.0.1:1"],
        ["dedup", "-"],
    ):
        command = [sys.executable, "-m", "neardup_daemon", *words]
        started = subprocess.run(command, input=page, capture_output=True, check=False, env=environment({}))
        forked = run_program(words, page, {}, GONE_SECONDS)

        assert (forked.returncode, forked.stdout, seconds.sub(b"", forked.stderr)) == (
            started.returncode,
            started.stdout,
            seconds.sub(b"", started.stderr),
        )


def test_a_forked_program_gets_signals_and_reports_which_one_ended_it() -> None:
    with piped_program(WAITING) as run:
        program = run.child
        assert program.poll() is None

        program.kill()

        assert program.wait(GONE_SECONDS) == program.poll() == -signal.SIGKILL


def test_a_forked_program_hears_signals_though_its_tests_were_started_in_the_background() -> None:
    script = dedent(f"""
        import os, signal
        from tests.servers.program import start_program
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        reading, writing = os.pipe()
        nothing = os.open(os.devnull, os.O_RDWR)
        program = start_program(["find-all", "-b", "4", "-d", "3"], {{}}, (reading, nothing, nothing))
        program.send_signal(signal.SIGINT)
        assert program.wait({GONE_SECONDS}) != 0
    """)
    subprocess.run([sys.executable, "-c", script], check=True, timeout=SCRIPT_SECONDS)


def test_a_forked_program_is_killed_with_the_process_that_started_it() -> None:
    script = dedent("""
        import os, signal
        from tests.servers.program import start_program
        reading, writing = os.pipe()
        program = start_program(["find-all", "-b", "4", "-d", "3"], {}, (reading, 2, 2))
        print(program.pid, flush=True)
        signal.pause()
    """)
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        program = int(parent.stdout.readline())
        assert _exists(program)

        parent.send_signal(signal.SIGKILL)

    wait_until(lambda: not _exists(program), GONE_SECONDS)


def test_a_forked_program_is_killed_with_its_watcher() -> None:
    with piped_program(WAITING) as run:
        program = run.child
        watcher = int(Path(f"/proc/{program.pid}/stat").read_text().rpartition(") ")[2].split()[1])

        os.kill(watcher, signal.SIGKILL)

        assert program.wait(GONE_SECONDS) == program.poll() == -signal.SIGKILL
        wait_until(lambda: not _exists(program.pid), GONE_SECONDS)


def _exists(pid: int) -> bool:
    """Return whether a process runs; one that has ended and waits for its parent to ask does not."""
    try:
        status = Path(f"/proc/{pid}/stat").read_text()
    except FileNotFoundError:
        return False
    return status.rpartition(") ")[2][0] != "Z"
