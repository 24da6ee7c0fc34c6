"""Compare the dead letters of a topic with those that its hostile pages must have, page by page."""

import asyncio
import contextlib
from collections import Counter
from itertools import cycle, islice

from aiokafka import AIOKafkaConsumer, TopicPartition

from benchmarks.crawls import Crawl
from tests.hostile_pages import HOSTILE_PAGES
from tests.servers.kafka import KafkaBroker

__all__ = ["HOSTILE_EVERY", "Letters", "expected_letters", "read_letters"]

HOSTILE_EVERY = 100
READ_SECONDS = 60
_REASON = "neardup.error.reason"

Letters = Counter[tuple[bytes | None, str]]
"""How many dead letters there are, by the key of the page and the reason."""


def expected_letters(page_count: int, crawl: Crawl) -> Letters:
    """Return the dead letters of a topic with one hostile page in HOSTILE_EVERY."""
    kinds = cycle(HOSTILE_PAGES.values())
    hostile = islice(crawl.pages(page_count), 0, None, HOSTILE_EVERY)
    return Counter(
        (page.url.encode(), kind.reason) for page, kind in zip(hostile, kinds, strict=False) if kind.reason
    )


async def read_letters(broker: KafkaBroker, topic: str, partition_count: int) -> Letters:
    """Return the dead letters up to the present end of a topic; after READ_SECONDS, those read until then."""
    partitions = [TopicPartition(topic, number) for number in range(partition_count)]
    consumer = AIOKafkaConsumer(bootstrap_servers=broker.bootstrap_servers, auto_offset_reset="earliest")
    await consumer.start()
    letters = Letters()
    try:
        consumer.assign(partitions)
        ends = await consumer.end_offsets(partitions)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(READ_SECONDS):
                for partition in partitions:
                    while await consumer.position(partition) < ends[partition]:
                        for batch in (await consumer.getmany(timeout_ms=100)).values():
                            letters.update((each.key, dict(each.headers)[_REASON].decode()) for each in batch)
    finally:
        await consumer.stop()
    return letters
