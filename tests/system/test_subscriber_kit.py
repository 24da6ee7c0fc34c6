"""`neardup-events`, built and installed as its users install it, against a real broker."""

import asyncio
import re
import signal
import subprocess
import sys
import venv
import zipfile
from collections.abc import Sequence
from pathlib import Path
from random import Random

import aiokafka
import pytest

from neardup_stream.message import Message
from neardup_stream.subscriber import Subscription
from neardup_stream.wire.events import to_message
from release.kit import build_kit
from tests.events import At, duplicate
from tests.servers.kafka import KafkaBroker
from tests.servers.process import HEARING_SIGNALS
from tests.subscriber_programs import (
    PARTITIONS,
    SEED,
    expect_end_at_another_partition,
    expected,
    follow_both_halves,
    published,
    read_until,
    send,
    send_in_transaction,
    subscriber,
)
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
LATER = duplicate("https://later.example/b", At("later", 1, "https://later.example/a"))


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


@pytest.mark.timeout(900)
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

    assert sum(bool(line.strip()) for line in PROGRAM.splitlines()) <= 50
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


@PROGRAMS
def test_a_python_example_names_the_record_that_is_no_event_and_continues_once_it_is_skipped(
    program: str, python: Path, kafka_broker: KafkaBroker, topic_prefix: str, tmp_path: Path
) -> None:
    (tmp_path / "subscriber.py").write_text(program, encoding="utf-8")
    kafka_broker.create_topic(topic_prefix)
    send(kafka_broker, topic_prefix, [Message(key=None, value=b"no JSON"), to_message(written_event(LATER))])
    state_file = str(tmp_path / "state.sqlite")
    command = [str(python), str(tmp_path / "subscriber.py"), kafka_broker.bootstrap_servers, topic_prefix]

    ended = subprocess.run([*command, state_file], capture_output=True, text=True, check=False)
    with Subscription(state_file) as state:
        state.skip(topic_prefix, 0, 0)
        state.save()

    assert ended.returncode == 1
    assert ended.stderr.startswith("partition 0, offset 0: the value is no JSON")
    expect_silent_end([*command, state_file], signal.SIGINT)


@PROGRAMS
def test_a_python_example_ends_once_the_topic_has_another_partition(
    program: str, python: Path, kafka_broker: KafkaBroker, topic_prefix: str, tmp_path: Path
) -> None:
    (tmp_path / "subscriber.py").write_text(program, encoding="utf-8")
    command = [str(python), str(tmp_path / "subscriber.py")]

    expect_end_at_another_partition(command, [str(tmp_path / "state.sqlite")], kafka_broker, topic_prefix)


def test_the_confluent_kafka_example_prints_the_same(
    python: Path, kafka_broker: KafkaBroker, topic_prefix: str, tmp_path: Path
) -> None:
    example = ROOT / "deploy" / "subscribers" / "confluent_subscriber.py"

    follow_both_halves(
        [str(python), str(example)], [str(tmp_path / "state")], kafka_broker, f"{topic_prefix}-events"
    )


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
