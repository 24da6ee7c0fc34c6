"""`neardup-events`, built and installed as its users install it, against a real broker."""

import asyncio
import re
import signal
import subprocess
import sys
import venv
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Literal

import aiokafka
import pytest
from aiokafka import AIOKafkaProducer

from neardup_stream.message import Message
from neardup_stream.subscriber import Fold, Subscription, decode
from neardup_stream.wire.events import to_message
from release.kit import build_kit
from tests.events import At, duplicate
from tests.property.test_fold import Model, Step, disordered
from tests.servers.jars import fetch_jars
from tests.servers.kafka import KafkaBroker
from tests.servers.process import HEARING_SIGNALS
from tests.subscriptions import written_event

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "subscribing.md").read_text(encoding="utf-8")
(PROGRAM, *_) = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
CONFLUENT_PROGRAM = (ROOT / "deploy" / "subscribers" / "confluent_subscriber.py").read_text(encoding="utf-8")
PROGRAMS = pytest.mark.parametrize("program", [PROGRAM, CONFLUENT_PROGRAM], ids=["aiokafka", "confluent"])

MAX_WHEEL_BYTES = 100_000
CLIENTS = (
    "aiokafka",
    "async_timeout",
    "packaging",
    "typing_extensions.py",
    "confluent_kafka",
    "confluent_kafka.libs",
)
KILLS = 20
PARTITIONS = 3
SEED = 59
LATER = duplicate("https://later.example/b", At("later", 1, "https://later.example/a"))
Printed = Mapping[str, str]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_kit(tmp_path_factory.mktemp("kit"), is_isolated=False, is_wheel_alone=True)


