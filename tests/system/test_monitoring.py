"""Dashboards and alerts on a real Prometheus that scrapes real daemons, while the real things break.

Eleven groups of daemons run at once, by rules with shorter minutes, as short as this machine is quick.
After a while in which nothing may fire, each group but one meets its faults; each then fires its own alerts
and no other. Two groups meet theirs at once, because their alerts take longest; one meets them in turns,
because a daemon that is paused or rebalances finishes little. A second Prometheus has no daemon to scrape.
"""

import re
import signal
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import pytest

from monitoring.grafana import BOARDS
from monitoring.panels import panels_of
from monitoring.pictures import fill_in
from tests.servers.kafka import KafkaBroker
from tests.servers.process import wait_until
from tests.servers.prometheus import Prometheus, start_prometheus
from tests.servers.redis import RedisServer, start_redis
from tests.system.archives.frozen_pages import freeze_pages
from tests.watched.faults import (
    damage_archive,
    fill_memory,
    join_and_leave,
    lose_everything,
    lose_records,
    pause,
    restart_often,
    run_out_of_files,
)
from tests.watched.groups import Group, feeding, start_group
from tests.watched.portions import crawl, garbage, old_and_skewed, oversized, some_garbage

pytestmark = pytest.mark.timeout(1000)

RULES = Path(__file__).parents[2] / "deploy" / "prometheus" / "alerts.yml"
START_SECONDS = 6
"""At most so long the daemons take to start where one other process of tests runs."""
SLOWEST = 6
"""A machine is not taken for slower, by which all that is waited for takes longer."""
SCRAPE_SECONDS = 1
MINUTE_MS = 750
QUIET_SECONDS = 8
TARGETS_SECONDS = 30
FAULT_SECONDS = 600
RATE_SECONDS = 10
WINDOW_SECONDS = 60

EXPECTED: Mapping[str, set[str]] = {
    "neardup-healthy": set(),
    "neardup-killed": {"NeardupDown", "NeardupPartitionsUnassigned", "NeardupArchiveRefused"},
    "neardup-emptied": {"NeardupIndexLost", "NeardupDependencyUnavailable"},
    "neardup-cut-off": {"NeardupDependencyUnavailable"},
    "neardup-hung": {"NeardupStalled"},
    "neardup-full": {"NeardupRedisOutOfMemory", "NeardupRedisMemoryHigh", "NeardupDependencyUnavailable"},
    "neardup-garbage": {"NeardupDeadLettersTruncated", "NeardupFileDescriptors", "NeardupInputUnreadable"},
    "neardup-slow": {
        "NeardupFallingBehind",
        "NeardupLagOld",
        "NeardupPartitionSkew",
        "NeardupSlowDelivery",
    },
    "neardup-oversized": {"NeardupIndexOverPlan", "NeardupMatchesMayBeMissing"},
    "neardup-restarting": {"NeardupRestarting"},
    "neardup-worn": {
        "NeardupDeadLetters",
        "NeardupEventLoopBlocked",
        "NeardupRebalancing",
        "NeardupStaleCandidates",
    },
}
"""What fires, by job."""

EARLY = {"neardup-slow", "neardup-oversized"}
"""Jobs whose faults begin with the first page."""

CONSEQUENCES: Mapping[str, set[str]] = {
    "neardup-garbage": {"NeardupDependencyUnavailable"},
    "neardup-worn": {"NeardupPartitionsUnassigned", "NeardupDependencyUnavailable"},
}
"""What may follow from a fault: without a file descriptor no connection can be opened, a stranger in the
group has partitions that no daemon reads, and pages whose records are lost amid their batch are decided
again until they have some."""

OVERLOAD = {"NeardupEventLoopBlocked", "NeardupDown"}
"""Fire, and rightly, where this machine has no processor time for a daemon, or for its start."""

WEAR: Sequence[tuple[Callable[[Group, threading.Event], None], set[str]]] = (
    (lose_records, {"NeardupStaleCandidates", "NeardupDeadLetters"}),
    (join_and_leave, {"NeardupRebalancing"}),
    (pause, {"NeardupEventLoopBlocked"}),
)
"""What wears a daemon out, besides records that cannot be read, and what fires."""

Fired = defaultdict[str, set[str]]
"""Alerts by job."""


