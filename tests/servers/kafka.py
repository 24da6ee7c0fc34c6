"""Real Kafka brokers in KRaft mode: one alone, or a cluster of them.

```python
with start_kafka() as broker:
    broker.create_topic("pages", partitions=4)
    producer = AIOKafkaProducer(bootstrap_servers=broker.bootstrap_servers)
```

`python -m tests.servers.kafka` fetches the jars and archives their classes ahead of the first test.
"""

import asyncio
import signal
import subprocess
import tempfile
from base64 import urlsafe_b64encode
from collections.abc import AsyncIterator, Coroutine, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType
from aiokafka.errors import KafkaError, for_code

from tests.servers.jars import KAFKA_FILES, class_archive, fetch_jars
from tests.servers.kafka_leaders import wait_for_leader, wait_until_led
from tests.servers.process import (
    ServerFailed,
    ServerProcess,
    find_program,
    free_ports,
    is_listening,
)

__all__ = ["KafkaBroker", "KafkaCluster", "run_apart", "start_kafka", "start_kafka_cluster"]

READY_SECONDS = 180
FORMAT_SECONDS = 120
ARCHIVE_SECONDS = 120
TERMINATED = 128 + signal.SIGTERM  # as a JVM ends that has done all it does then
CLUSTER_ID = urlsafe_b64encode(b"neardup-streams!").decode().rstrip("=")

Answer = TypeVar("Answer")

HEAP = "-Xmx512m"
CLUSTER_CONFIGS = {
    "default.replication.factor": "3",
    "min.insync.replicas": "2",
    "offsets.topic.replication.factor": "3",
    "transaction.state.log.replication.factor": "3",
    "transaction.state.log.min.isr": "2",
    "broker.session.timeout.ms": "4000",
    "broker.heartbeat.interval.ms": "500",
    "controller.quorum.fetch.timeout.ms": "2000",
    "controller.quorum.election.timeout.ms": "1000",
}
QUIET = ["-Dorg.slf4j.simpleLogger.defaultLogLevel=warn", "-XX:-UsePerfData"]
QUICK = ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"]  # less to start, and more for each of many requests


@dataclass(slots=True)
class KafkaBroker:
    """One broker. Topics must be created: a misspelled one is an error."""

    bootstrap_servers: str
    """`127.0.0.1:port`."""
    command: Sequence[str]
    directory: Path
    process: ServerProcess

    @property
    def pid(self) -> int:
        """Process id of the broker."""
        return self.process.pid

    def create_topic(self, name: str, partitions: int = 1, configs: Mapping[str, str] | None = None) -> None:
        """Create a topic; see `create_topics`."""
        self.create_topics({name: partitions}, configs)

    def create_topics(self, topics: Mapping[str, int], configs: Mapping[str, str] | None = None) -> None:
        """Create topics and return once every partition has a leader.

        Works inside and outside of a running event loop; it blocks for some 20 ms a topic.

        Args:
            topics: names of topics that do not exist yet, and how many partitions each has, at least 1.
            configs: topic settings, such as `{"max.message.bytes": "1000"}`.

        Raises:
            aiokafka.errors.KafkaError: the broker refused.
        """
        run_apart(_create(self.bootstrap_servers, topics, 1, configs or {}))

    def delete_topic(self, name: str) -> None:
        """Delete a topic and return once it is gone."""
        run_apart(_delete(self.bootstrap_servers, name))

    def configure_topic(self, name: str, configs: Mapping[str, str]) -> None:
        """Replace the settings of a topic."""
        run_apart(_configure(self.bootstrap_servers, name, configs))

    def start(self) -> None:
        """Start it again after `stop` or `kill`, with everything that it stored."""
        self.process = ServerProcess(self.command, self.directory)
        self.wait_until_ready()

    def wait_until_ready(self) -> None:
        """Return once it lists itself as a broker."""
        port = int(self.bootstrap_servers.rpartition(":")[2])
        self.process.wait_until_ready(lambda: _answers(self.bootstrap_servers, port), READY_SECONDS)

    def stop(self) -> None:
        """Shut it down in order, which takes seconds."""
        self.process.stop()

    def freeze(self) -> None:
        """Stop it in its tracks."""
        self.process.freeze()

    def thaw(self) -> None:
        """Let it go on."""
        self.process.thaw()

    def kill(self) -> None:
        """End it at once, as a crash would."""
        self.process.kill()


