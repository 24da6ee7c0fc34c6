"""A minute of half-open, malformed and broken-off HTTP from a thousand connections."""

from collections.abc import Sequence
from itertools import count

import pytest

from neardup_stream.message import Message
from tests.chaos.arena import CALM, build_arena
from tests.pipelines import essay, page_json
from tests.servers.daemon import start_daemon
from tests.servers.kafka import start_kafka
from tests.servers.redis import start_redis
from tests.watched.besieged import besiege

CONNECTIONS = 1_000
SECONDS = 60.0
PORTION = 20
LATEST_SCRAPE_SECONDS = 1.0
MOST_LOG_LINES = 20


def portion(number: int) -> Sequence[Message]:
    pages = [f"p{number}-{page}" for page in range(PORTION)]
    return [
        Message(key=name.encode(), value=page_json(name, essay(number * PORTION + page)))
        for page, name in enumerate(pages)
    ]


@pytest.mark.chaos
def test_a_minute_of_malformed_http_delays_no_scrape_and_no_page() -> None:
    with start_kafka() as broker, start_redis() as store:
        arena = build_arena(broker, store)
        numbers = count()

        def feed() -> None:
            arena.publish(portion(next(numbers)))

        with start_daemon([*arena.settings, *CALM]) as daemon:
            feed()
            daemon.wait_for_pages(PORTION)
            siege = besiege(daemon, CONNECTIONS, SECONDS, feed)
            fed = next(numbers) * PORTION
            daemon.wait_for_pages(fed)
            outcomes = daemon.outcomes()
            assert daemon.stop() == 0

    scrapes = sorted(siege.scrape_seconds)
    median, slowest = scrapes[len(scrapes) // 2], scrapes[-1]
    print(f"\n{siege.visits}")
    print(f"{len(scrapes)} scrapes, {siege.repeated_count} repeated")
    print(f"median {median:.3f} s, slowest {slowest:.3f} s")
    print(f"{fed} pages, {len(siege.log_lines)} log lines")
    assert slowest < LATEST_SCRAPE_SECONDS
    assert len(siege.log_lines) < MOST_LOG_LINES
    assert outcomes == {"unique": fed}
