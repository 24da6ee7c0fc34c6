"""A group that is never at rest."""

import random
import signal
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack

from tests.chaos.feeding import Feed
from tests.servers.daemon import Daemon, start_daemon

__all__ = ["ALL_CHANGES_SEED", "storm"]

MOST_DAEMONS = 3
ALL_CHANGES_SEED = 7
"""Of a storm of five changes with all there are: three daemons join, one leaves, one is killed."""


def storm(
    settings: Sequence[str], feed: Feed, seed: int, change_count: int, pause_seconds: float
) -> Counter[str]:
    """Let daemons join and leave, politely or dead, with pages to each change; at the end all leave.

    Returns:
        How many did what.

    Raises:
        AssertionError: one that was asked to leave did not do so cleanly.
    """
    dice = random.Random(seed)
    members: list[Daemon] = []
    leaving: list[Daemon] = []
    changes: Counter[str] = Counter()
    with ExitStack() as stack:
        for _ in range(change_count):
            if not members or (len(members) < MOST_DAEMONS and dice.random() < 0.5):
                members.append(stack.enter_context(start_daemon(settings)))
                members[-1].wait_until_ready()
                changes["joined"] += 1
            elif dice.random() < 0.25:
                _drawn(members, dice).signal(signal.SIGKILL)
                changes["killed"] += 1
            else:
                leaving.append(_drawn(members, dice))
                leaving[-1].signal(signal.SIGTERM)
                changes["left"] += 1
            feed.more()
            time.sleep(pause_seconds)
        for member in members:
            member.signal(signal.SIGTERM)
        for daemon in (*leaving, *members):
            assert daemon.wait() == 0, daemon.log()
    return changes


def _drawn(members: list[Daemon], dice: random.Random) -> Daemon:
    """Any of them, which is one no more."""
    return members.pop(dice.randrange(len(members)))
