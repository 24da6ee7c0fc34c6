"""The short form of `tests/chaos/test_http_attack.py`."""

from tests.pipelines import essay, page_json
from tests.servers.daemon import start_daemon
from tests.system.conftest import Site
from tests.watched.besieged import besiege

CONNECTIONS = 500
SECONDS = 3.0
MOST_LOG_LINES = 20


def test_half_open_and_malformed_http_costs_neither_scrapes_nor_descriptors_nor_logs(site: Site) -> None:
    site.create_topics()

    with start_daemon(site.settings) as daemon:
        daemon.wait_until_ready()
        siege = besiege(daemon, CONNECTIONS, SECONDS, lambda: None)
        site.call("produce", "-", stdin=page_json("a", essay(1)))
        daemon.wait_for_pages(1)
        exit_code = daemon.stop()

    assert exit_code == 0
    assert siege.scrape_seconds
    assert len(siege.log_lines) < MOST_LOG_LINES
