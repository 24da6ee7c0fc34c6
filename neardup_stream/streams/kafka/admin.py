"""Describe and create topics, and look up groups."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any

from aiokafka import AIOKafkaConsumer, OffsetAndMetadata, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType
from aiokafka.errors import (
    BrokerResponseError,
    CommitFailedError,
    GroupCoordinatorNotAvailableError,
    GroupLoadInProgressError,
    NoError,
    NotCoordinatorForGroupError,
    TopicAlreadyExistsError,
    UnknownTopicOrPartitionError,
    for_code,
)

from neardup_stream.errors import ConfigError, StreamUnavailable
from neardup_stream.streams.kafka.config import KafkaConnection
from neardup_stream.streams.kafka.errors import kafka_errors, unavailable
from neardup_stream.streams.kafka.partitions import name_of
from neardup_stream.streams.kafka.reachability import reach_broker
from neardup_stream.streams.kafka.starting import start_client

__all__ = [
    "TopicFacts",
    "commit_for_group",
    "committed",
    "committed_offsets",
    "create_topic",
    "describe_topics",
    "group_members",
    "require_topics",
]

_BROKERS_CHOICE = -1
_NEVER_COMMITTED = -1
_UNLIMITED = "-1"
_COORDINATOR_PAUSES_SECONDS = (0.1, 0.2, 0.4, 0.8, 1.6, 3.2)
_COORDINATOR_ERRORS = (
    GroupCoordinatorNotAvailableError,
    GroupLoadInProgressError,
    NotCoordinatorForGroupError,
)
_MEMBERS = 5
"""Index of the members in the description of a group."""


@dataclass(frozen=True, slots=True)
class TopicFacts:
    """The properties of a topic.

    Attributes:
        partitions: how many.
        max_message_bytes: largest compressed batch it accepts; None without the right to read it.
        cleanup_policy: `delete`, `compact` or `compact,delete`; None without the right to read it.
        kept_ms: retention time of every record; None without the right to read it, or if retention does not
            depend on time.
        deletes_after_ms: after how long records may be deleted, 0 where their size decides; None without the
            right to read it, or if none are deleted.
        leaderless_count: partitions without a leader.
        lacks_replicas: whether a partition has fewer in-sync replicas than a write needs.
    """

    partitions: int
    max_message_bytes: int | None
    cleanup_policy: str | None
    kept_ms: int | None = None
    deletes_after_ms: int | None = None
    leaderless_count: int = 0
    lacks_replicas: bool = False


async def describe_topics(
    connection: KafkaConnection, names: Sequence[str], right: str = "Describe"
) -> dict[str, TopicFacts | None]:
    """Return the properties of each topic, None if it does not exist.

    Args:
        connection: the cluster.
        names: of topics.
        right: the right we need on them, named in the error if we lack it; Describe is part of Read and
            Write.

    Raises:
        StreamUnavailable: the cluster cannot be reached.
        ConfigError: it denies access.

    Cost: a connection, two requests and one more for each topic's leader.
    """
    async with _open_admin(connection) as admin:
        with kafka_errors("describing topics", right):
            described = await admin.describe_topics(list(names))
            there = {topic["topic"]: topic["partitions"] for topic in described if _is_there(topic)}
            settings = await _topic_settings(admin, list(there))
    return {name: _facts(there[name], settings[name]) if name in there else None for name in names}


async def require_topics(
    connection: KafkaConnection, names: Sequence[str], right: str
) -> dict[str, TopicFacts]:
    """Return the properties of each topic; all must exist.

    Args:
        connection: the cluster.
        names: of topics.
        right: the right we need on them: Read or Write.

    Raises:
        ConfigError: one is missing, or access is denied.
        StreamUnavailable: the cluster cannot be reached.
    """
    facts = await describe_topics(connection, names, right)
    if missing := [name for name, fact in facts.items() if fact is None]:
        raise ConfigError(
            f"there is no topic {', '.join(missing)} at {connection.bootstrap_servers}: "
            "create it, or run `neardup-stream check --create-topics`"
        )
    return {name: fact for name, fact in facts.items() if fact is not None}


async def group_members(
    connection: KafkaConnection, group_id: str, *, waits_for_coordinator: bool = True
) -> list[str]:
    """Return the member ids of a group, assigned by the broker; a static one begins with its instance id.

    Args:
        connection: the cluster.
        group_id: of the group.
        waits_for_coordinator: for up to 6.3 seconds, while the group has no coordinator that is ready: the
            first group of a new cluster, and any group after its coordinator failed or moved.

    Raises:
        StreamUnavailable: the cluster cannot be reached, or the group's coordinator is not ready.
        ConfigError: it denies access.
    """
    async with _open_admin(connection) as admin:
        with kafka_errors(f"describing group {group_id}"):
            for pause_seconds in _COORDINATOR_PAUSES_SECONDS if waits_for_coordinator else ():
                with suppress(*_COORDINATOR_ERRORS):
                    return await _members(admin, group_id)
                await asyncio.sleep(pause_seconds)
            return await _members(admin, group_id)


async def _members(admin: AIOKafkaAdminClient, group_id: str) -> list[str]:
    (described,) = await admin.describe_consumer_groups([group_id])
    for group in described.groups:
        refused = for_code(group[0])
        if refused is not NoError:
            raise refused(group_id)
    return [member[0] for group in described.groups for member in group[_MEMBERS]]


async def committed_offsets(
    connection: KafkaConnection, group_id: str, partitions: Sequence[TopicPartition]
) -> dict[TopicPartition, int]:
    """Return the committed offsets of a group; omits partitions without one. See `committed`."""
    found = await committed(connection, group_id, partitions)
    return {one: commit.offset for one, commit in found.items()}


async def commit_for_group(
    connection: KafkaConnection, group_id: str, offsets: Mapping[TopicPartition, OffsetAndMetadata]
) -> None:
    """Commit offsets of a group that has no members.

    Raises:
        StreamUnavailable: the cluster cannot be reached.
        ConfigError: it denies access, or the group has members.
    """
    consumer = AIOKafkaConsumer(
        **connection.client_options(), group_id=group_id, enable_auto_commit=False, auto_offset_reset="none"
    )
    try:
        with kafka_errors(f"committing offsets of group {group_id}", right="Read"):
            await start_client(consumer)
            consumer.assign(list(offsets))
            try:
                await consumer.commit(dict(offsets))
            except CommitFailedError as error:
                raise ConfigError(
                    f"group {group_id} has members: stop all of them and begin again"
                ) from error
    finally:
        await consumer.stop()


async def committed(
    connection: KafkaConnection, group_id: str, partitions: Sequence[TopicPartition]
) -> dict[TopicPartition, OffsetAndMetadata]:
    """Return the committed offsets of a group with their metadata; omits partitions without one.

    The first group of a new cluster has no coordinator for some seconds: this function waits for it.

    Raises:
        StreamUnavailable: the cluster cannot be reached, or the group's coordinator is not ready.
        ConfigError: it denies access.
    """
    doing = f"looking up the offsets of group {group_id}"
    async with _open_admin(connection) as admin:
        with kafka_errors(doing):
            found = await _group_offsets(admin, group_id, list(partitions))
    if missing := [name_of(one) for one in partitions if one not in found]:  # an error of the whole response
        raise unavailable("no_coordinator", f"{doing}: no answer for {', '.join(missing)}")
    return {one: found[one] for one in partitions if found[one].offset != _NEVER_COMMITTED}


async def _group_offsets(
    admin: AIOKafkaAdminClient, group_id: str, partitions: list[TopicPartition]
) -> dict[TopicPartition, OffsetAndMetadata]:
    """Return the coordinator's answer; partitions are missing if it has none even after some seconds."""
    found: dict[TopicPartition, OffsetAndMetadata]
    for pause_seconds in _COORDINATOR_PAUSES_SECONDS:
        with suppress(*_COORDINATOR_ERRORS):
            found = await admin.list_consumer_group_offsets(group_id, partitions=partitions)
            if all(one in found for one in partitions):
                return found
        await asyncio.sleep(pause_seconds)
    found = await admin.list_consumer_group_offsets(group_id, partitions=partitions)
    return found


