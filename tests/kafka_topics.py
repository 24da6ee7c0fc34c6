"""A topic on a real broker with its group, as tests of the Kafka streams use it."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from types import ModuleType

import pytest
from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, RecordsToDelete
from aiokafka.record import default_records
from aiokafka.record._crecords import default_records as compiled_default_records

from neardup_stream.message import Message, Record
from neardup_stream.meters import NoMeters, PipelineMeters
from neardup_stream.streams.kafka.config import (
    Compression,
    FirstStart,
    KafkaConnection,
    KafkaSinkConfig,
    KafkaSourceConfig,
    OutOfRange,
)
from neardup_stream.streams.kafka.sink import KafkaSink
from neardup_stream.streams.kafka.source import KafkaSource
from neardup_stream.streams.kafka.start_offsets import InputHistory
from tests.servers.kafka import KafkaBroker, KafkaCluster

__all__ = [
    "WAIT_SECONDS",
    "DroppedCommits",
    "MakeTopic",
    "Topic",
    "count_expansions",
    "delete_below",
    "read_until_assigned",
]

WAIT_SECONDS = 120


class DroppedCommits(NoMeters):
    """Counts the partitions whose commit came after they were revoked."""

    def __init__(self) -> None:
        self.count = 0

    def dropped_commits(self, count: int) -> None:
        self.count += count


class Topic:
    """A topic of this test's own, with its group."""

    def __init__(
        self,
        broker: KafkaBroker | KafkaCluster,
        name: str,
        partitions: int = 1,
        *,
        configs: Mapping[str, str] | None = None,
        request_timeout_seconds: float = 10,
        bootstrap_servers: str = "",
    ) -> None:
        broker.create_topic(name, partitions, configs)
        self.broker = broker
        self.name = name
        self.connection = KafkaConnection(
            bootstrap_servers=bootstrap_servers or broker.bootstrap_servers,
            request_timeout_seconds=request_timeout_seconds,
        )

    def source(
        self,
        *,
        first_start: FirstStart = "earliest",
        out_of_range: OutOfRange = "fail",
        drain_seconds: float = 10,
        input_epoch: int = 0,
        group_instance_id: str = "",
        session_timeout_seconds: float = 6,
        partition_fetch_max_bytes: int = 1 << 20,
        history: InputHistory | None = None,
        meters: PipelineMeters | None = None,
    ) -> KafkaSource:
        config = KafkaSourceConfig(
            connection=self.connection,
            topics=(self.name,),
            group_id=f"{self.name}-group",
            input_epoch=input_epoch,
            group_instance_id=group_instance_id,
            first_start=first_start,
            out_of_range=out_of_range,
            drain_seconds=drain_seconds,
            session_timeout_seconds=session_timeout_seconds,
            heartbeat_interval_seconds=0.2,
            partition_fetch_max_bytes=partition_fetch_max_bytes,
        )
        return KafkaSource(config, history, meters)

    def consumer(self, **options: int) -> AIOKafkaConsumer:
        """Return a client that reads the topic from its beginning, without a group."""
        return AIOKafkaConsumer(
            self.name,
            bootstrap_servers=self.connection.bootstrap_servers,
            auto_offset_reset="earliest",
            **options,
        )

    def sink(self, compression: Compression = "zstd", max_batch_bytes: int = 1 << 18) -> KafkaSink:
        return KafkaSink(
            KafkaSinkConfig(
                connection=self.connection,
                topic=self.name,
                compression=compression,
                max_batch_bytes=max_batch_bytes,
            )
        )

    async def fill(self, values: Sequence[bytes | None], keys: Sequence[bytes | None] | None = None) -> None:
        keys = keys or [b"key %d" % number for number in range(len(values))]
        async with self.sink() as sink:
            await sink.send([Message(key=key, value=value) for key, value in zip(keys, values, strict=True)])

    async def delete_before(self, offset: int) -> None:
        await delete_below(self.connection.bootstrap_servers, self.name, offset)


async def delete_below(servers: str, topic: str, offset: int, partitions: int = 1) -> None:
    """Delete the records before an offset of each partition, as retention does."""
    admin = AIOKafkaAdminClient(bootstrap_servers=servers)
    await admin.start()
    await admin.delete_records(
        {TopicPartition(topic, number): RecordsToDelete(offset) for number in range(partitions)}
    )
    await admin.close()


MakeTopic = Callable[..., Topic]


async def read_until_assigned(source: KafkaSource, count: int = 0) -> list[Record]:
    """Read until the start of every partition is settled: only then is the lag known."""
    records: list[Record] = []
    async with asyncio.timeout(WAIT_SECONDS):
        while not source.lag() or len(records) < count:
            records.extend(await source.read(100, 1 << 20))
    return records


def count_expansions(monkeypatch: pytest.MonkeyPatch, codec: str) -> list[int]:
    """Return a list that gets the size of every batch that aiokafka decompresses from now on."""
    sizes: list[int] = []

    def counting(expand: Callable[[bytes | memoryview], bytes]) -> Callable[[bytes | memoryview], bytes]:
        def counted(payload: bytes | memoryview) -> bytes:
            sizes.append(len(payload))
            return expand(payload)

        return counted

    name = f"{codec}_decode"
    modules: tuple[ModuleType, ...] = (default_records, compiled_default_records)
    for module in modules:
        monkeypatch.setattr(module, name, counting(getattr(module, name)))
    return sizes