@dataclass(frozen=True, slots=True)
class KafkaCluster:
    """Three brokers; every partition has a replica on each, two of which must be in sync to write."""

    brokers: Sequence[KafkaBroker]

    @property
    def bootstrap_servers(self) -> str:
        """`127.0.0.1:port` of each."""
        return ",".join(broker.bootstrap_servers for broker in self.brokers)

    def create_topic(self, name: str, partitions: int = 1, configs: Mapping[str, str] | None = None) -> None:
        """Create a topic and return once every partition has a leader."""
        run_apart(_create(self.bootstrap_servers, {name: partitions}, len(self.brokers), configs or {}))

    def leader(self, topic: str, former: KafkaBroker | None = None) -> KafkaBroker:
        """Return who leads the first partition of a topic, once it is not the former one."""
        number = 0 if former is None else self.brokers.index(former) + 1
        return self.brokers[run_apart(wait_for_leader(self.bootstrap_servers, topic, number)) - 1]


@contextmanager
def start_kafka(
    configs: Mapping[str, str] | None = None,
    listeners: Mapping[str, int] | None = None,
    scram_users: Sequence[str] = (),
    proxies: Mapping[str, int] | None = None,
    *,
    is_brief: bool = False,
) -> Iterator[KafkaBroker]:
    """Run a broker until the block ends; its topics are removed with it.

    Args:
        configs: broker settings, over those of `tests/data/kafka/server.properties`.
        listeners: ports of more listeners by name; `configs` says how they are spoken to.
        proxies: the port of a listener that clients are referred to, where that is another.
        scram_users: as `kafka-storage format --add-scram` takes them.
        is_brief: whether so little is asked of it that optimizing its code does not pay.
    """
    options = QUICK if is_brief else []
    with _brokers(1, configs or {}, listeners or {}, scram_users, proxies or {}, options) as (broker,):
        yield broker


@contextmanager
def start_kafka_cluster() -> Iterator[KafkaCluster]:
    """Run three brokers until the block ends; a dead one is missed within four seconds."""
    with _brokers(3, CLUSTER_CONFIGS, {}, (), {}, QUICK) as brokers:
        yield KafkaCluster(brokers)


@contextmanager
def _brokers(
    count: int,
    configs: Mapping[str, str],
    listeners: Mapping[str, int],
    scram_users: Sequence[str],
    proxies: Mapping[str, int],
    java_options: Sequence[str],
) -> Iterator[list[KafkaBroker]]:
    ports = free_ports(2 * count)
    controllers = ports[count:]
    voters = ",".join(f"{number}@127.0.0.1:{port}" for number, port in enumerate(controllers, start=1))
    with ExitStack() as stack:
        prepared = []
        for number, (port, controller) in enumerate(zip(ports, controllers, strict=False), start=1):
            temporary = tempfile.TemporaryDirectory(prefix="neardup-kafka-", ignore_cleanup_errors=True)
            directory = stack.enter_context(temporary)
            properties = Path(directory, "server.properties")
            own = {"node.id": str(number), "controller.quorum.voters": voters}
            properties.write_text(
                _properties(
                    directory, controller, {"PLAINTEXT": port, **listeners}, proxies, own | dict(configs)
                )
            )
            prepared.append((port, Path(directory), properties))
        with ThreadPoolExecutor(count) as threads:
            list(threads.map(lambda each: _format_storage(each[1], each[2], scram_users), prepared))
        brokers = [_start(*each, java_options) for each in prepared]
        for broker in brokers:
            # Nothing of it is kept, so there is nothing to finish.
            stack.callback(broker.kill)
        for broker in brokers:
            broker.wait_until_ready()
        yield brokers


def _start(port: int, directory: Path, properties: Path, java_options: Sequence[str]) -> KafkaBroker:
    command = [*_java(directory), *java_options, HEAP, "kafka.Kafka", str(properties)]
    return KafkaBroker(f"127.0.0.1:{port}", command, directory, ServerProcess(command, directory))