async def create_topic(
    connection: KafkaConnection, name: str, partitions: int, settings: Mapping[str, str] | None = None
) -> bool:
    """Create a topic with the broker's default replication; return False if it exists already.

    Raises:
        StreamUnavailable: the cluster cannot be reached.
        ConfigError: it rejects the name or the settings, or denies access.
    """
    topic = NewTopic(name, partitions, 1, topic_configs=dict(settings or {}))
    topic.replication_factor = _BROKERS_CHOICE  # its constructor rejects what the protocol allows
    async with _open_admin(connection) as admin:
        with kafka_errors(f"creating topic {name}"):
            response = await admin.create_topics([topic])
    ((_, error_code, message),) = response.topic_errors
    refused = for_code(error_code)
    if refused is TopicAlreadyExistsError:
        return False
    if error_code != 0:
        raise ConfigError(f"creating topic {name}: {message or refused.__name__}")
    return True


@asynccontextmanager
async def _open_admin(connection: KafkaConnection) -> AsyncIterator[AIOKafkaAdminClient]:
    admin = AIOKafkaAdminClient(**connection.client_options())
    try:
        try:
            with kafka_errors(f"connecting to {connection.bootstrap_servers}"):
                await start_client(admin)
        except StreamUnavailable:
            await reach_broker(connection)  # which raises the reason
            raise
        yield admin
    finally:
        await admin.close()


