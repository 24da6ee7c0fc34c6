"""The first hour, by the README: its settings and its commands, word for word, on servers that run."""

import re
import shlex
from collections.abc import Sequence
from pathlib import Path

from tests.servers.daemon import start_daemon
from tests.servers.kafka import KafkaBroker
from tests.servers.redis import start_redis
from tests.system.conftest import call
from tests.system.test_run import pages, write_pages

README = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
SECTION = README[README.index("## Quick start with Kafka and Redis") :].partition("\nIn production")[0]


def block(kind: str) -> str:
    """Return the first fenced block of a kind, without its indentation."""
    (found, *_) = re.findall(rf"```{kind}\n(.*?)```", SECTION, re.DOTALL)
    return str(re.sub("^   ", "", found, flags=re.MULTILINE))


def commands() -> dict[str, Sequence[str]]:
    """Return every call of the program in that section, by its command."""
    lines = re.findall(r"^ *neardup-stream (.*)$", SECTION, re.MULTILINE)
    return {words[0]: words for words in (shlex.split(line, comments=True) for line in lines)}


def test_the_readmes_steps_lead_from_ones_own_kafka_and_redis_to_the_first_event(
    kafka_broker: KafkaBroker, topic_prefix: str, tmp_path: Path
) -> None:
    config, sample = tmp_path / "neardup.toml", tmp_path / "sample.jsonl"
    steps = {
        name: [{"neardup.toml": str(config), "sample.jsonl": str(sample)}.get(word, word) for word in words]
        for name, words in commands().items()
    }
    assert list(steps) == ["check", "run", "demo", "produce", "tail"]
    write_pages(sample, pages(40, topics=20))  # "or pages of your own"

    with start_redis() as redis:
        settings = block("toml").replace("kafka-1:9092,kafka-2:9092", kafka_broker.bootstrap_servers)
        settings = settings.replace("redis://redis-1:6379/0", redis.url).replace("crawl.", f"{topic_prefix}.")
        config.write_text(settings, encoding="utf-8")
        checked = call(*steps["check"])
        with start_daemon((), *steps["run"][1:]) as daemon:
            daemon.wait_until_ready()
            produced = call(*steps["produce"])
            daemon.wait_for_pages(40)
            shown = call(*steps["tail"], "--idle-seconds", "1")
            stopped = daemon.stop()

    assert (checked.returncode, produced.returncode, shown.returncode, stopped) == (0, 0, 0, 0)
    assert len(shown.stdout.splitlines()) == 20
