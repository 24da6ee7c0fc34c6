"""A daemon over a Redis Cluster whose master dies under load: it continues by itself, and nothing is lost."""

import pytest

from tests.pipelines import essay, page_json
from tests.servers.daemon import start_daemon
from tests.servers.process import wait_until
from tests.servers.redis import start_redis_cluster
from tests.system.conftest import Site

PAGES, TEXTS, PAGES_BEFORE = 2000, 700, 300
MOST_SECONDS = 60


@pytest.mark.timeout(900)
def test_a_master_that_dies_costs_seconds_and_no_restart(site: Site) -> None:
    site.create_topics()
    with start_redis_cluster() as cluster:
        settings = (
            *site.settings,
            f"redis.url={cluster.url}",
            "redis.durability=replica",
            "clusters.rule=components",
            "pipeline.max_batch_pages=16",
            "pipeline.max_in_flight_pages=128",
        )
        crawl = b"".join(page_json(f"p{n}", essay(n % TEXTS)) + b"\n" for n in range(PAGES))
        assert site.call("produce", "-", stdin=crawl).returncode == 0

        with start_daemon(settings) as daemon:
            daemon.wait_until_ready()
            daemon.wait_for_pages(PAGES_BEFORE)
            victim = cluster.master_of("{c}")
            victim.kill()
            wait_until(lambda: cluster.master_of("{c}") is not victim, MOST_SECONDS)
            victim.start_again()  # as the replica of the new master, which needs one
            daemon.wait_for_pages(PAGES)
            daemon.wait_until_ready()  # the sweeper, too, has to reach the new master
            outcomes, log = daemon.outcomes(), daemon.log_events()
            exit_code = daemon.stop()

        judged = site.call("verify", "--wait", "20", settings=settings)

    assert exit_code == 0
    assert outcomes == {"unique": TEXTS, "duplicate": PAGES - TEXTS}
    assert "degraded" in {line.get("state") for line in log}
    assert judged.returncode == 0, judged.stdout + judged.stderr
