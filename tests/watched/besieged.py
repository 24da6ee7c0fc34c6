"""Scrapes of a daemon whose HTTP port is under attack."""

import time
from collections.abc import Callable
from typing import NamedTuple

from tests.servers.daemon import Daemon
from tests.servers.http_attack import KINDS, start_attack
from tests.servers.process import wait_until

__all__ = ["Siege", "besiege"]

OK = 200
PAUSE_SECONDS = 0.2
CLOSING_SECONDS = 30
"""What is left of an attack is closed after ten."""


class Siege(NamedTuple):
    """What an attack did to a daemon.

    Attributes:
        visits: connections of each kind.
        scrape_seconds: of each scrape until it was answered.
        repeated_count: connections of scrapes that were closed without an answer, and made again.
        log_lines: that the daemon wrote meanwhile.
    """

    visits: dict[str, int]
    scrape_seconds: list[float]
    repeated_count: int
    log_lines: list[str]


def besiege(daemon: Daemon, connections: int, seconds: float, between: Callable[[], None]) -> Siege:
    """Attack the port of a daemon that is ready, and scrape it meanwhile.

    Args:
        daemon: under attack.
        connections: open at once.
        seconds: from the first to the last.
        between: called after each scrape.

    Raises:
        TimeoutError: it has more descriptors than before, long after all is over.
    """
    assert daemon.get("/metrics")[0] == OK
    before, lines_before = daemon.descriptor_count(), len(daemon.log().splitlines())
    scrapes: list[float] = []
    repeated = 0
    end = time.monotonic() + seconds
    with start_attack(daemon.port, connections, seconds) as counts:
        while time.monotonic() < end:
            begin = time.monotonic()
            while daemon.get("/metrics")[0] != OK:
                repeated += 1
            scrapes.append(time.monotonic() - begin)
            between()
            time.sleep(PAUSE_SECONDS)  # a scraper has pauses
        visits = counts()
    assert visits.keys() >= KINDS.keys()
    wait_until(lambda: daemon.descriptor_count() <= before, CLOSING_SECONDS)  # none is lost
    return Siege(visits, scrapes, repeated, daemon.log().splitlines()[lines_before:])
