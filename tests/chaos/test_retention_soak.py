"""A daemon under full load, in an index laid out for far more pages: no page is kept for much too long."""

import asyncio
import os
import time
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import pytest
from neardup_daemon.settings.settings import Settings
from neardup_daemon.stored_index import open_stored_index

from neardup_stream.stores.page_record import PageRecord
from neardup_stream.stores.protocol import all_records
from tests.chaos.arena import CALM, build_arena
from tests.chaos.judging import uncommitted_count
from tests.chaos.test_soak import BROKER, PORTION, TOPIC, crawl
from tests.servers.daemon import start_daemon
from tests.servers.kafka import start_kafka
from tests.servers.redis import start_redis

RETENTION_SECONDS = int(os.environ.get("RETENTION_SECONDS", "120"))
"""600 shows ten minutes in an index for 20 million pages, in 25; a shorter time takes a smaller index, so
that as many hashes are due in a second."""

SOAK_SECONDS = 2.5 * RETENTION_SECONDS
AHEAD = 100_000
"""Records that wait for the daemon after each look at Redis, which takes half a minute where it is loaded."""

KEPT_AT_MOST = 1.2
"""Of the retention: a round takes a tenth of it, and a page that just missed one is met by the next."""

SETTINGS = (
    f"retention.seconds={RETENTION_SECONDS}",
    f"retention.stub_seconds={RETENTION_SECONDS}",
    f"index.expected_pages={20_000_000 * RETENTION_SECONDS // 600}",
    "index.blocks=5",
    *CALM,
    "pipeline.drain_seconds=60",
)


class Ages(NamedTuple):
    """What a look at all page records shows.

    Attributes:
        oldest_seconds: since the page was seen that was seen longest ago, of those that no sweep has met. One
            that represents others stays for longer, until they have gone.
        pages: of those, how many.
        gone: pages of which a stub is left.
        backlog: records that wait for the daemon.
    """

    oldest_seconds: float
    pages: int
    gone: int
    backlog: int


@pytest.mark.soak
@pytest.mark.timeout(SOAK_SECONDS + 300)
def test_no_page_is_kept_a_fifth_longer_than_the_retention() -> None:
    with start_kafka(BROKER) as broker, start_redis() as store:
        arena = build_arena(broker, store, topic_configs=TOPIC)
        settings = (*arena.settings, *SETTINGS)
        with start_daemon(settings) as daemon:
            daemon.wait_until_ready()
            portions, end, looks = crawl(), time.monotonic() + SOAK_SECONDS, list[Ages]()
            while time.monotonic() < end:
                backlog = uncommitted_count(settings)
                for _ in range(backlog, AHEAD, PORTION):
                    arena.publish(next(portions))
                looks.append(asyncio.run(look(settings, backlog)))
            exit_code = daemon.stop()

    oldest = max(each.oldest_seconds for each in looks)
    print(
        f"\nretention of {RETENTION_SECONDS} s: the oldest page was kept for {oldest:.0f} s;"
        f" {len(looks)} looks, {looks[-1].pages} pages and {looks[-1].gone} stubs at the end,"
        f" never fewer than {min(each.backlog for each in looks[1:])} records waiting"
    )
    assert exit_code == 0
    assert looks[-1].gone
    assert min(each.backlog for each in looks[1:]) > 0
    assert oldest <= KEPT_AT_MOST * RETENTION_SECONDS


async def look(settings: Sequence[str], backlog: int) -> Ages:
    """Read all page records, and the clock of Redis before."""
    async with open_stored_index(Settings.load(overrides=settings), None) as stores:
        now = await stores.sweep_rounds.now_seconds()
        seen, gone = list[int](), 0
        async for walked in all_records(stores.pages.records):
            for record in unpacked(walked.records):
                if record.state == "gone":
                    gone += 1
                elif record.state != "expiring":
                    seen.append(record.seen_seconds)
    return Ages(now - min(seen, default=now), len(seen), gone, backlog)


def unpacked(records: Sequence[tuple[int, bytes]]) -> Iterator[PageRecord]:
    return (PageRecord.unpack(packed) for _, packed in records)
