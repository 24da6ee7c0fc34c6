"""Two pages in flight at once, on two daemons that do not know of each other."""

import pytest

from tests.chaos.arena import SESSION_SECONDS, build_arena
from tests.chaos.judging import stored_partition, violations
from tests.chaos.meetings import MEETING_POINTS, meet, page
from tests.pipelines import essay
from tests.servers.kafka import KafkaBroker
from tests.servers.redis import RedisServer

pytestmark = pytest.mark.chaos

STILL_SECONDS = {"while both sessions last": 0.0, "past both sessions": 2.5 * SESSION_SECONDS}


@pytest.mark.parametrize("still", STILL_SECONDS)
@pytest.mark.parametrize("point", MEETING_POINTS)
def test_matching_pages_in_flight_at_once_end_in_one_cluster(
    kafka_broker: KafkaBroker, redis_server: RedisServer, point: str, still: str
) -> None:
    arena = build_arena(kafka_broker, redis_server, partitions=2)

    meet(arena, [page("one", essay(1)), page("other", essay(1, [3]))], point, STILL_SECONDS[still])

    assert violations(arena.settings) == []
    assert stored_partition(arena.settings) == {
        frozenset({"https://example.com/one", "https://example.com/other"})
    }


@pytest.mark.parametrize("still", STILL_SECONDS)
@pytest.mark.parametrize("point", MEETING_POINTS)
def test_the_same_id_in_two_partitions_is_one_page_with_one_text(
    kafka_broker: KafkaBroker, redis_server: RedisServer, point: str, still: str
) -> None:
    arena = build_arena(kafka_broker, redis_server, partitions=2)

    meet(arena, [page("same", essay(1)), page("same", essay(2))], point, STILL_SECONDS[still])

    assert violations(arena.settings) == []
    assert not stored_partition(arena.settings)
