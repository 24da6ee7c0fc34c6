"""What `plan` predicts of the bytes of tables and of commands is what a real Redis counts."""

import json
from collections.abc import Sequence

import pytest
import redis
from neardup_daemon.capacity.planned import Corpus, IndexPlan, plan_index
from neardup_daemon.demo.sample_crawl.plain_texts import TextPage
from neardup_daemon.settings.settings import Settings

from benchmarks.crawls import text_pages
from neardup_stream.chunks import in_chunks
from tests.servers.redis import find_redis, start_redis
from tests.system.conftest import call

PAGES = 8192


def test_commands_and_bytes_of_tables_are_within_a_tenth_of_the_plan() -> None:
    pages = list(text_pages(PAGES))
    lines = "".join(json.dumps({"url": page.url, "text": page.text}) + "\n" for page in pages).encode()
    with start_redis(find_redis, {}) as server, redis.Redis.from_url(server.url) as client:
        settings = (f"redis.url={server.url}", f"index.expected_pages={PAGES}", "frames.scope=off")
        overrides = [word for setting in settings for word in ("--set", setting)]
        run = call("dedup", "-", "--redis", "--events", "/dev/null", *overrides, stdin=lines)
        assert run.returncode == 0, run.stderr
        commands = sum(each["calls"] for each in client.info("commandstats").values())
        table_bytes = freed_bytes(client, "nd:*}:t*")
    plan = planned(pages)

    assert commands / PAGES == pytest.approx(plan.cost.commands, rel=0.1)
    assert table_bytes / PAGES == pytest.approx(plan.bytes_per_page.tables, rel=0.1)


def planned(pages: Sequence[TextPage]) -> IndexPlan:
    near_duplicates = [page for page in pages if page.near_duplicate_of]
    linked = {name for page in near_duplicates for name in (page.id, page.near_duplicate_of)}
    corpus = Corpus(
        pages=PAGES,
        rate=1000,
        words=560,
        html_bytes=0,
        url_bytes=sum(len(page.url) for page in pages) / PAGES,
        linked_share=len(linked) / PAGES,
        framed_share=0.0,
        recall_at=2,
        master_bytes=32 << 30,
    )
    return plan_index(corpus, Settings())


def freed_bytes(client: redis.Redis, pattern: str) -> int:
    """Return by how much the memory shrinks when these keys are removed."""
    keys = list(client.scan_iter(pattern, count=1000))
    before = client.info("memory")["used_memory"]
    for some in in_chunks(keys, 500):
        client.delete(*some)
    return int(before - client.info("memory")["used_memory"])
