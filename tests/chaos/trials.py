"""A crawl under two daemons whose index is lost on the way, and everything that is judged at its end."""

import json
import signal
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from http import HTTPStatus
from subprocess import CompletedProcess

from neardup_stream.message import Message
from tests.chaos.arena import Arena
from tests.chaos.fleet import serving
from tests.chaos.judging import committed_offsets, stored_partition, wait_until_quiet
from tests.chaos.moving_crawl import expected_partition, families_of_pages
from tests.chaos.texts_kept import JudgedEvents, judge_prefixes, read_topic
from tests.servers.daemon import Daemon
from tests.servers.process import wait_until
from tests.servers.program import run_program

__all__ = ["STEP_SECONDS", "Trial"]

DAEMONS = 2
STEP_SECONDS = 600
SETTINGS = (
    "kafka.session_timeout_seconds=6",
    "pipeline.max_batch_pages=64",
    "clusters.tombstone_ttl_seconds=60",
)
STOPPED = {0, 3, -signal.SIGKILL}
"""How a daemon whose index is lost may end when it is stopped."""


@dataclass(frozen=True)
class Trial:
    """One crawl.

    Attributes:
        arena: with one partition of events, so that its prefixes have an order.
        messages: the crawl.
        recovered: the records that were committed when each `recover` ran.
    """

    arena: Arena
    messages: Sequence[Message]
    recovered: list[list[Message]] = field(default_factory=list)

    @property
    def settings(self) -> tuple[str, ...]:
        """Of daemons and commands."""
        return (*self.arena.settings, *SETTINGS)

    @contextmanager
    def running(self) -> Iterator[list[Daemon]]:
        """Run the daemons."""
        with ExitStack() as stack:
            yield serving(stack, self.settings, DAEMONS)

    def publish(self, first: float, last: float) -> None:
        """Publish the pages from this share of the crawl to that one."""
        count = len(self.messages)
        self.arena.publish(self.messages[round(first * count) : round(last * count)])

    def wait_for_share(self, share: float) -> None:
        """Wait until so much of the crawl is committed."""
        count = round(len(self.messages) * share)
        wait_until(lambda: sum(committed_offsets(self.settings).values()) >= count, STEP_SECONDS)

    def finish(self) -> None:
        """Let daemons do what is left."""
        with self.running() as daemons:
            self.finish_with(daemons)

    def finish_with(self, daemons: Sequence[Daemon]) -> None:
        """Let these daemons do what is left, and stop them."""
        wait_until_quiet(self.settings, STEP_SECONDS)
        for daemon in daemons:
            daemon.signal(signal.SIGTERM)
        assert [daemon.wait() for daemon in daemons] == [0] * len(daemons)

    def stop_lost(self, daemons: Sequence[Daemon]) -> None:
        """Wait until all daemons say that the index is lost; stop one, and kill the other."""
        wait_until(lambda: all(map(_says_lost, daemons)), STEP_SECONDS)
        for daemon, number in zip(daemons, (signal.SIGTERM, signal.SIGKILL), strict=True):
            daemon.signal(number)
        assert {daemon.wait() for daemon in daemons} <= STOPPED

    def recover(self) -> str:
        """Do what the documentation says; return what the command says."""
        committed = committed_offsets(self.settings)
        pages = read_topic(self.arena.broker.bootstrap_servers, self.arena.pages_topic, committed)
        self.recovered.append([Message(key=page.key, value=page.value) for page in pages])
        runs: list[CompletedProcess[bytes]] = []

        def has_recovered() -> bool:
            runs.append(self.call("recover"))
            stderr = runs[-1].stderr.decode()
            assert runs[-1].returncode == 0 or ": stop all daemons of" in stderr, stderr
            return runs[-1].returncode == 0

        wait_until(has_recovered, STEP_SECONDS)
        return runs[-1].stdout.decode()

    def call(self, *words: str) -> CompletedProcess[bytes]:
        """Run a command."""
        overrides = [word for setting in self.settings for word in ("--set", setting)]
        return run_program([*words, *overrides], b"", {}, STEP_SECONDS)

    def verified(self) -> dict[int, list[str]]:
        """Return what `verify` says: the first violations of each promise that was not kept."""
        run = self.call("verify")
        assert run.returncode in (0, 4), run.stderr
        found = json.loads(run.stdout)["invariants"]
        assert [each for each in found if each["state"] == "not_judged"] == []
        violated = {each["invariant"]: each["violations"][:5] for each in found if each["violations"]}
        assert run.returncode == (4 if violated else 0)
        return violated

    def judged(self) -> JudgedEvents:
        """Return every prefix of the events."""
        servers = self.arena.broker.bootstrap_servers
        topic = self.arena.pages_topic.replace("-pages", "-events")
        return judge_prefixes(servers, topic, self.messages, self.recovered)

    def check(self) -> JudgedEvents:
        """Assert everything that must be so in the end; return what was judged."""
        judged = self.judged()
        verified = self.verified()
        expected = expected_partition(self.messages)
        print(
            f"\n{judged.event_count} prefixes, {judged.checked_count} pairs judged, {judged.guessed_count}"
            f" of them by all texts of a page; {dict(judged.kinds)}; {len(expected)} clusters;"
            f" {len(judged.indexes)} indexes"
        )
        assert judged.lost_texts == []
        assert verified == {}
        assert judged.partition == expected
        assert stored_partition(self.settings) == expected
        assert _texts_kept(self.messages, judged.deletable) == set(families_of_pages(self.messages).values())
        return judged


def _says_lost(daemon: Daemon) -> bool:
    status, reason = daemon.get("/readyz")
    return status == HTTPStatus.SERVICE_UNAVAILABLE and "neardup-stream recover" in reason


def _texts_kept(messages: Sequence[Message], deletable: set[str]) -> set[str]:
    """Texts that a subscriber still has who deletes all it may."""
    families: Mapping[str, str] = families_of_pages(messages)
    return {family for page, family in families.items() if page not in deletable}