def _java(directory: Path) -> list[str]:
    java = find_program("java", package="default-jre-headless")
    archive = class_archive(java)
    archived = [f"-XX:SharedArchiveFile={archive}"] if archive.exists() else []
    temporary = f"-Djava.io.tmpdir={directory}"  # codecs unpack their native parts there
    return [java, "-cp", f"{fetch_jars()}/*", *QUIET, *archived, temporary]


def archive_classes() -> None:
    """Keep the classes of a broker as a JVM reads them, with which it starts in half the time."""
    archive = class_archive(find_program("java", package="default-jre-headless"))
    if archive.exists():
        return
    with tempfile.TemporaryDirectory(dir=archive.parent) as directory, suppress(ServerFailed):
        unfinished = Path(directory, archive.name)
        with _brokers(1, {}, {}, (), {}, [f"-XX:ArchiveClassesAtExit={unfinished}"]) as (broker,):
            broker.create_topic("pages")
            if broker.process.end(ARCHIVE_SECONDS) == TERMINATED:
                unfinished.rename(archive)


def _properties(
    directory: str,
    controller_port: int,
    listeners: Mapping[str, int],
    proxies: Mapping[str, int],
    configs: Mapping[str, str],
) -> str:
    """The settings in the repository, then those of this run: of a repeated name the last one counts."""
    own = {
        "listeners": f"{_addresses(listeners)},CONTROLLER://127.0.0.1:{controller_port}",
        "advertised.listeners": _addresses({**listeners, **proxies}),
        "log.dirs": f"{directory}/logs",
    }
    lines = [f"{name}={value}" for name, value in (own | dict(configs)).items()]
    return "\n".join([KAFKA_FILES.joinpath("server.properties").read_text(), *lines, ""])


def _addresses(listeners: Mapping[str, int]) -> str:
    return ",".join(f"{name}://127.0.0.1:{port}" for name, port in listeners.items())


def _format_storage(directory: Path, properties: Path, scram_users: Sequence[str]) -> None:
    storage = [*_java(directory), *QUICK, "kafka.tools.StorageTool", "format"]
    users = [word for user in scram_users for word in ("--add-scram", user)]
    subprocess.run(
        [*storage, "--cluster-id", CLUSTER_ID, "--config", str(properties), *users],
        check=True,
        timeout=FORMAT_SECONDS,
        stdout=subprocess.DEVNULL,
    )


def _answers(bootstrap_servers: str, port: int) -> bool:
    """Whether it lists itself as a broker; not asked before it listens, for aiokafka logs each refusal."""
    return is_listening(port) and run_apart(_has_brokers(bootstrap_servers))


def run_apart(work: Coroutine[None, None, Answer]) -> Answer:
    """Run it on an event loop of its own thread: ours may be running, with the caller on it."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, work).result()


@asynccontextmanager
async def _admin(bootstrap_servers: str) -> AsyncIterator[AIOKafkaAdminClient]:
    client = AIOKafkaAdminClient(bootstrap_servers=bootstrap_servers)
    try:
        await client.start()
        yield client
    finally:
        await client.close()


async def _has_brokers(bootstrap_servers: str) -> bool:
    try:
        async with _admin(bootstrap_servers) as admin:
            return bool((await admin.describe_cluster())["brokers"])
    except KafkaError:
        return False


async def _create(
    bootstrap_servers: str, topics: Mapping[str, int], replication_factor: int, configs: Mapping[str, str]
) -> None:
    new = [
        NewTopic(name, partitions, replication_factor, topic_configs=dict(configs))
        for name, partitions in topics.items()
    ]
    async with _admin(bootstrap_servers) as admin:
        response = await admin.create_topics(new)
        for name, code, message in response.topic_errors:
            if code:
                raise for_code(code)(f"{name}: {message}")
    await wait_until_led(bootstrap_servers, topics)


async def _delete(bootstrap_servers: str, topic_name: str) -> None:
    async with _admin(bootstrap_servers) as admin:
        await admin.delete_topics([topic_name])
    await wait_until_led(bootstrap_servers, {topic_name: 0})


async def _configure(bootstrap_servers: str, topic_name: str, configs: Mapping[str, str]) -> None:
    async with _admin(bootstrap_servers) as admin:
        await admin.alter_configs([ConfigResource(ConfigResourceType.TOPIC, topic_name, dict(configs))])


if __name__ == "__main__":
    archive_classes()
