"""`forget`: through Kafka and a daemon, and over a private index."""

import json
from pathlib import Path

import pytest

from tests.pipelines import essay, page_json
from tests.servers.daemon import start_daemon
from tests.system.conftest import Site, call

A, B = "https://example.com/a", "https://example.com/b"
PAIR = page_json("a", essay(1)) + b"\n" + page_json("b", essay(1)) + b"\n"


def names(events: list[dict[str, object]]) -> list[tuple[str, object]]:
    return [
        (str(event["type"]).removeprefix("io.neardup.").removesuffix(".v1"), event["subject"])
        for event in events
    ]


def test_the_daemon_forgets_what_it_is_asked_to_in_order(site: Site, tmp_path: Path) -> None:
    """Four partitions: the forget of a page comes behind the page, whatever else there is."""
    site.create_topics(partitions=4)
    crawl = tmp_path / "crawl.jsonl"
    crawl.write_bytes(PAIR)
    assert site.call("produce", str(crawl)).returncode == 0
    with start_daemon(site.settings) as daemon:
        daemon.wait_until_ready()
        daemon.wait_for_pages(2)

        run = site.call("forget", A, B, "no such page")
        daemon.wait_for_pages(5)
        outcomes = daemon.outcomes()
        exit_code = daemon.stop()

    assert (run.returncode, exit_code) == (0, 0)
    assert f"3 forgets published to {site.topics[0]}" in run.stderr.decode()
    assert outcomes == {"unique": 1, "duplicate": 1, "forgotten": 2, "forget_unknown": 1}
    assert {subject for name, subject in names(site.events()) if name == "gone"} == {A, B}


def test_a_private_index_forgets_at_once_and_hands_over(tmp_path: Path) -> None:
    state = str(tmp_path / "state")
    call("dedup", "-", "--state", state, stdin=PAIR)

    run = call("forget", A, "no such page", "--state", state)

    assert run.returncode == 0
    events = [json.loads(line) for line in run.stdout.splitlines()]
    assert [name for name, _ in names(events)] == ["representative-changed", "gone"]
    assert events[1]["subject"] == A
    assert events[0]["data"]["representative"]["id"] == B
    assert "2 pages: 1 forgotten, 1 forget_unknown" in run.stderr.decode()
    assert b'"state":"gone"' in call("query", A, "--state", state).stdout
    assert b'"matches":[]' in call("query", B, "--state", state).stdout


def test_a_page_may_return_and_be_forgotten_again(tmp_path: Path) -> None:
    state, events = str(tmp_path / "state"), tmp_path / "events.jsonl"
    call("dedup", "-", "--state", state, stdin=PAIR)
    call("forget", A, "--state", state)
    call("dedup", "-", "--state", state, stdin=page_json("a", essay(2)))

    run = call("forget", A, "--state", state, "--events", str(events))

    assert (run.returncode, run.stdout) == (0, b"")
    (gone,) = [json.loads(line) for line in events.read_bytes().splitlines()]
    assert gone["data"]["page"]["version"] == 4


@pytest.mark.parametrize(
    ("words", "code", "complaint"),
    [
        pytest.param([], 2, "Missing argument 'ID…'", id="nothing"),
        pytest.param([""], 2, "'' is no page id", id="empty"),
        pytest.param([A, "\udcff"], 2, "is no page id", id="not-utf-8"),
        pytest.param([A, "--events", "x"], 2, "--events needs --state", id="events-of-the-daemon"),
        pytest.param([A, "--set", "kafka.bootstrap_servers=127.0.0.1:1"], 3, "127.0.0.1:1", id="no-kafka"),
    ],
)
def test_what_cannot_be_forgotten_is_reported_in_one_line(
    words: list[str], code: int, complaint: str
) -> None:
    run = call("forget", *words)

    assert (run.returncode, run.stdout) == (code, b"")
    assert complaint in run.stderr.decode()


def test_a_directory_without_an_index_is_refused(tmp_path: Path) -> None:
    run = call("forget", A, "--state", str(tmp_path))

    assert run.returncode == 2
    assert "nothing is stored" in run.stderr.decode()


def test_a_directory_of_another_namespace_is_refused_with_the_remedy(tmp_path: Path) -> None:
    state = str(tmp_path / "state")
    call("dedup", "-", "--state", state, stdin=PAIR)

    run = call("forget", A, "--state", state, "--set", "redis.namespace=other")

    assert run.returncode == 2
    assert (
        f"in {state}; name the directory of a 'dedup --state', and set redis.namespace" in run.stderr.decode()
    )
