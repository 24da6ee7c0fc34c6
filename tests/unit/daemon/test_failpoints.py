"""Points at which the daemon fails by itself: what may be named, and what it costs when nothing is."""

import os
import re
import signal
from inspect import iscoroutinefunction
from pathlib import Path
from typing import get_args

import pytest
from neardup_daemon.failpoints import FAILPOINTS, Failpoint, failing_stages, parse_failpoints, with_failpoints
from neardup_daemon.settings.settings import Settings

from neardup_stream.archive.steps import BuildStep
from neardup_stream.clusters.clusters import Clusters
from neardup_stream.errors import ConfigError, StreamUnavailable
from neardup_stream.indexes.permuted import PermutedIndex
from neardup_stream.message import Message
from neardup_stream.meters import Stage
from neardup_stream.stores.redis.clusters import RedisClusters
from neardup_stream.stores.redis.frames import RedisFrames
from neardup_stream.stores.redis.records import RedisRecords
from neardup_stream.streams.kafka.sink import KafkaSink
from neardup_stream.streams.kafka.source import KafkaSource
from neardup_stream.streams.kafka.transactions import KafkaTransactions
from neardup_stream.streams.memory.streams import MemorySink

WIRED = {
    "records": RedisRecords,
    "index": PermutedIndex,
    "clusters": Clusters,
    "cluster_store": RedisClusters,
    "frames": RedisFrames,
    "events": KafkaSink,
    "dead_letters": KafkaSink,
    "transactions": KafkaTransactions,
    "source": KafkaSource,
}
PAGE = Path(__file__).parents[3] / "docs" / "contributing.md"
HELLO = [Message(key=b"k", value=b"v")]


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[signal.Signals]:
    """The signals that this process would have sent itself."""
    signals: list[signal.Signals] = []
    monkeypatch.setattr(os, "kill", lambda _pid, number: signals.append(number))
    return signals


@pytest.mark.parametrize("name", FAILPOINTS)
def test_every_point_is_a_call_of_what_the_daemon_is_made_of(name: str) -> None:
    target, _, method = name.partition(" ")[2].rpartition(".")
    names = {"archive": get_args(BuildStep), "": get_args(Stage)}

    assert method in names[target] if target in names else iscoroutinefunction(getattr(WIRED[target], method))


def test_the_table_of_the_docs_names_points_that_exist() -> None:
    section = PAGE.read_text(encoding="utf-8").partition("## Faults on purpose")[2]
    rows = section[section.index("| stage |") :].partition("\n\n")[0].splitlines()[2:]
    stages = {name for row in rows for name in re.findall(r"`(\w+)`", row.split("|")[1])}
    calls = [
        name for row in rows for name in re.findall(r"`([\w.]+)`", row.split("|")[2]) if name != "before"
    ]
    steps = {f"archive.{name}" for name in calls if "." not in name}
    places = {point.partition(" ")[2] for point in FAILPOINTS}

    assert stages < places
    assert {name for name in calls if "." in name} | steps <= places
    assert steps | {"archive.read"} == {place for place in places if place.startswith("archive.")}


def test_with_nothing_set_nothing_is_wrapped() -> None:
    sink = MemorySink()

    assert with_failpoints("events", sink, Settings().failpoints.points()) is sink


def test_what_has_no_point_of_its_own_is_not_wrapped() -> None:
    sink = MemorySink()

    assert with_failpoints("events", sink, parse_failpoints(["before dead_letters.send"], [])) is sink


@pytest.mark.parametrize(
    ("written", "point"),
    [
        ("before records.write_ranks", Failpoint("before", "records", "write_ranks", 1, signal.SIGKILL)),
        ("after decide 2", Failpoint("after", "stage", "decide", 2, signal.SIGKILL)),
        ("after cluster_store.commit 3", Failpoint("after", "cluster_store", "commit", 3, signal.SIGKILL)),
    ],
    ids=["the first call", "a stage", "a later call"],
)
def test_a_point_is_written_as_moment_call_and_turn(written: str, point: Failpoint) -> None:
    settings = Settings.load(overrides=[f"failpoints.kill={written}", f"failpoints.stop={written}"])

    assert settings.failpoints.points() == [point, point._replace(signal=signal.SIGSTOP)]


@pytest.mark.parametrize(
    "written",
    [
        "",
        "records.write_ranks",
        "during records.write_ranks",
        "before records.burn",
        "before pages.write_ranks",
        "before stage.decide",
        "before prepare",
        "before records.write_ranks 0",
        "before records.write_ranks -1",
        "before records.write_ranks twice",
        "before records.write_ranks 1 2",
    ],
)
def test_a_point_that_does_not_exist_is_refused(written: str) -> None:
    with pytest.raises(ConfigError, match="failpoint"):
        parse_failpoints([], [written])


async def test_before_the_call_nothing_is_done_and_after_it_everything(sent: list[signal.Signals]) -> None:
    sink = MemorySink()
    points = parse_failpoints(kill=["before events.send 2"], stop=["after events.send 1"])
    armed = with_failpoints("events", sink, points)

    await armed.send(HELLO)
    assert sent == [signal.SIGSTOP]
    await armed.send(HELLO)
    assert sent == [signal.SIGSTOP, signal.SIGKILL]
    await armed.send(HELLO)

    assert len(sent) == 2
    assert len(sink.messages) == 3


async def test_a_call_that_fails_is_no_turn_of_what_comes_after_it(sent: list[signal.Signals]) -> None:
    class UnavailableSink(MemorySink):
        async def send(self, messages: object) -> None:
            raise StreamUnavailable("unavailable")

    armed = with_failpoints("events", UnavailableSink(), parse_failpoints(["after events.send"], []))

    with pytest.raises(StreamUnavailable):
        await armed.send(HELLO)

    assert not sent


def test_what_is_no_call_is_passed_on() -> None:
    sink = MemorySink()

    armed = with_failpoints("events", sink, parse_failpoints(["before events.send"], []))

    assert armed.max_message_bytes is sink.max_message_bytes
    assert armed.messages is sink.messages


def test_a_stage_has_its_own_turns_before_and_after(sent: list[signal.Signals]) -> None:
    reach = failing_stages(parse_failpoints(["before register 2"], ["after register"]))

    for _ in range(2):
        reach("before", "register")
        reach("before", "probe")
    assert sent == [signal.SIGKILL]
    reach("after", "register")

    assert sent == [signal.SIGKILL, signal.SIGSTOP]
