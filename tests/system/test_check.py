"""`check`: what is wrong, and how to repair it."""

import socket
from pathlib import Path
from time import time

import pytest
from neardup_daemon.inspect.checks import judge_api, judge_layout, judge_servers, judge_topic
from neardup_daemon.inspect.start_checks import judge_http
from neardup_daemon.settings.query_api import Api
from neardup_daemon.settings.reporting import Http
from neardup_daemon.settings.settings import Settings

from neardup_stream.stores.redis.servers import ServerFacts
from neardup_stream.streams.kafka.admin import TopicFacts
from tests.servers.program import piped_program
from tests.servers.redis import RedisServer, start_redis
from tests.system.conftest import Site, call, new_index


def test_a_site_without_topics_is_bad_until_they_are_created(site: Site) -> None:
    before = site.call("check")
    created = site.call("check", "--create-topics", "--partitions", "3")
    again = site.call("check")
    after = site.call("check", settings=["retention.seconds=86400"])

    assert [run.returncode for run in (before, created, after)] == [2, 0, 0]
    assert f"there is no topic {site.topics[0]}" in before.stdout.decode()
    assert f"created topic {site.topics[0]}, 3 partitions" in created.stdout.decode()
    assert f"topic {site.topics[0]}, 3 partitions" in after.stdout.decode()
    warning = f"warn  kafka: topic {site.topics[0]} keeps records for 7 days"
    assert [warning in run.stdout.decode() for run in (created, again, after)] == [True, True, False]
    assert "max.message.bytes" not in after.stdout.decode()


def test_everything_that_is_unavailable_is_named_at_once(site: Site) -> None:
    run = site.call(
        "check", settings=["redis.url=redis://127.0.0.1:1", "kafka.bootstrap_servers=127.0.0.1:1"]
    )

    assert run.returncode == 2
    said = run.stdout.decode()
    assert "BAD  redis:" in said
    assert "BAD  kafka:" in said


@pytest.mark.parametrize(
    ("setting", "complaint"),
    [
        ("token_file", "cannot read api.token_file /nowhere: "),
        ("tls_certificate_file", "cannot use /nowhere: "),
    ],
)
def test_a_file_that_the_query_api_cannot_read_is_bad_where_daemons_serve_it(
    setting: str, complaint: str
) -> None:
    unread = ["--set", f"api.{setting}=/nowhere", "--set", "redis.url=redis://127.0.0.1:1"]

    run = call("check", *unread, "--set", "api.enabled=true", "--set", "kafka.bootstrap_servers=127.0.0.1:1")

    assert run.returncode == 2
    assert f"BAD  api: {complaint}" in run.stdout.decode()
    assert not list(judge_api(Api(token_file="/nowhere")))  # noqa: S106 - a path
    ran = call("run", *unread, "--set", "api.enabled=true", "--set", "http.port=0")
    assert ran.returncode == 2
    assert complaint in ran.stderr.decode()


def test_a_host_without_an_address_is_bad(tmp_path: Path) -> None:
    host = "a..b"
    (http,) = judge_http(Http(host=host))
    token = tmp_path / "token"
    token.write_text("secret\n", encoding="utf-8")
    (api,) = judge_api(Api(enabled=True, host=host, token_file=str(token)))

    assert (http.grade, api.grade) == ("bad", "bad")
    assert http.sentence.startswith(f"http: http.host '{host}' is no address: ")
    assert not list(judge_http(Http()))


