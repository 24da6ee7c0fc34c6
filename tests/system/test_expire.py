"""`expire`: retention at once, on a real index."""

import time

from tests.pipelines import essay, page_json
from tests.servers.process import wait_until
from tests.system.conftest import StoredIndex

A, B, C = (f"https://example.com/{name}" for name in "abc")
PAGES = (
    page_json("a", essay(1)),
    page_json("b", essay(1)),
    page_json("c", essay(2)),
    page_json("short", "too short"),
)
SECOND = ("--retention-seconds", "1")


def test_pages_not_seen_for_long_expire_and_representatives_of_others_last(
    index: StoredIndex,
) -> None:
    index.hold(*PAGES)
    until_a_second_has_passed()

    outputs = [index.call("expire", *SECOND).stdout.decode() for _ in range(3)]

    assert outputs[-1] == "4 records: 0 pages expired, 0 due but kept as representatives, 0 stubs dropped\n"
    assert {index.json_of("query", page)["page"]["state"] for page in (A, B, C)} == {"gone"}
    assert index.json_of("query", "-", stdin=PAGES[0])["matches"] == []


def test_pages_that_were_seen_stay(index: StoredIndex) -> None:
    index.hold(*PAGES)

    run = index.call("expire", "--retention-seconds", "3600")

    assert run.returncode == 0
    assert run.stdout == b"4 records: 0 pages expired, 0 due but kept as representatives, 0 stubs dropped\n"
    assert index.json_of("query", A)["matches"][0]["id"] == B


def test_without_retention_only_old_stubs_go(index: StoredIndex) -> None:
    index.hold(*PAGES)
    until_a_second_has_passed()
    for _ in range(2):
        index.call("expire", *SECOND)
    until_a_second_has_passed()

    run = index.call("expire", "--retention-stub-seconds", "1")

    assert run.returncode == 0
    assert "retention.seconds is 0" in run.stderr.decode()
    assert run.stdout == b"4 records: 0 pages expired, 0 due but kept as representatives, 4 stubs dropped\n"
    assert "no page" in index.call("query", A).stderr.decode()


def test_an_index_that_is_not_there_is_not_founded(index: StoredIndex) -> None:
    run = index.call("expire")

    assert run.returncode == 2
    assert "nothing is stored" in run.stderr.decode()
    assert not index.keys(f"{index.namespace}:*")


def until_a_second_has_passed() -> None:
    """Records count whole seconds, so that two of the clock's must go by."""
    begun = int(time.time())
    wait_until(lambda: int(time.time()) > begun + 1, 10)
