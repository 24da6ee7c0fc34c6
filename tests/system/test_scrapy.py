"""Scrapy crawls of a local site, whose duplicates are dropped by the query API and by way of Kafka."""

import asyncio
import json
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from random import Random
from typing import Any, Final, NamedTuple

import pytest
from aiokafka import AIOKafkaConsumer
from scrapy.utils.test import get_crawler

from neardup_stream.message import Message
from neardup_stream.streams.kafka.partitioning import partition_of
from neardup_stream.subscriber import Fold, decode
from neardup_stream.subscriber.scrapy_pipeline import KafkaPipeline
from tests.servers.daemon import start_daemon
from tests.servers.kafka import KafkaBroker
from tests.servers.process import free_ports, wait_until
from tests.servers.redis import RedisServer
from tests.system.conftest import Site, new_site

WORDS: Final = [f"{first}{second}" for first in ("ba", "ko", "ri", "su") for second in ("lan", "mer", "tok")]
CRAWL_SECONDS: Final = 90
SPIDER: Final = """
import json, sys
from scrapy import Spider
from scrapy.crawler import CrawlerProcess


class Site(Spider):
    name = "site"

    def parse(self, response):
        yield {"url": response.url, "html": response.text}
        yield from response.follow_all(css="a")


start, output, settings = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
process = CrawlerProcess(
    {
        "FEEDS": {output: {"format": "jsonlines"}},
        "ITEM_PIPELINES": {"neardup_stream.subscriber.scrapy_pipeline." + sys.argv[4]: 300},
        "ROBOTSTXT_OBEY": True,
        "RETRY_TIMES": 0,
        "TELNETCONSOLE_ENABLED": False,
        **settings,
    }
)
crawler = process.create_crawler(Site)
process.crawl(crawler, start_urls=[start], allowed_domains=["localhost"])
process.start()
print(json.dumps({name: value for name, value in crawler.stats.get_stats().items() if "neardup/" in name}))
"""


def text(seed: int) -> str:
    return " ".join(Random(seed).choices(WORDS, k=300))


PATHS: Final = {
    "/": 0,
    "/first": 1,
    "/second": 2,
    "/print/first": 1,
    "/second?from=home": 2,
}
"""Which of the texts each page has."""

PAIRS: Final = ({"/first", "/print/first"}, {"/second", "/second?from=home"})