def test_the_token_of_the_query_api_is_read(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("secret\n", encoding="utf-8")

    (finding,) = judge_api(Api(enabled=True, token_file=str(tmp_path / "token")))

    assert (finding.grade, finding.sentence) == (
        "good",
        "api: 127.0.0.1, port 9465, its token can be read",
    )


def test_findings_are_printed_as_they_are_made(redis_server: RedisServer) -> None:
    """A socket that is not read stands for a broker that hangs; it is waited for until it is closed."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        broker = f"kafka.bootstrap_servers=127.0.0.1:{silent.getsockname()[1]}"
        settings = (*new_index(redis_server).settings, broker, "kafka.request_timeout_seconds=300")
        words = ["check", *(word for setting in settings for word in ("--set", setting))]
        with piped_program(words) as run:
            early = [run.stdout.readline() for _ in range(5)]
            silent.close()
            late = run.stdout.read()
            ended = run.child.wait(60)

    index, redis, warned = b"  ok  index", b"  ok  redis", b"warn  redis"
    assert [line[:11] for line in early] == [index, redis, warned, warned, redis]
    assert [line[:11] for line in late.splitlines()] == [b" BAD  kafka"]
    assert ended == 2


def test_a_redis_that_refuses_writes_is_bad(namespace: str) -> None:
    with start_redis(options={"maxmemory": "1"}) as server:
        run = call("check", "--set", f"redis.url={server.url}", "--set", f"redis.namespace={namespace}")

    assert run.returncode == 2
    assert "BAD  redis: its memory is at maxmemory" in run.stdout.decode()


def test_a_replica_is_bad(namespace: str) -> None:
    with start_redis() as master, start_redis(options={"replicaof": f"127.0.0.1 {master.port}"}) as server:
        run = call("check", "--set", f"redis.url={server.url}", "--set", f"redis.namespace={namespace}")

    assert run.returncode == 2
    assert "BAD  redis: it is a replica" in run.stdout.decode()


@pytest.mark.parametrize("appends", ["yes", "no"])
def test_a_redis_that_forgets_when_it_restarts_is_warned_about(namespace: str, appends: str) -> None:
    with start_redis(options={"appendonly": appends}) as server:
        run = call("check", "--set", f"redis.url={server.url}", "--set", f"redis.namespace={namespace}")

    assert (b"warn  redis: it keeps no append-only file" in run.stdout) == (appends == "no")


@pytest.mark.parametrize("limit", ["0", "1gb"])
def test_a_redis_without_a_limit_of_its_memory_is_warned_about(namespace: str, limit: str) -> None:
    """Of a full machine no alert would say anything before the kernel kills the server."""
    with start_redis(options={"maxmemory": limit}) as server:
        run = call("check", "--set", f"redis.url={server.url}", "--set", f"redis.namespace={namespace}")

    assert (b"warn  redis: it has no maxmemory, so no alert" in run.stdout) == (limit == "0")


def test_a_redis_that_could_not_write_to_its_disk_is_warned_about() -> None:
    sound, failing = (judge_servers(ServerFacts("Redis", (), disk_error_nodes=each)) for each in ((), ("",)))

    assert list(sound) == []
    assert [each.grade for each in failing] == ["warning"]


@pytest.mark.parametrize("seconds_behind", [-120, 0, 120])
def test_a_clock_of_a_server_that_run_refuses_is_bad(seconds_behind: int) -> None:
    now_seconds = time()
    facts = ServerFacts("Redis", (), clock_seconds=(now_seconds, now_seconds - seconds_behind))

    findings = list(judge_servers(facts))

    assert [each.grade for each in findings] == ["bad"] * bool(seconds_behind)
    assert all("the clock of this host is 1" in each.sentence for each in findings)


def test_of_a_cluster_the_nodes_that_are_full_forget_or_have_no_limit_are_named() -> None:
    facts = ServerFacts(
        "Redis", (), full_nodes=("a:1",), forgetful_nodes=("a:1", "b:2"), unlimited_nodes=("b:2",)
    )

    full, forgetful, unlimited = judge_servers(facts)

    assert "its memory at a:1 is at maxmemory" in full.sentence
    assert "no append-only file at a:1, b:2, so" in forgetful.sentence
    assert "no maxmemory at b:2, so" in unlimited.sentence


@pytest.mark.parametrize(
    ("facts", "grade"),
    [
        (None, "bad"),
        (TopicFacts(4, None, None), "warning"),
        (TopicFacts(4, 1 << 20, "delete"), "good"),
        (TopicFacts(4, 1 << 20, "compact"), "warning"),
        (TopicFacts(4, 1 << 20, "compact,delete"), "warning"),
    ],
    ids=["missing", "hidden-settings", "fine", "compacted", "compacted-as-well"],
)
def test_an_events_topic_that_may_do_harm_is_warned_about(facts: TopicFacts | None, grade: str) -> None:
    assert judge_topic("events", facts, "events", Settings()).grade == grade


@pytest.mark.parametrize(("limit_bytes", "grade"), [(4259839, "warning"), (4259840, "good")])
def test_a_pages_topic_that_takes_less_than_the_largest_page_is_warned_about(
    limit_bytes: int, grade: str
) -> None:
    finding = judge_topic("pages", TopicFacts(4, limit_bytes, "delete"), "pages", Settings())

    assert finding.grade == grade
    assert ("set max.message.bytes to 4259840" in finding.sentence) == (grade == "warning")


@pytest.mark.parametrize(
    ("retention", "kept_seconds", "grade"),
    [
        (0, None, "good"),
        (0, 10**9, "warning"),
        (600, 600, "good"),
        (600, 599, "warning"),
        (600, 0, "warning"),
    ],
)
def test_a_pages_topic_that_keeps_records_for_a_shorter_time_than_pages_are_kept_is_warned_about(
    retention: int, kept_seconds: int | None, grade: str
) -> None:
    deletes_after_ms = None if kept_seconds is None else 1000 * kept_seconds
    facts = TopicFacts(4, 1 << 23, "delete", deletes_after_ms=deletes_after_ms)
    settings = Settings.load(overrides=[f"retention.seconds={retention}"])

    assert judge_topic("pages", facts, "pages", settings).grade == grade


@pytest.mark.parametrize(("expected_pages", "grade"), [(64 * 2**16, "good"), (64 * 2**16 + 1024, "warning")])
def test_buckets_that_would_overflow_are_warned_about(expected_pages: int, grade: str) -> None:
    settings = Settings.load(overrides=[f"index.expected_pages={expected_pages}"])

    finding = judge_layout(settings)

    assert finding.grade == grade
    assert (f"'neardup-stream plan --pages {expected_pages}'" in finding.sentence) == (grade == "warning")