def _is_there(topic: Mapping[str, Any]) -> bool:
    """Return whether a described topic exists; raise any error other than that it does not."""
    refused = for_code(topic["error_code"])
    if refused not in {NoError, UnknownTopicOrPartitionError}:
        raise refused(topic["topic"])
    return refused is NoError


async def _topic_settings(admin: AIOKafkaAdminClient, names: Sequence[str]) -> dict[str, dict[str, str]]:
    """Return the settings by topic; empty without DescribeConfigs rights."""
    settings: dict[str, dict[str, str]] = {name: {} for name in names}
    try:
        answers = await admin.describe_configs(
            [ConfigResource(ConfigResourceType.TOPIC, name) for name in names]
        )
    except BrokerResponseError:
        return settings
    for answer in answers:
        for _error_code, _message, _kind, name, entries in answer.resources:
            settings[name] = {entry[0]: entry[1] for entry in entries}
    return settings


def _facts(partitions: Sequence[Mapping[str, Any]], settings: Mapping[str, str]) -> TopicFacts:
    max_message_bytes = settings.get("max.message.bytes")
    retention_ms = int(settings.get("retention.ms", _UNLIMITED))
    fewest = int(settings.get("min.insync.replicas", 1))
    is_limited = settings.get("retention.bytes", _UNLIMITED) != _UNLIMITED
    is_kept_by_time = (
        settings.get("cleanup.policy") == "delete" and settings.get("retention.bytes") == _UNLIMITED
    )
    deletes_ms = 0 if is_limited else retention_ms
    is_deleted_from = "delete" in settings.get("cleanup.policy", "") and deletes_ms >= 0
    return TopicFacts(
        partitions=len(partitions),
        max_message_bytes=None if max_message_bytes is None else int(max_message_bytes),
        cleanup_policy=settings.get("cleanup.policy"),
        kept_ms=retention_ms if is_kept_by_time and retention_ms >= 0 else None,
        deletes_after_ms=deletes_ms if is_deleted_from else None,
        leaderless_count=sum(partition["leader"] < 0 for partition in partitions),
        lacks_replicas=any(len(partition["isr"]) < fewest for partition in partitions),
    )
