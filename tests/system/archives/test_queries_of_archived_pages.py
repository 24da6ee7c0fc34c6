"""`POST /v1/query` where pages that are like frozen ones are left to the archives."""

from dataclasses import replace
from pathlib import Path

import pytest

from tests.pipelines import essay, page_json
from tests.servers.query_api import QueryApi, start_query_api
from tests.servers.redis import RedisServer
from tests.system.conftest import StoredIndex, new_index

STORED = page_json("stored", essay(3))
"""Of the text of a frozen page, and in the index before that was frozen."""

BETWEEN = page_json("between", essay(4, edits=range(30)))
"""Like a frozen page, and like a page of the index that is not like the frozen one."""

NEAR = page_json("near", essay(100, edits=[50]))
CASES = {
    "like a frozen page alone": (page_json("new", essay(5)), "archived", []),
    "like one of the index too": (BETWEEN, "archived", ["https://example.com/far"]),
    "in the index already": (STORED, "unique", []),
    "in the index with another text": (page_json("stored", essay(6)), "archived", []),
    "like one of the index alone": (NEAR, "near", ["https://example.com/plain"]),
    "too short": (page_json("short", "too short"), "undecided", []),
}


@pytest.fixture
def skipping(redis_server: RedisServer, archive: Path) -> StoredIndex:
    index = new_index(redis_server)
    index.hold(STORED)
    skip = (f"archive.files={archive}", "archive.on_match=skip", "verdict.policy=2")
    index = replace(index, settings=(*index.settings, *skip))
    index.hold(page_json("plain", essay(100)), page_json("far", essay(4, edits=range(60))))
    return index


def test_a_page_gets_the_verdict_that_the_daemon_would_give(skipping: StoredIndex) -> None:
    with start_query_api(skipping.settings) as api:
        answers = {name: asked(api, page) for name, (page, _, _) in CASES.items()}

    assert answers == {name: (verdict, matched) for name, (_, verdict, matched) in CASES.items()}


def asked(api: QueryApi, page: bytes) -> tuple[str, list[str]]:
    """Return the verdict, and the pages of the index that the page is like."""
    value = api.post("/v1/query", page).value
    return value["verdict"], [match["id"] for match in value["matches"]]
