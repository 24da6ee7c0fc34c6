"""`benchmarks.growth` grows an index on a real Redis, and counts for a page what `plan` predicts."""

import asyncio

import pytest

from benchmarks.growth import grow
from tests.servers.redis import find_redis, start_redis

SIZES = [2_000, 12_000]
WINDOW = 4_000


def test_an_index_that_grows_finds_every_copy_and_takes_what_its_plan_says(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("benchmarks.redis_readings.SAMPLED_KEYS", 500)
    with start_redis(find_redis, {}) as server:
        points = asyncio.run(grow(server, SIZES, WINDOW))

    assert [point.pages for point in points] == SIZES
    for point in points:
        assert (point.measured["copies_found"], point.measured["false_pairs"]) == (1, 0)
        assert point.measured["commands"] == pytest.approx(point.planned["commands"], rel=0.1)
    full = points[-1]
    for kind in ("index_bytes", "record_bytes", "cluster_bytes"):
        assert full.measured[kind] == pytest.approx(full.planned[kind], rel=0.1)
