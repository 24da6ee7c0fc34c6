"""`status`: how full, how far behind, and who reads."""

import json

from neardup_daemon.inspect.status import (
    GroupStatus,
    GroupUnavailable,
    IndexStatus,
    PartitionStatus,
    Status,
    readable,
)

from neardup_stream.version import __version__
from tests.pipelines import essay, page_json
from tests.servers.daemon import start_daemon
from tests.servers.process import free_ports
from tests.system.conftest import Site, StoredIndex
from tests.system.test_run import pages, publish

_INDEX = IndexStatus(
    namespace="nd",
    schema="a196f4",
    created_by="0.1.0",
    pages=250_000,
    pages_error=7_900,
    expected_pages=1_000_000,
    used_bytes=100 << 20,
    max_bytes=400 << 20,
    fullest_primary="redis-2:6379",
)


def test_it_reports_pages_members_and_lag_beside_a_daemon_and_after_it(site: Site) -> None:
    site.create_topics(partitions=2)
    publish(site, pages(40, topics=40))
    with start_daemon(site.settings) as daemon:
        daemon.wait_until_ready()
        daemon.wait_for_pages(40)
        beside = json.loads(site.call("status").stdout)
        daemon.stop()
    publish(site, pages(10, topics=10))
    after = json.loads(site.call("status").stdout)

    assert beside["group"]["members"] == 1
    assert beside["index"]["created_by"] == __version__
    assert beside["index"]["used_bytes"] > 0
    assert after["group"]["members"] == 0
    assert after["group"]["lag"] == sum(one["lag"] for one in after["group"]["partitions"]) == 10
    assert sum(one["committed"] or 0 for one in after["group"]["partitions"]) == 40


def test_an_index_that_does_not_exist_is_an_error_that_names_the_settings(site: Site) -> None:
    site.create_topics()

    run = site.call("status")

    assert run.returncode == 2
    assert "nothing is stored under redis.namespace" in run.stderr.decode()
    assert "--state" not in run.stderr.decode()  # which it does not have


def test_the_index_is_shown_where_kafka_does_not_answer_and_the_exit_code_is_3(index: StoredIndex) -> None:
    index.hold(page_json("report", essay(1)))
    nowhere = f"127.0.0.1:{free_ports(1)[0]}"

    run = index.call("status", "--set", f"kafka.bootstrap_servers={nowhere}")

    assert run.returncode == 3, run.stderr
    answer = json.loads(run.stdout)
    assert answer["index"]["namespace"] == index.namespace
    assert answer["index"]["pages"] == 1
    assert list(answer["group"]) == ["error"]
    assert nowhere in answer["group"]["error"]


def test_a_terminal_shows_the_error_of_kafka_in_the_place_of_the_group() -> None:
    shown = readable(Status(index=_INDEX, group=GroupUnavailable(error="connecting to kafka-1: refused")))

    assert "about 250,000 ± 7,900 of 1,000,000 planned (25%)" in shown
    assert shown.endswith("\n\ngroup      not known: connecting to kafka-1: refused")


def test_a_terminal_shows_it_on_one_screen() -> None:
    partitions = [
        PartitionStatus(number=0, begin=0, committed=1200, end=1500, lag=300),
        PartitionStatus(number=1, begin=0, committed=None, end=7, lag=7),
    ]
    group = GroupStatus(group_id="g", members=2, topic="crawl.pages", partitions=partitions, lag=307)

    shown = readable(Status(index=_INDEX, group=group))

    assert "about 250,000 ± 7,900 of 1,000,000 planned (25%)" in shown
    assert "100 MiB used of 400 MiB at redis-2:6379, the fullest primary" in shown
    assert "g, 2 daemons" in shown
    assert ["1", "never", "7", "7"] in [line.split() for line in shown.splitlines()]
