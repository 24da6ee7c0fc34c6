"""Daemons that ask an archive, killed and stopped while it is replaced and pages of it are forgotten."""

import shutil
from collections.abc import Iterable
from pathlib import Path
from threading import Lock

import pytest

from neardup_stream.archive.frozen import FrozenIndex
from neardup_stream.archive.gone import gone_path, write_gone
from tests.chaos.arena import CALM, SESSION_SECONDS, Arena, build_arena
from tests.chaos.crawl import crawl
from tests.chaos.faults import Fate, named_faults
from tests.chaos.feeding import Feed
from tests.chaos.fleet import finish, live_through
from tests.chaos.judging import record_states, violations
from tests.pipelines import essay, page_json
from tests.servers.kafka import KafkaBroker
from tests.servers.redis import RedisServer
from tests.system.conftest import call

pytestmark = pytest.mark.timeout(1500)  # more than lives that miss their points take on a busy machine

QUIET_SECONDS = 60
FATES = [
    Fate(stop=None, kill="after records.replace 2"),
    Fate(stop="after records.replace", kill="", still_seconds=1.5 * SESSION_SECONDS, moment_seconds=0.2),
    Fate(stop=None, kill="before cluster_store.commit 2"),
    Fate(stop=None, kill="before source.commit"),
]


class _Archive:
    """The archive of the settings, and what happens to it at each fault."""

    def __init__(self, arena: Arena, path: Path, *, is_replaced: bool) -> None:
        self._path = path
        self._is_replaced = is_replaced
        self._lock = Lock()
        self._turn = 0
        self._spare = path.with_name("spare.nda")
        for place, families in ((path, range(0, 300, 2)), (self._spare, range(0, 300, 3))):
            _freeze(arena, place, families)

    def change(self) -> None:
        """Forget half of its pages, then replace it if it may be, then take the forgets back, and so on."""
        with self._lock:
            self._turn += 1
            if self._turn % 3 == 1:
                header = FrozenIndex(self._path).header
                write_gone(self._path, header, range(self._turn % 2, header.page_count, 2))
            elif self._turn % 3 == 2 and self._is_replaced:
                gone_path(self._path).unlink(missing_ok=True)
                shutil.copy2(self._spare, incoming := self._path.with_name("incoming.nda"))
                incoming.replace(self._path)
            else:
                gone_path(self._path).unlink(missing_ok=True)


def _freeze(arena: Arena, path: Path, families: Iterable[int]) -> None:
    pages = b"".join(page_json(f"frozen/{each}", essay(each)) + b"\n" for each in families)
    overrides = [word for setting in arena.settings for word in ("--set", setting)]
    run = call("freeze", "-", "-o", str(path), *overrides, stdin=pages)
    assert run.returncode == 0, run.stderr


@pytest.mark.parametrize("on_match", ["report", "skip"])
def test_the_promises_hold_while_daemons_die_and_archives_change(
    kafka_broker: KafkaBroker, redis_server: RedisServer, tmp_path: Path, on_match: str
) -> None:
    arena = build_arena(kafka_broker, redis_server)
    archive = _Archive(arena, tmp_path / "old.nda", is_replaced=on_match == "report")
    settings = (
        *arena.settings,
        f"archive.files={tmp_path / 'old.nda'}",
        f"archive.on_match={on_match}",
        "archive.reload_seconds=0.1",
    )
    feed = Feed(arena, crawl(500, seed=5), len(FATES) + 1)

    def on_fault() -> None:
        archive.change()
        feed.more()

    met = live_through(settings, FATES, 2, on_fault)
    feed.rest()
    finish((*settings, *CALM), 1, QUIET_SECONDS)

    assert named_faults(FATES) <= set(met)
    assert violations(settings) == []
    assert (record_states(settings)["archived"] > 20) == (on_match == "skip")
