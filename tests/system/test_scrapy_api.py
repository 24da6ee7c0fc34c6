"""Scrapy crawls with bursts of items: an API counts requests and refuses some; some crawls must not start."""

import json
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final

import pytest

ITEMS: Final = 40
AT_ONCE: Final = 4
REFUSALS: Final = 5
CRAWL_SECONDS: Final = 90
SPIDER: Final = """
import json, os, signal, sys
from scrapy import Spider, signals
from scrapy.crawler import CrawlerProcess


class Burst(Spider):
    name = "burst"
    start_urls = ["data:,one response"]

    def parse(self, response):
        for number in range(int(sys.argv[1])):
            yield {"url": f"https://example.com/{number}", "text": "some words"}


class Interrupted(Burst):
    passed = 0

    async def start(self):
        self.crawler.signals.connect(self.note, signals.item_scraped)
        for item in self.parse(None):
            yield item
        os.kill(os.getpid(), signal.SIGINT)

    def note(self):
        self.passed += 1
        if self.passed == int(sys.argv[1]):  # Scrapy 2.19 waits for a response, and none is left
            os.kill(os.getpid(), signal.SIGINT)


process = CrawlerProcess(
    {
        "ITEM_PIPELINES": {"neardup_stream.subscriber.scrapy_pipeline." + sys.argv[3]: 300},
        "TELNETCONSOLE_ENABLED": False,
        **json.loads(sys.argv[2]),
    }
)
crawler = process.create_crawler(globals()[sys.argv[4]])
process.crawl(crawler)
process.start()
print(json.dumps({name: value for name, value in crawler.stats.get_stats().items() if "neardup/" in name}))
"""

Answer = Callable[[str], int]
"""Makes the status of the answer about a page, whose URL it gets."""


@contextmanager
def api(answer: Answer) -> Iterator[str]:
    """An API that knows no duplicates."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            page = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            status = answer(page["url"])
            self.send_response(status)
            self.send_header("Retry-After", "0")
            self.end_headers()
            self.wfile.write(b'{"events": []}')

        def log_message(self, *args: object) -> None:
            """Write nothing."""

    class Server(ThreadingHTTPServer):
        request_queue_size = 2 * ITEMS

    with Server(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


def crawl(
    settings: Mapping[str, Any], pipeline: str = "DuplicatesPipeline", spider: str = "Burst"
) -> subprocess.CompletedProcess[str]:
    """Crawl many items."""
    return subprocess.run(
        [sys.executable, "-c", SPIDER, str(ITEMS), json.dumps(settings), pipeline, spider],
        capture_output=True,
        text=True,
        timeout=CRAWL_SECONDS,
        check=False,
    )


def counted(run: subprocess.CompletedProcess[str]) -> Mapping[str, int]:
    """Return what the pipeline of a crawl counted."""
    assert run.returncode == 0, run.stderr
    found: Mapping[str, int] = json.loads(run.stdout.splitlines()[-1])
    return found


def test_no_more_pages_are_sent_at_once_than_the_slot_allows() -> None:
    asked, most, lock = 0, 0, threading.Lock()
    all_are_asked = threading.Barrier(AT_ONCE)

    def answer(_url: str) -> int:
        nonlocal asked, most
        with lock:
            asked += 1
            most = max(most, asked)
        all_are_asked.wait(CRAWL_SECONDS)
        with lock:
            asked -= 1
        return 200

    with api(answer) as url:
        slots = {"neardup": {"delay": 0, "concurrency": AT_ONCE}}
        run = crawl({"NEARDUP_API_URL": url, "DOWNLOAD_SLOTS": slots})

    assert counted(run) == {"neardup/kept": ITEMS}
    assert most == AT_ONCE


def test_a_page_that_the_api_has_no_turn_for_is_sent_until_it_has_one() -> None:
    asked = Counter[str]()

    def answer(url: str) -> int:
        asked[url] += 1
        return 200 if asked[url] > REFUSALS else 429

    with api(answer) as url:
        run = crawl({"NEARDUP_API_URL": url})

    assert counted(run) == {"neardup/kept": ITEMS}
    assert set(asked.values()) == {REFUSALS + 1}


def test_items_of_start_are_kept_when_the_crawl_is_stopped() -> None:
    with api(lambda _url: 200) as url:
        slots = {"neardup": {"delay": 0, "concurrency": 1}}
        run = crawl({"NEARDUP_API_URL": url, "DOWNLOAD_SLOTS": slots}, spider="Interrupted")

    outcomes = counted(run)
    assert set(outcomes) == {"neardup/kept", "neardup/unanswered"}
    assert sum(outcomes.values()) == ITEMS


def test_items_wait_for_no_room_in_the_kafka_client_once_the_spider_is_closed() -> None:
    client = {"bootstrap.servers": "127.0.0.1:1", "message.timeout.ms": 5_000, "log_level": 0}
    settings = {
        "NEARDUP_KAFKA": {**client, "queue.buffering.max.messages": 1},
        "NEARDUP_PAGES_TOPIC": "pages",
        "CLOSESPIDER_ITEMCOUNT": 1,
    }

    run = crawl(settings, "KafkaPipeline")

    assert counted(run) == {"neardup/unsent": ITEMS}
    assert "Queue full" in run.stderr


@pytest.mark.parametrize("pipeline", ["DuplicatesPipeline", "KafkaPipeline"])
def test_a_crawl_without_asyncio_ends_at_its_start_with_an_error_that_names_the_setting(
    pipeline: str,
) -> None:
    settings = {
        "NEARDUP_API_URL": "http://127.0.0.1:1",
        "NEARDUP_KAFKA": {"bootstrap.servers": "127.0.0.1:1", "message.timeout.ms": 1, "log_level": 0},
        "NEARDUP_PAGES_TOPIC": "pages",
        "TWISTED_REACTOR": "twisted.internet.selectreactor.SelectReactor",
    }

    run = crawl(settings, pipeline)

    assert "RuntimeError: the pipelines of neardup need Scrapy's default TWISTED_REACTOR" in run.stderr
    assert counted(run) == {}
