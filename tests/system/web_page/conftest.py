"""Servers, a browser and its tabs."""

from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from playwright.sync_api import Browser

from neardup_stream.wire.dead_letters import ERROR_PREFIX
from tests.servers.browser import open_tab, start_chromium
from tests.servers.daemon import start_daemon
from tests.servers.kafka import KafkaBroker
from tests.servers.query_api import start_query_api
from tests.servers.redis import RedisServer
from tests.shown_crawls import (
    HOSTILE_REASON,
    HOSTILE_RECORDS,
    demo_crawl,
    hostile_pages,
    many_clusters,
    publish,
    records_of,
    syndicated,
)
from tests.system.conftest import new_index
from tests.system.web_page.looks import TOKEN, Look, Shown

DEMO_PAGES = 300


@pytest.fixture(scope="module")
def shown(kafka_broker: KafkaBroker, redis_server: RedisServer) -> Iterator[Shown]:
    index, many, crawl = new_index(redis_server), new_index(redis_server), demo_crawl(DEMO_PAGES)
    name = index.settings[1].partition("=")[2]
    topics = {topic: f"{name}-{topic}" for topic in ("pages", "events", "dead_letters")}
    settings = (
        *index.settings,
        f"kafka.bootstrap_servers={kafka_broker.bootstrap_servers}",
        f"kafka.group_id={name}",
        *(f"kafka.{topic}_topic={topics[topic]}" for topic in topics),
    )
    kafka_broker.create_topics(dict.fromkeys(topics.values(), 1))
    fed = [*records_of(crawl), *syndicated(24), *hostile_pages(), *HOSTILE_RECORDS]
    publish(kafka_broker.bootstrap_servers, topics["pages"], fed)
    reason = (f"{ERROR_PREFIX}reason", HOSTILE_REASON.encode())
    publish(kafka_broker.bootstrap_servers, topics["dead_letters"], [(b"key", b"value")], [reason])
    with ExitStack() as stack:
        daemon = stack.enter_context(start_daemon(settings))
        many.hold(*many_clusters())
        daemon.wait_for_pages(len(fed))
        assert daemon.outcomes()["dead_letter"] == 1 + len(HOSTILE_RECORDS)
        without_kafka = (*many.settings, "kafka.bootstrap_servers=127.0.0.1:1")
        yield Shown(
            crawl,
            stack.enter_context(start_query_api(settings)),
            stack.enter_context(start_query_api(without_kafka)),
            stack.enter_context(start_query_api(settings, environ={"NEARDUP_API__TOKEN": TOKEN})),
        )


@pytest.fixture(scope="module")
def browser(shown: Shown) -> Iterator[Browser]:  # noqa: ARG001 - servers start before Playwright's event loop
    with start_chromium() as browser:
        yield browser


@pytest.fixture
def look(browser: Browser) -> Iterator[Look]:
    """A tab in which nothing of a crawled page may run, and from which no request is sent elsewhere."""
    context = browser.new_context()
    page, faults = open_tab(context), list[str]()
    page.on("pageerror", lambda error: faults.append(f"error: {error}"))
    page.on("dialog", lambda dialog: faults.append(f"dialog: {dialog.message}"))
    page.on("console", lambda said: faults.append(said.text) if "Content Security" in said.text else None)
    page.on("request", lambda sent: None if "//127.0.0.1:" in sent.url else faults.append(sent.url))
    yield Look(page, faults)
    assert not faults
    if page.url.startswith("http"):
        assert page.evaluate("window.injected") is None
    context.close()
