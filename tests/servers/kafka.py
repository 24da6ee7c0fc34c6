"""A real Kafka broker in KRaft mode, alone in its cluster.

```python
with start_kafka() as broker:
    broker.create_topic("pages", partitions=4)
    producer = AIOKafkaProducer(bootstrap_servers=broker.bootstrap_servers)
```
"""

import asyncio
import subprocess
import tempfile
from base64 import urlsafe_b64encode
from collections.abc import AsyncIterator, Coroutine, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.errors import KafkaError, for_code

from tests.servers.jars import KAFKA_FILES, fetch_jars
from tests.servers.process import ServerProcess, find_program, free_ports, is_listening, wait_until

__all__ = ["KafkaBroker", "run_apart", "start_kafka"]

READY_SECONDS = 60
FORMAT_SECONDS = 60
TOPIC_SECONDS = 20
CLUSTER_ID = urlsafe_b64encode(b"neardup-streams!").decode().rstrip("=")

Answer = TypeVar("Answer")

HEAP = "-Xmx512m"
QUIET = ["-Dorg.slf4j.simpleLogger.defaultLogLevel=warn", "-XX:-UsePerfData"]
QUICK = "-XX:TieredStopAtLevel=1"  # for a program that is over before compiling it would pay


@dataclass(frozen=True, slots=True)
class KafkaBroker:
    """One running broker. Topics must be created: a misspelled one is an error."""

    bootstrap_servers: str
    """`127.0.0.1:port`."""
    process: ServerProcess

    @property
    def pid(self) -> int:
        """Process id of the broker."""
        return self.process.pid

    def create_topic(self, name: str, partitions: int = 1, configs: Mapping[str, str] | None = None) -> None:
        """Create a topic and return once every partition has a leader.

        Works inside and outside of a running event loop; it blocks for some 50 ms.

        Args:
            name: a topic that does not exist yet.
            partitions: how many, at least 1.
            configs: topic settings, such as `{"max.message.bytes": "1000"}`.

        Raises:
            aiokafka.errors.KafkaError: the broker refused.
        """
        topic = NewTopic(name, partitions, replication_factor=1, topic_configs=dict(configs or {}))
        run_apart(_create(self.bootstrap_servers, topic))
        wait_until(
            lambda: run_apart(_led_partitions(self.bootstrap_servers, name)) == partitions, TOPIC_SECONDS
        )

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


@contextmanager
def start_kafka(
    configs: Mapping[str, str] | None = None,
    listeners: Mapping[str, int] | None = None,
    scram_users: Sequence[str] = (),
) -> Iterator[KafkaBroker]:
    """Run a broker until the block ends; its topics go with it.

    Args:
        configs: broker settings, over those of `tests/data/kafka/server.properties`.
        listeners: ports of more listeners by name; `configs` says how they are spoken to.
        scram_users: as `kafka-storage format --add-scram` takes them.
    """
    with tempfile.TemporaryDirectory(prefix="neardup-kafka-", ignore_cleanup_errors=True) as directory:
        client_port, controller_port = free_ports(2)
        properties = Path(directory, "server.properties")
        properties.write_text(
            _properties(directory, client_port, controller_port, listeners or {}, configs or {})
        )
        java = [find_program("java", package="default-jre-headless"), "-cp", f"{fetch_jars()}/*", *QUIET]
        java.append(f"-Djava.io.tmpdir={directory}")  # codecs unpack their native parts there
        _format_storage(java, properties, scram_users)
        process = ServerProcess([*java, HEAP, "kafka.Kafka", str(properties)], Path(directory))
        broker = KafkaBroker(f"127.0.0.1:{client_port}", process)
        try:
            process.wait_until_ready(lambda: _answers(broker.bootstrap_servers, client_port), READY_SECONDS)
            yield broker
        finally:
            process.kill()  # nothing of it is kept, so there is nothing to finish


def _properties(
    directory: str,
    client_port: int,
    controller_port: int,
    listeners: Mapping[str, int],
    configs: Mapping[str, str],
) -> str:
    """The settings in the repository, then those of this run: of a repeated name the last one counts."""
    controller = f"127.0.0.1:{controller_port}"
    ports = {"PLAINTEXT": client_port, **listeners}
    clients = ",".join(f"{name}://127.0.0.1:{port}" for name, port in ports.items())
    own = {
        "controller.quorum.voters": f"1@{controller}",
        "listeners": f"{clients},CONTROLLER://{controller}",
        "advertised.listeners": clients,
        "log.dirs": f"{directory}/logs",
    }
    lines = [f"{name}={value}" for name, value in (own | dict(configs)).items()]
    return "\n".join([KAFKA_FILES.joinpath("server.properties").read_text(), *lines, ""])


def _format_storage(java: list[str], properties: Path, scram_users: Sequence[str]) -> None:
    storage = [*java, QUICK, "kafka.tools.StorageTool", "format"]
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


async def _create(bootstrap_servers: str, topic: NewTopic) -> None:
    async with _admin(bootstrap_servers) as admin:
        response = await admin.create_topics([topic])
    for name, code, message in response.topic_errors:
        if code:
            raise for_code(code)(f"{name}: {message}")


async def _led_partitions(bootstrap_servers: str, topic_name: str) -> int:
    async with _admin(bootstrap_servers) as admin:
        [topic] = await admin.describe_topics([topic_name])
    return sum(partition["leader"] >= 0 for partition in topic["partitions"])
