"""A sweeper dies while it expires pages, and the next one finishes what it began."""

import asyncio
import signal
from collections.abc import Sequence

import pytest
from neardup_daemon.settings.settings import Settings
from neardup_daemon.stored_index import open_stored_index

from neardup_stream.message import Message
from neardup_stream.stores.page_record import PageRecord
from neardup_stream.stores.protocol import all_records
from tests.chaos.arena import Arena, build_arena
from tests.chaos.faults import SWEEP_STEPS, points
from tests.chaos.judging import stored_partition, violations, wait_until_quiet
from tests.pipelines import essay, page_json
from tests.servers.daemon import start_daemon
from tests.servers.kafka import KafkaBroker
from tests.servers.process import wait_until
from tests.servers.redis import RedisServer

PAGES = 40
STEP_SECONDS = 30
RETENTION = ("retention.seconds=1",)
"""Every pass looks at all."""


@pytest.mark.chaos
@pytest.mark.parametrize("point", points(SWEEP_STEPS))
def test_whatever_a_dead_sweeper_began_is_finished(
    kafka_broker: KafkaBroker, redis_server: RedisServer, point: str
) -> None:
    arena = build_arena(kafka_broker, redis_server)
    arena.publish([page(number) for number in range(PAGES)])
    process_all(arena)

    sweeping = (*arena.settings, *RETENTION, f"retention.stub_seconds={1 if drops_stubs(point) else 600}")
    with start_daemon([*sweeping, f"failpoints.kill={point}"]) as daemon:
        assert daemon.wait() == -signal.SIGKILL
    with start_daemon(sweeping) as daemon:
        daemon.wait_until_ready()
        kept = {"live", "short", "expiring", *({"gone"} if drops_stubs(point) else ())}
        wait_until(lambda: not kept & states(sweeping), STEP_SECONDS)
        assert daemon.stop() == 0

    assert violations(sweeping) == []
    assert not stored_partition(sweeping)


def drops_stubs(point: str) -> bool:
    """Return whether stubs must go for the point to be met."""
    return point.endswith(("records.drop", "records.fetch"))


def page(number: int) -> Message:
    """Return one of three pages of a family."""
    name = f"p{number}"
    return Message(key=name.encode(), value=page_json(name, essay(number // 3, [number % 3])))


def process_all(arena: Arena) -> None:
    with start_daemon(arena.settings) as daemon:
        daemon.wait_until_ready()
        wait_until_quiet(arena.settings, STEP_SECONDS)
        assert daemon.stop() == 0


def states(settings: Sequence[str]) -> set[str]:
    """Return what the records that are there say of their pages."""
    return asyncio.run(_states(Settings.load(overrides=settings)))


async def _states(settings: Settings) -> set[str]:
    async with open_stored_index(settings, None) as stores:
        walked = [each async for part in all_records(stores.pages.records) for each in part.records]
    return {PageRecord.unpack(packed).state for _, packed in walked}
