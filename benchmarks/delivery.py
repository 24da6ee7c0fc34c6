"""What does exactly-once delivery cost beside at-least-once?

    python -m benchmarks.delivery [--pages 100000] [--rounds 2] [--json]

Both take turns over the same pages and servers, those of `benchmarks.end_to_end`, which checks the answers.
Then pages come one at a time, each a copy of an earlier one, and the time is taken until a consumer that
reads committed has its event: each page must have exactly one.
"""

import argparse
import asyncio
import json
import statistics
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict

from benchmarks.end_to_end import measure, print_table
from neardup_stream.message import Message
from neardup_stream.streams.kafka.config import KafkaConnection, KafkaSinkConfig, KafkaSourceConfig
from neardup_stream.streams.kafka.sink import KafkaSink
from neardup_stream.streams.kafka.source import KafkaSource
from tests.pipelines import essay, page_json
from tests.servers.daemon import start_daemon
from tests.servers.kafka import KafkaBroker, start_kafka
from tests.servers.redis import RedisServer, start_redis

VARIANTS = {
    "at least once": ["clusters.tombstone_ttl_seconds=1", "kafka.delivery=at_least_once"],
    "exactly once": ["clusters.tombstone_ttl_seconds=1", "kafka.delivery=exactly_once"],
}
COPIES = 40
WARM_UP_COPIES = 5
COPY_SECONDS = 30


def main() -> None:
    """Run both and print them side by side."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pages", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--json", action="store_true", help="one JSON line instead of the table")
    arguments = parser.parse_args()
    figures = measure(arguments.pages, arguments.rounds, VARIANTS)
    delays_ms = measure_delays()
    if arguments.json:
        both = {name: {**asdict(each), "delay_ms": delays_ms[name]} for name, each in figures.items()}
        print(json.dumps({"pages": arguments.pages, **both}))
    else:
        print_table(arguments.pages, figures)
        for name, delay_ms in delays_ms.items():
            print(f"{name}: {delay_ms:.0f} ms from a page to its event, alone on its way")


def measure_delays() -> dict[str, float]:
    """Median time from a page to its event, in milliseconds."""
    with ExitStack() as servers:
        broker = servers.enter_context(start_kafka())
        store = servers.enter_context(start_redis())
        return {
            name: statistics.median(_delays_ms(broker, store, name.replace(" ", "-"), settings))
            for name, settings in VARIANTS.items()
        }


def _delays_ms(broker: KafkaBroker, store: RedisServer, name: str, settings: Sequence[str]) -> list[float]:
    for topic in ("pages", "events", "letters"):
        broker.create_topic(f"{name}-{topic}")
    with start_daemon(
        [
            *settings,
            f"kafka.bootstrap_servers={broker.bootstrap_servers}",
            f"kafka.pages_topic={name}-pages",
            f"kafka.events_topic={name}-events",
            f"kafka.dead_letters_topic={name}-letters",
            f"kafka.group_id={name}",
            f"redis.url={store.url}",
            f"redis.namespace={name}",
        ]
    ) as daemon:
        daemon.wait_until_ready()
        delays_ms = asyncio.run(_follow_copies(broker, name))
        assert daemon.stop() == 0
    return delays_ms[WARM_UP_COPIES:]


async def _follow_copies(broker: KafkaBroker, name: str) -> list[float]:
    connection = KafkaConnection(bootstrap_servers=broker.bootstrap_servers)
    config = KafkaSourceConfig(connection=connection, topics=(f"{name}-events",), group_id=f"{name}-check")
    delays_ms: list[float] = []
    async with (
        KafkaSink(KafkaSinkConfig(connection=connection, topic=f"{name}-pages")) as pages,
        KafkaSource(config) as events,
    ):
        await pages.send([_page(0)])
        for number in range(1, COPIES + 1):
            sent = time.perf_counter()
            await pages.send([_page(number)])
            async with asyncio.timeout(COPY_SECONDS):
                while not (received := await events.read(10, 1 << 20)):
                    pass
            delays_ms.append((time.perf_counter() - sent) * 1000)
            assert [event.key for event in received] == [_url(number)], received
    return delays_ms


def _url(number: int) -> bytes:
    return b"https://example.com/%d" % number


def _page(number: int) -> Message:
    return Message(key=_url(number), value=page_json(str(number), essay(1)))


if __name__ == "__main__":
    main()