@pytest.fixture(scope="module")
def python(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fresh environment with the wheel, installed without any index, and the Kafka clients of this one."""
    environment = tmp_path_factory.mktemp("environment")
    venv.create(environment)
    program = environment / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--python", str(program), "install", "--quiet", "--no-index"]
    subprocess.run([*pip, str(wheel)], check=True)
    (site,) = environment.glob("lib/*/site-packages")
    ours = Path(aiokafka.__file__).parents[1]
    for name in CLIENTS:
        for path in ours.glob(name):
            (site / path.name).symlink_to(path)
    return program


def published(count: int) -> Sequence[Message]:
    """Return events of many pages that are judged, change and are forgotten; out of order, with repeats."""
    random = Random(SEED)
    page_ids = [f"https://example.com/{number}" for number in range(count // 8)]
    model = Model(publishes_unique=False)
    kinds: Sequence[Literal["judge", "forget"]] = ("judge",) * 8 + ("forget",)
    steps = [
        Step(
            kind=random.choice(kinds),
            page_id=random.choice(page_ids),
            matches=frozenset(random.choices(page_ids, k=2)),
            merges=True,
        )
        for _ in range(count)
    ]
    events = [event for step in steps for event in model.do(step)]
    written = [written_event(data, event_id=str(number)) for number, data in enumerate(events)]
    return [to_message(each) for each in disordered(written, random)]


def expected(messages: Sequence[Message]) -> Printed:
    """Return the duplicates of these events, with the pages that they are duplicates of."""
    fold = Fold()
    for each in messages:
        fold.feed(decode(each.value, each.headers))
    return {page_id: fold.status(page_id).duplicate_of or "" for page_id in fold.deletable()}


async def send_in_transaction(broker: KafkaBroker, topic: str, message: Message) -> None:
    servers = broker.bootstrap_servers
    async with (
        AIOKafkaProducer(bootstrap_servers=servers, transactional_id=topic) as producer,
        producer.transaction(),
    ):
        await producer.send(topic, message.value, message.key, headers=list(message.headers))


def send(broker: KafkaBroker, topic: str, messages: Sequence[Message]) -> None:
    async def run() -> None:
        async with AIOKafkaProducer(bootstrap_servers=broker.bootstrap_servers) as producer:
            for each in messages:
                await producer.send(topic, each.value, each.key, headers=list(each.headers))
            await producer.flush()

    asyncio.run(run())


class Subscriber:
    """A subscriber as a process, and what it has printed last of each page."""

    def __init__(self, command: Sequence[str], printed: dict[str, str]) -> None:
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        self._printed = printed

    def read_line(self) -> None:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, "the subscriber has ended"
        page_id, kept = line.split()
        self._printed[page_id] = kept

    def kill(self) -> None:
        """Kill it and read what it had printed."""
        assert self._process.stdout is not None
        self._process.kill()
        with self._process.stdout as rest:
            for line in rest:
                if line.endswith("\n"):
                    page_id, kept = line.split()
                    self._printed[page_id] = kept
        self._process.wait()


@contextmanager
def subscriber(command: Sequence[str], printed: dict[str, str]) -> Iterator[Subscriber]:
    running = Subscriber(command, printed)
    try:
        yield running
    finally:
        running.kill()


def test_the_wheel_is_small_and_pure_and_needs_nothing(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as content:
        names = content.namelist()
        (metadata,) = (name for name in names if name.endswith("/METADATA"))
        described = content.read(metadata).decode()

    assert wheel.stat().st_size < MAX_WHEEL_BYTES
    assert wheel.name.endswith("-py3-none-any.whl")
    assert {name.partition("/")[0] for name in names} == {"neardup_events", metadata.partition("/")[0]}
    assert {Path(name).suffix for name in names if name.startswith("neardup_events/")} == {".py", ".typed"}
    assert re.findall(r"^Requires-Dist: (.*)$", described, re.MULTILINE) == [
        'scrapy>=2.14; extra == "scrapy"'
    ]
    assert "Requires-Python: >=3.11" in described


def test_the_documented_subscriber_is_right_after_twenty_kills(
    python: Path, kafka_broker: KafkaBroker, topic_prefix: str, tmp_path: Path
) -> None:
    """It continues from its file each time, and what it printed last of each page is right."""
    (tmp_path / "subscriber.py").write_text(PROGRAM, encoding="utf-8")
    topic = f"{topic_prefix}-events"
    kafka_broker.create_topic(topic, PARTITIONS)
    command = [str(python), str(tmp_path / "subscriber.py"), kafka_broker.bootstrap_servers, topic]
    command.append(str(tmp_path / "state.sqlite"))
    messages = published(1_000)
    size = len(messages) // (KILLS + 1)
    random = Random(SEED)
    printed: dict[str, str] = {}
    for number in range(KILLS):
        send(kafka_broker, topic, messages[number * size : (number + 1) * size])
        with subscriber(command, printed) as running:
            for _ in range(random.choice([0, 1, 1, 2, 5])):
                running.read_line()
    send(kafka_broker, topic, messages[KILLS * size :])
    right = expected(messages)
    with subscriber(command, printed) as running:
        read_until(running, printed, right)
    with Subscription(tmp_path / "state.sqlite") as state:
        read = sum(state.offset(topic, number) or 0 for number in range(PARTITIONS))
    later = {"https://later.example/b": "https://later.example/a", "https://later.example/a": "-"}
    send(kafka_broker, topic, [to_message(written_event(LATER))])
    again: dict[str, str] = {}
    with subscriber(command, again) as running:
        while not later.items() <= again.items():
            running.read_line()

    assert sum(bool(line.strip()) for line in PROGRAM.splitlines()) <= 32
    assert len(right) > KILLS
    assert read > len(messages) // 2  # the last life did not read the topic from its beginning


def test_the_documented_subscriber_ends_silently_at_ctrl_c(
    python: Path, kafka_broker: KafkaBroker, topic_prefix: str, tmp_path: Path
) -> None:
    (tmp_path / "subscriber.py").write_text(PROGRAM, encoding="utf-8")
    kafka_broker.create_topic(topic_prefix)
    send(kafka_broker, topic_prefix, [to_message(written_event(LATER))])
    command = [str(python), str(tmp_path / "subscriber.py"), kafka_broker.bootstrap_servers, topic_prefix]

    expect_silent_end([*command, str(tmp_path / "state.sqlite")], signal.SIGINT)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_confluent_kafka_example_saves_and_ends_silently_at_a_signal(
    python: Path, kafka_broker: KafkaBroker, topic_prefix: str, tmp_path: Path, number: signal.Signals
) -> None:
    example = ROOT / "deploy" / "subscribers" / "confluent_subscriber.py"
    kafka_broker.create_topic(topic_prefix)
    send(kafka_broker, topic_prefix, [to_message(written_event(LATER))])
    command = [str(python), str(example), kafka_broker.bootstrap_servers, topic_prefix]

    expect_silent_end([*command, str(tmp_path / "state.sqlite")], number)


@PROGRAMS
def test_a_python_example_that_has_read_everything_is_behind_the_marker_of_the_transaction(
    program: str, python: Path, kafka_broker: KafkaBroker, topic_prefix: str, tmp_path: Path
) -> None:
    """Else it would miss the marker, where retention has deleted it, and end."""
    (tmp_path / "subscriber.py").write_text(program, encoding="utf-8")
    kafka_broker.create_topic(topic_prefix)
    asyncio.run(send_in_transaction(kafka_broker, topic_prefix, to_message(written_event(LATER))))
    command = [str(python), str(tmp_path / "subscriber.py"), kafka_broker.bootstrap_servers, topic_prefix]

    expect_silent_end([*command, str(tmp_path / "state.sqlite")], signal.SIGINT)

    with Subscription(tmp_path / "state.sqlite") as state:
        assert state.offset(topic_prefix, 0) == 2  # a record and a marker


def test_the_confluent_kafka_example_prints_the_same(
    python: Path, kafka_broker: KafkaBroker, topic_prefix: str, tmp_path: Path
) -> None:
    example = ROOT / "deploy" / "subscribers" / "confluent_subscriber.py"

    follow_both_halves(
        [str(python), str(example)], [str(tmp_path / "state")], kafka_broker, f"{topic_prefix}-events"
    )


def test_the_java_example_prints_the_same(kafka_broker: KafkaBroker, topic_prefix: str) -> None:
    java = [
        "java",
        "-XX:TieredStopAtLevel=1",
        "-cp",
        f"{fetch_jars()}/*",
        str(ROOT / "deploy" / "subscribers" / "Subscriber.java"),
    ]

    follow_both_halves(java, [], kafka_broker, f"{topic_prefix}-events")


def expect_silent_end(command: Sequence[str], number: signal.Signals) -> None:
    """Expect a subscriber of `LATER` to end at a signal with 0, and its state file to have all it printed."""
    command = [*HEARING_SIGNALS, *command]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        assert running.stderr is not None
        first = running.stdout.readline()
        running.send_signal(number)
        others, complaint = running.stdout.readlines(), running.stderr.read()
        running.wait(60)
    with Subscription(Path(command[-1])) as state:
        due = list(state.due())

    assert {first, *others} == {
        "https://later.example/a -\n",
        "https://later.example/b https://later.example/a\n",
    }
    assert (running.returncode, complaint) == (0, "")
    assert due == []


def read_until(running: Subscriber, printed: Printed, right: Printed) -> None:
    """Which pages are printed that are no duplicates in the end depends on the order among partitions."""
    while {page_id: kept for page_id, kept in printed.items() if kept != "-"} != right:
        running.read_line()


def follow_both_halves(
    program: Sequence[str], arguments: Sequence[str], broker: KafkaBroker, topic: str
) -> None:
    """What a program prints of half the events, and of all of them after it was killed in between."""
    broker.create_topic(topic, PARTITIONS)
    command = [*program, broker.bootstrap_servers, topic, *arguments]
    messages = published(600)
    middle = len(messages) // 2
    printed: dict[str, str] = {}
    for part, read in ((messages[:middle], messages[:middle]), (messages[middle:], messages)):
        send(broker, topic, part)
        right = expected(read)
        with subscriber(command, printed) as running:
            read_until(running, printed, right)