def faster(rules: str, minute_ms: int) -> str:
    """Return the rules with so much for each minute."""

    def milliseconds(duration: re.Match[str]) -> str:
        return f"{duration[1]}{int(duration[2]) * minute_ms}ms"

    in_minutes = re.sub(r"\[1h(?=[\]:])", "[60m", rules).replace(":15s]", f":{minute_ms // 4}ms]")
    in_minutes = in_minutes.replace("< bool 900", f"< bool {15 * minute_ms / 1000}")
    return re.sub(r"(\[|for: )(\d+)m", milliseconds, in_minutes)


@dataclass
class Watched:
    """What Prometheus saw.

    Attributes:
        prometheus: still running, and everything broken.
        idle: another one, which has nothing to scrape.
        before: alerts by job that fired before the faults.
        after: those that fired since.
        groups: of daemons, by job.
        slowness: how many times longer than usual all takes.
    """

    prometheus: Prometheus
    idle: Prometheus
    before: Fired
    after: Fired
    groups: Mapping[str, Group] = field(repr=False)
    slowness: float


@pytest.fixture(scope="module")
def watched(kafka_broker: KafkaBroker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Watched]:
    archive = freeze_pages(tmp_path_factory.mktemp("archive"))
    with ExitStack() as stack:
        groups = make_groups(
            kafka_broker, lambda **options: stack.enter_context(start_redis(options=options)), archive
        )
        began = time.monotonic()
        start_all(groups, stack)
        slowness = min(max((time.monotonic() - began) / START_SECONDS, 1), SLOWEST)
        rules = faster(RULES.read_text(), round(MINUTE_MS * slowness))
        ports = {job: group.ports for job, group in groups.items()}
        prometheus = stack.enter_context(start_prometheus(ports, rules, SCRAPE_SECONDS * slowness))
        idle = stack.enter_context(start_prometheus({}, rules, SCRAPE_SECONDS * slowness))
        wait_until(lambda: has_found(prometheus, set(groups)), TARGETS_SECONDS * slowness)
        for group in groups.values():
            group.portion, group.slowness = crawl, slowness
        groups["neardup-slow"].portion = old_and_skewed
        groups["neardup-oversized"].portion = oversized
        stack.enter_context(feeding(kafka_broker, list(groups.values())))
        before: Fired = defaultdict(set)
        collect(prometheus, QUIET_SECONDS * slowness, lambda _fired: False, before)
        after = defaultdict(set, {job: before[job] for job in EARLY})
        damage_archive(archive)
        with breaking(groups, stack, after["neardup-worn"]):
            collect(prometheus, FAULT_SECONDS, has_all, after)
        yield Watched(prometheus, idle, before, after, groups, slowness)
        groups["neardup-hung"].redis.process.thaw()


def has_found(prometheus: Prometheus, jobs: set[str]) -> bool:
    """Return whether it has scraped every job, and no longer misses them.

    It looks at its targets some five seconds after its start, which these rules take for minutes.
    """
    found = {each.labels["job"] for each in prometheus.query("up")}
    return found >= jobs and ("", "NeardupAbsent") not in prometheus.firing()


def start_all(groups: Mapping[str, Group], stack: ExitStack) -> None:
    """Start the daemons of each group as soon as its topics exist, and wait until all are ready."""
    with ThreadPoolExecutor() as threads:
        created = {
            job: threads.submit(group.create_topics, dead_letter_bytes=16_384)
            for job, group in groups.items()
        }
        for job, group in groups.items():
            created[job].result()
            start_group(group, stack)
    for group in groups.values():
        for daemon in group.daemons:
            daemon.wait_until_ready()


def make_groups(broker: KafkaBroker, start: Callable[..., RedisServer], archive: Path) -> dict[str, Group]:
    shared, asks = start(), (f"archive.files={archive}", "archive.reload_seconds=1")
    groups = [
        Group("neardup-healthy", broker, shared, extra=("retention.stub_seconds=10",)),
        Group("neardup-killed", broker, shared, partitions=2, daemon_count=2, extra=asks),
        Group("neardup-emptied", broker, shared),
        Group("neardup-cut-off", broker, start()),
        Group(
            "neardup-hung",
            broker,
            start(),
            extra=("redis.socket_timeout_seconds=1000", "pipeline.stall_seconds=8"),
        ),
        Group("neardup-full", broker, start(maxmemory="32mb")),
        Group("neardup-garbage", broker, shared),
        Group(
            "neardup-slow",
            broker,
            shared,
            partitions=2,
            extra=("pipeline.max_batch_pages=1", "pipeline.max_in_flight_pages=16"),
        ),
        Group("neardup-oversized", broker, shared, extra=("index.expected_pages=100", "index.bucket_cap=1")),
        Group("neardup-restarting", broker, shared),
        Group("neardup-worn", broker, shared, partitions=2, extra=("kafka.session_timeout_seconds=4",)),
    ]
    return {group.job: group for group in groups}


