"""Daemons that die, pause, join and leave publish nothing twice for a subscriber who reads committed."""

import os
import random
from collections.abc import Iterator

import pytest

from tests.chaos.arena import CALM, Arena, build_arena
from tests.chaos.crawl import crawl
from tests.chaos.faults import Fate, named_faults
from tests.chaos.feeding import Feed
from tests.chaos.fleet import finish, live_through
from tests.chaos.judging import violations
from tests.chaos.repeats import repeated_messages
from tests.chaos.storming import storm
from tests.servers.kafka import KafkaBroker
from tests.servers.redis import RedisServer

SEED = int(os.environ.get("CHAOS_SEED", "5"))
KILLS = 50
PAGES = 10_000
STORM_SECONDS = 60
PAUSE_SECONDS = 2.0
QUIET_SECONDS = 300
POINTS = [
    f"{moment} {call}"
    for call in ("transactions.open", "transactions.deliver", "decide", "clusters.trim")
    for moment in ("before", "after")
]


@pytest.fixture
def arena(kafka_broker: KafkaBroker, redis_server: RedisServer) -> Arena:
    return build_arena(kafka_broker, redis_server)


@pytest.mark.chaos
@pytest.mark.timeout(900)
def test_fifty_kills_and_as_many_paused_processes_as_befit_them(arena: Arena) -> None:
    """Many kills at any moment, so that some cut a transaction; every fourth process was paused before."""
    feed, lives = Feed(arena, crawl(PAGES, SEED), KILLS), list(fates())

    met = live_through(exactly_once(arena), lives, 2, feed.more)
    feed.rest()
    finish((*exactly_once(arena), *CALM), 1, QUIET_SECONDS)

    print(f"\nseed {SEED}: {met.total()} faults over {PAGES} records: {dict(sorted(met.items()))}")
    assert met.total() >= KILLS
    assert named_faults(lives) <= set(met)
    assert repeated_messages(arena.settings) == []
    assert violations(arena.settings) == []


@pytest.mark.chaos
def test_a_storm_of_rebalances(arena: Arena) -> None:
    count = round(STORM_SECONDS / PAUSE_SECONDS)
    feed = Feed(arena, crawl(PAGES, SEED), count + 1)

    changes = storm(exactly_once(arena), feed, SEED, count, PAUSE_SECONDS)
    feed.rest()
    finish((*exactly_once(arena), *CALM), 1, QUIET_SECONDS)

    print(f"\nseed {SEED}: {dict(changes)} over {PAGES} records")
    assert repeated_messages(arena.settings) == []
    assert violations(arena.settings) == []


def exactly_once(arena: Arena) -> tuple[str, ...]:
    return (*arena.settings, "kafka.delivery=exactly_once")


def fates() -> Iterator[Fate]:
    dice = random.Random(SEED)
    for number in range(KILLS):
        place, later = (f"{dice.choice(POINTS)} {dice.randint(1, 4)}" for _ in range(2))
        stop = [dice.choice(["", place]), None, None, None][number % 4]
        yield Fate(
            stop=stop,
            still_seconds=dice.uniform(1.5, 3.0),
            kill=later if stop or number % 2 else "",
            moment_seconds=dice.uniform(0.0, 1.5),
        )
