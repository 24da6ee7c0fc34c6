"""`query`: what a page matches, asked of a real index that must not notice."""

from pathlib import Path

import pytest

from tests.pipelines import essay, page_json
from tests.servers.query_api import start_query_api
from tests.servers.redis import RedisServer
from tests.system.conftest import StoredIndex, call, new_index

A, B, C = (f"https://example.com/{name}" for name in "abc")
PAGES = (
    page_json("a", essay(1)),
    page_json("b", essay(1, edits=[50])),
    page_json("c", essay(2)),
    page_json("d", essay(3), id="page d"),
    page_json("e", essay(3), id="page e"),
    page_json("short", "too short"),
)


@pytest.fixture(scope="module")
def held(redis_server: RedisServer) -> StoredIndex:
    """The pages in an index that no test writes to."""
    index = new_index(redis_server)
    index.hold(*PAGES)
    return index


def test_a_stored_page_is_answered_with_its_matches_and_its_cluster(held: StoredIndex) -> None:
    answer = held.json_of("query", B)

    assert (answer["page"]["id"], answer["page"]["version"], answer["page"]["is_stored"]) == (B, 1, True)
    (match,) = answer["matches"]
    assert (match["id"], match["kind"]) == (A, "near")
    assert 0.8 < match["resemblance"] < 1
    assert (answer["cluster"]["size"], answer["cluster"]["representative"]["id"]) == (2, A)
    assert held.json_of("query", A)["cluster"] == answer["cluster"]


def test_a_page_that_stands_alone_is_its_own_cluster(held: StoredIndex) -> None:
    answer = held.json_of("query", C)

    assert (answer["matches"], answer["containers"], answer["is_truncated"]) == ([], [], False)
    assert (answer["cluster"]["size"], answer["cluster"]["representative"]["id"]) == (1, C)


@pytest.mark.parametrize(
    ("name", "page_id"),
    [("HTTPS://Example.com:443/a#top", A), ("page d", "page d")],
    ids=["another-spelling-of-the-url", "an-id-of-the-crawler"],
)
def test_a_page_is_found_by_id_or_url(held: StoredIndex, name: str, page_id: str) -> None:
    assert held.json_of("query", name)["page"]["id"] == page_id


def test_a_page_that_is_not_stored_can_be_given(held: StoredIndex) -> None:
    answer = held.json_of("query", "-", stdin=page_json("new", essay(3)))

    assert not answer["page"]["is_stored"]
    assert "version" not in answer["page"]
    assert [(match["id"], match["kind"]) for match in answer["matches"]] == [
        ("page d", "exact"),
        ("page e", "exact"),
    ]
    assert answer["cluster"] is None


def test_a_page_that_has_changed_since_does_not_match_itself(held: StoredIndex) -> None:
    answer = held.json_of("query", "-", stdin=page_json("a", essay(1, edits=[150])))

    assert (answer["page"]["version"], answer["page"]["is_stored"]) == (1, False)
    assert [match["id"] for match in answer["matches"]] == [B]
    assert answer["cluster"]["size"] == 2


def test_a_short_page_is_equal_to_nothing(held: StoredIndex) -> None:
    for answer in (
        held.json_of("query", "https://example.com/short"),
        held.json_of("query", "-", stdin=page_json("new", "too short")),
    ):
        assert (answer["page"]["state"], answer["matches"], answer["cluster"]) == ("short", [], None)


def test_nothing_is_written_whatever_is_asked(only_index: StoredIndex) -> None:
    """A query must not create keys for pages that it asks for."""
    only_index.hold(*PAGES)
    before = only_index.keys()

    for name, page in ((A, b""), ("no such page", b""), ("-", page_json("new", essay(1)))):
        only_index.call("query", name, stdin=page)
    only_index.call("query", A, "--redis-namespace", "unknown")
    only_index.call("explain", A, B)
    only_index.call("explain", A, "no such page")

    assert only_index.keys() == before


def test_a_state_directory_is_asked_as_well(tmp_path: Path) -> None:
    state = str(tmp_path / "state")
    assert call("dedup", "-", "--state", state, stdin=b"\n".join(PAGES)).returncode == 0

    run = call("query", A, "--state", state)

    assert run.returncode == 0
    assert B in run.stdout.decode()


@pytest.mark.parametrize(
    ("words", "stdin", "code", "complaint"),
    [
        pytest.param(["no such page"], b"", 2, "no page 'no such page' is stored", id="unknown-page"),
        pytest.param(["no/such.HTML"], b"", 2, "there is no file 'no/such.HTML'", id="path-of-no-file"),
        pytest.param(
            ["no.jsonl", "--redis-url", "redis://127.0.0.1:1"], b"", 3, "no file", id="no-file-nor-redis"
        ),
        pytest.param(
            [__file__, "--redis-namespace", "unknown"], b"", 2, "is not read: give", id="path-of-a-file"
        ),
        pytest.param(["https://a.example/b.html"], b"", 2, ": no page 'https://a.", id="unknown-url"),
        pytest.param([""], b"", 2, "is no page id", id="empty-id"),
        pytest.param(["-"], b"rubbish", 2, "standard input is not one page as JSON: not_json", id="rubbish"),
        pytest.param(["-"], b"", 2, "empty_value", id="nothing-given"),
        pytest.param([A, "--redis-namespace", "unknown"], b"", 2, "nothing is stored under", id="no-index"),
        pytest.param([A, "--set", "index.blocks=5"], b"", 2, "blocks is 4 there and 5 here", id="settings"),
        pytest.param([A, "--state", "/nowhere"], b"", 2, "'/nowhere' does not exist", id="no-directory"),
        pytest.param(
            [A, "--redis-url", "redis://127.0.0.1:1"], b"", 3, "--redis-url", id="redis-unavailable"
        ),
    ],
)
def test_what_cannot_be_answered_is_reported_in_one_line(
    held: StoredIndex, words: list[str], stdin: bytes, code: int, complaint: str
) -> None:
    run = held.call("query", *words, stdin=stdin)

    assert (run.returncode, run.stdout) == (code, b"")
    assert complaint in run.stderr.decode()
    assert run.stderr.count(b"\n") == 1


def test_a_name_that_is_too_long_for_the_query_api_is_asked_about_here(index: StoredIndex) -> None:
    long_id = "doc-" * 1_025
    settings = (*index.settings, "limits.max_id_bytes=5000")
    index = StoredIndex(index.server, settings)
    index.hold(page_json("a", essay(1)), page_json("b", essay(1), id=long_id))

    with start_query_api(settings) as api:
        refused = api.ask("GET", f"/v1/pages?url={long_id}", None)
    found = index.json_of("query", long_id)
    explained = index.json_of("explain", long_id, "https://example.com/a")

    assert refused.status == 422
    assert found["matches"][0]["id"] == "https://example.com/a"
    assert explained["first"]["id"] == long_id