@contextmanager
def breaking(groups: Mapping[str, Group], stack: ExitStack, worn: set[str]) -> Iterator[None]:
    """Break everything; repeated faults continue until the block ends.

    Args:
        groups: what is broken.
        stack: ends what is started anew.
        worn: the alerts that `neardup-worn` has fired, now and later; each of its faults waits for the one
            before it.
    """
    enough = threading.Event()
    restarts = threading.Thread(target=lambda: restart_often(groups["neardup-restarting"], stack, enough))
    wear = threading.Thread(target=lambda: wear_out(groups["neardup-worn"], worn, enough))
    restarts.start()
    try:
        break_once(groups)
        wear.start()
        yield
    finally:
        enough.set()
        for faults in (wear, restarts):
            if faults.ident is not None:  # it was started
                faults.join()


def wear_out(group: Group, fired: set[str], enough: threading.Event) -> None:
    """Do one thing to a group again and again, until it is known, then the next."""
    for harm, alerts in WEAR:
        while not alerts <= fired and not enough.is_set():
            harm(group, enough)


def break_once(groups: Mapping[str, Group]) -> None:
    """Faults that stay."""
    groups["neardup-killed"].daemons[0].signal(signal.SIGKILL)
    lose_everything(groups["neardup-emptied"])
    groups["neardup-cut-off"].redis.kill()
    groups["neardup-hung"].redis.process.freeze()
    groups["neardup-garbage"].portion = garbage
    run_out_of_files(groups["neardup-garbage"].daemons[0])
    fill_memory(groups["neardup-full"].redis)
    worn = groups["neardup-worn"]
    worn.portion = partial(some_garbage, first_number=worn.fed_portions)


def collect(prometheus: Prometheus, seconds: float, is_enough: Callable[[Fired], bool], fired: Fired) -> None:
    """Note the alerts by job that fire at some time within so many seconds, or until it is enough.

    Args:
        prometheus: evaluates the rules.
        seconds: the longest that this takes.
        is_enough: judges what fired so far.
        fired: where they are noted; may hold some that count as if they had fired.
    """

    def look() -> bool:
        for job, name in prometheus.firing():
            fired[job].add(name)
        return is_enough(fired)

    deadline = time.monotonic() + seconds
    while not look() and time.monotonic() < deadline:
        time.sleep(0.5)  # until the rules are evaluated again


def has_all(fired: Fired) -> bool:
    return all(names <= fired[job] for job, names in EXPECTED.items())


def warnings_of(group: Group) -> str:
    """Return what its daemons complained of last, and why they changed their states."""
    said = re.compile(r'.*(?:"level": "(?:warning|error)"(?!.*Heartbeat failed)|"event": "state_changed").*')
    logs = [said.findall(daemon.log()) for daemon in group.daemons]
    return "\n".join(line for log in logs for line in log[-20:])


def test_no_alert_fires_while_all_is_well(watched: Watched) -> None:
    fired = {job: names - OVERLOAD for job, names in watched.before.items() if job not in EARLY}
    assert {job: names for job, names in fired.items() if names} == {}


def test_a_prometheus_without_daemons_says_so_and_nothing_else(watched: Watched) -> None:
    assert watched.idle.firing() == {("", "NeardupAbsent")}


@pytest.mark.parametrize("job", EXPECTED)
def test_each_fault_fires_its_alerts_and_no_other(watched: Watched, job: str) -> None:
    fired = watched.after[job]
    assert EXPECTED[job] <= fired <= EXPECTED[job] | CONSEQUENCES.get(job, set()) | OVERLOAD, warnings_of(
        watched.groups[job]
    )


QUERIES = [
    pytest.param(query.expr, id=f"{board.uid}: {panel.title} {query.legend}".strip())
    for board in BOARDS
    for panel in panels_of(board)
    for query in panel.queries
]


@pytest.mark.parametrize("expr", QUERIES)
def test_every_query_of_every_panel_has_data(watched: Watched, expr: str) -> None:
    rate_seconds, window_seconds = (each * watched.slowness for each in (RATE_SECONDS, WINDOW_SECONDS))

    series = watched.prometheus.query(fill_in(expr, rate_seconds, window_seconds), seconds=window_seconds)

    assert any(each.points for each in series)