@contextmanager
def local_site(seed: int) -> Iterator[str]:
    """A site with texts of its own, whose first page links to all."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            number = PATHS.get(self.path)
            self.send_response(404 if number is None else 200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.end_headers()
            if number is not None:
                self.wfile.write(page(self.path, text(10 * seed + number)).encode())

        def log_message(self, *args: object) -> None:
            """Write nothing."""

    with ThreadingHTTPServer(("localhost", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://localhost:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


def page(path: str, content: str) -> str:
    links = "".join(f'<a href="{each}"></a>' for each in PATHS if each != "/") if path == "/" else ""
    printed = " printed" if "print" in path else ""
    return f"<html><body><p>{content}{printed}</p>{links}</body></html>"


class Crawl(NamedTuple):
    """What a crawl has yielded.

    Attributes:
        items: by path.
        counted: what the pipeline counted.
    """

    items: Mapping[str, Any]
    counted: Mapping[str, int]


def crawl(start: str, directory: Path, settings: Mapping[str, Any], pipeline: str) -> Crawl:
    output = directory / "items.jsonl"
    run = subprocess.run(
        [sys.executable, "-c", SPIDER, f"{start}/", str(output), json.dumps(settings), pipeline],
        capture_output=True,
        text=True,
        timeout=CRAWL_SECONDS,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    assert "WARNING: Dropped" not in run.stderr  # with the whole item, HTML included
    items = map(json.loads, output.read_text(encoding="utf-8").splitlines())
    counted = json.loads(run.stdout.splitlines()[-1])
    return Crawl({item["url"].removeprefix(start): item for item in items}, counted)


@pytest.fixture(scope="module")
def site(kafka_broker: KafkaBroker, redis_server: RedisServer) -> Site:
    return new_site(kafka_broker, redis_server, "scrapy", "scrapy")


@pytest.fixture(scope="module")
def api(site: Site) -> Iterator[str]:
    """The address of a daemon that answers queries."""
    site.create_topics()
    with start_daemon((*site.settings, "api.enabled=true", "api.port=0")) as daemon:
        daemon.wait_until_ready()
        (port,) = [line["port"] for line in daemon.log_events() if line["event"] == "api_listening"]
        yield f"http://127.0.0.1:{port}"


def test_a_crawl_drops_the_duplicates_among_its_own_pages_and_marks_them_when_it_comes_again(
    api: str, tmp_path: Path
) -> None:
    again = tmp_path / "again"
    again.mkdir()
    with local_site(1) as start:
        first = crawl(start, tmp_path, {"NEARDUP_API_URL": api}, "DuplicatesPipeline")
        settings = {"NEARDUP_API_URL": api, "NEARDUP_API_PATH": "/v1/query", "NEARDUP_ACTION": "mark"}
        second = crawl(start, again, settings, "DuplicatesPipeline")

    kept = set(first.items)
    assert "/" in kept
    assert [len(kept & pair) for pair in PAIRS] == [1, 1]
    assert first.counted == {"neardup/kept": 3, "neardup/duplicates": 2}
    assert set(second.items) == set(PATHS)
    marked = {
        path: item["neardup"]["duplicate_of"] for path, item in second.items.items() if "neardup" in item
    }
    assert marked == {path: f"{start}{min(pair & kept)}" for pair in PAIRS for path in pair - kept}


def test_pages_that_a_crawl_publishes_to_kafka_are_dropped_by_a_subscriber(
    site: Site, api: str, tmp_path: Path
) -> None:
    del api  # its daemon decides the pages
    topic = site.topics[0]
    settings = {
        "NEARDUP_KAFKA": {"bootstrap.servers": site.broker.bootstrap_servers},
        "NEARDUP_PAGES_TOPIC": topic,
    }
    with local_site(2) as start:
        crawled = crawl(start, tmp_path, settings, "KafkaPipeline")

        def deletable() -> set[str]:
            fold = Fold()
            for each in site.messages(site.topics[1]):
                fold.feed(decode(each.value, each.headers))
            return {url.removeprefix(start) for url in fold.deletable() if url.startswith(start)}

        wait_until(lambda: len(deletable()) == len(PAIRS), CRAWL_SECONDS)
        kept = set(crawled.items) - deletable()

    assert crawled.counted == {"neardup/sent": len(PATHS)}
    assert set(crawled.items) == set(PATHS)
    assert [len(kept & pair) for pair in PAIRS] == [1, 1]


def kafka_pipeline(bootstrap_servers: str, topic: str) -> KafkaPipeline:
    settings = {"NEARDUP_KAFKA": {"bootstrap.servers": bootstrap_servers}, "NEARDUP_PAGES_TOPIC": topic}
    return KafkaPipeline(get_crawler(settings_dict=settings))


async def test_a_published_page_is_in_the_partition_of_its_forget(kafka_broker: KafkaBroker) -> None:
    topic = "scrapy-partitions"
    await asyncio.to_thread(kafka_broker.create_topic, topic, partitions=7)
    pipeline = kafka_pipeline(kafka_broker.bootstrap_servers, topic)
    for number in range(20):
        await pipeline.process_item({"url": f"https://example.com/{number}", "text": "a text"})
    await pipeline.close_spider()

    async with AIOKafkaConsumer(
        topic, bootstrap_servers=kafka_broker.bootstrap_servers, auto_offset_reset="earliest"
    ) as consumer:
        found = [await consumer.getone() for _ in range(20)]

    assert [each.partition for each in found] == [
        partition_of(Message(key=each.key, value=None), "murmur2", range(7)) for each in found
    ]


def test_pages_are_kept_while_the_api_is_unavailable(tmp_path: Path) -> None:
    nowhere = f"http://127.0.0.1:{free_ports(1)[0]}"

    with local_site(3) as start:
        crawled = crawl(start, tmp_path, {"NEARDUP_API_URL": nowhere}, "DuplicatesPipeline")

    assert set(crawled.items) == set(PATHS)
    assert crawled.counted == {"neardup/unanswered": len(PATHS)}
