"""Run the checks of `check`: each finding is one sentence, with the remedy where one is needed."""

from collections.abc import AsyncIterator, Iterator, Sequence
from math import inf
from pathlib import Path
from typing import Final, Literal

from neardup_daemon.archives import open_archive
from neardup_daemon.clocks import require_same_time
from neardup_daemon.index_schema import schema
from neardup_daemon.inspect.committed_offsets import check_committed
from neardup_daemon.inspect.findings import Finding
from neardup_daemon.inspect.start_checks import judge_host, judge_http, judge_tracing
from neardup_daemon.policy import policy
from neardup_daemon.query_api.access import Access, server_tls
from neardup_daemon.settings.query_api import Api
from neardup_daemon.settings.settings import Settings
from neardup_daemon.stored_index import described_index
from neardup_daemon.table_settings import StoredLayouts, is_same_layout
from neardup_daemon.terminal import counted
from neardup_stream.errors import ConfigError, NeardupError
from neardup_stream.indexes.layout import MEAN_FILL, IndexLayout
from neardup_stream.stores.redis.client import RedisClient
from neardup_stream.stores.redis.namespace import (
    Namespace,
    check_policy,
    meta_loss,
    require_corrected,
)
from neardup_stream.stores.redis.rights import require_rights
from neardup_stream.stores.redis.servers import ServerFacts, inspect_servers
from neardup_stream.streams.kafka.admin import TopicFacts, create_topic, describe_topics

__all__ = [
    "Finding",
    "TopicRole",
    "judge_api",
    "judge_archives",
    "judge_layout",
    "judge_servers",
    "judge_tables",
    "judge_topic",
    "run_checks",
]

TopicRole = Literal["pages", "events", "dead_letters"]

_DAY_MS: Final = 86_400_000


async def run_checks(settings: Settings, create_partitions: int | None) -> AsyncIterator[Finding]:
    """Look at everything, and yield each finding as it is made; one thing that is bad hides nothing else.

    Args:
        settings: what the daemon would run with.
        create_partitions: create missing topics, the pages topic with so many partitions; None to create
            nothing.
    """
    yield judge_layout(settings)
    for finding in judge_archives(settings):
        yield finding
    for judged in (judge_http(settings.http), judge_api(settings.api), judge_tracing(settings.tracing)):
        for finding in judged:
            yield finding
    is_redis_sound, is_kafka_there = True, False
    async for finding in _check_redis(settings):
        is_redis_sound &= finding.grade != "bad"
        yield finding
    async for finding in _check_kafka(settings, create_partitions):
        is_kafka_there |= finding.grade != "bad"
        yield finding
    if is_redis_sound and is_kafka_there:
        async for finding in check_committed(settings):
            yield finding


def judge_layout(settings: Settings) -> Finding:
    """Return whether the buckets stay packed at the stated number of pages."""
    index = settings.index
    layout = IndexLayout(index.config())
    fill = index.expected_pages / 2 ** (8 + layout.bucket_bits)
    facts = (
        f"index: {counted(len(layout.tables), 'table')} for {counted(index.substrings, 'substring')} of"
        f" {counted(index.blocks, 'block')} at {counted(index.distance_bits, 'bit')}, "
        f"{fill:,.0f} entries a bucket at {counted(index.expected_pages, 'page')}"
    )
    if fill > MEAN_FILL:
        remedy = (
            "the fullest take several times the memory, and probes of them time:"
            f" 'neardup-stream plan --pages {index.expected_pages}' names a layout for so many"
        )
        return Finding("warning", f"{facts}; {remedy}")
    return Finding("good", facts)


def judge_archives(settings: Settings) -> Iterator[Finding]:
    """Yield whether the archives that pages are compared with are there, whole, and fit the settings."""
    for name in settings.archive.files:
        try:
            archive = open_archive(Path(name), settings)
            archive.index.file.check_all()
        except NeardupError as error:
            yield Finding("bad", f"archive: {error}")
        else:
            pages, gone = archive.index.header.page_count, int(archive.gone.sum())
            forgotten = f", {gone:,} of them forgotten" if gone else ""
            yield Finding("good", f"archive: {name}, {counted(pages, 'page')}{forgotten}, sound")


def judge_api(api: Api) -> Iterator[Finding]:
    """Yield whether the daemon's query API has an address, and its token and TLS files can be read."""
    if not api.enabled:
        return
    try:
        Access(api)
        server_tls(api)
    except ConfigError as error:
        yield Finding("bad", f"api: {error}")
        return
    if bad := list(judge_host("api", api.host.strip("[]"), api.host)):
        yield from bad
        return
    needed = [
        name
        for name, is_set in (("token", api.needs_token), ("certificate", api.tls_certificate_file))
        if is_set
    ]
    readable = f", its {' and '.join(needed)} can be read" if needed else ""
    yield Finding("good", f"api: {api.host}, port {api.port}{readable}")


def judge_servers(facts: ServerFacts) -> Iterator[Finding]:
    """Yield what keeps a daemon from writing to the servers, or them from keeping it over a restart."""
    for seconds in facts.clock_seconds:
        try:
            require_same_time(seconds)
        except ConfigError as error:
            yield Finding("bad", f"redis: {error}")
    if facts.full_nodes:
        place = _place(facts.full_nodes)
        yield Finding(
            "bad", f"redis: its memory{place} is at maxmemory, so it refuses writes: raise maxmemory"
        )
    if facts.is_replica:
        yield Finding(
            "bad", "redis: it is a replica, so it refuses writes: name its master, or the sentinels"
        )
    if facts.disk_error_nodes:
        yield Finding(
            "warning",
            f"redis: it could not write to its disk{_place(facts.disk_error_nodes)}, and may refuse writes:"
            " free space there, or repair what its log names",
        )
    if facts.forgetful_nodes:
        yield Finding(
            "warning",
            f"redis: it keeps no append-only file{_place(facts.forgetful_nodes)}, so a restart loses what its"
            " last snapshot lacks, and then daemons wait for 'recover': set appendonly yes",
        )
    if facts.unlimited_nodes:
        yield Finding(
            "warning",
            f"redis: it has no maxmemory{_place(facts.unlimited_nodes)}, so no alert says that memory runs"
            " out, and then the kernel may kill it: set maxmemory (deploy/redis.conf says to what)",
        )


def _place(nodes: Sequence[str]) -> str:
    """Return where it is in a cluster; nothing for a server alone, whose name is empty."""
    names = ", ".join(filter(None, nodes))
    return f" at {names}" if names else ""


def judge_tables(settings: Settings, layouts: StoredLayouts) -> Iterator[Finding]:
    """Yield what to set where the settings state a former layout of the tables."""
    if not layouts.known:
        return
    latest = max(layouts.known)
    if not is_same_layout(settings, layouts.settings(latest)):
        tables = layouts.tables(latest)
        yield Finding(
            "warning",
            f"redis: the tables were laid out again for {tables.expected_pages:,} pages: set"
            f" index.expected_pages = {tables.expected_pages}, index.blocks = {tables.blocks} and"
            f" index.substrings = {tables.substrings}",
        )


async def _check_redis(settings: Settings) -> AsyncIterator[Finding]:
    namespace = settings.redis.namespace
    try:
        async with RedisClient(settings.redis.config()) as client:
            await require_rights(client, namespace)
            facts = await inspect_servers(client)
            yield Finding("good", f"redis: {facts.name}, evicts nothing")
            for warning in facts.warnings:
                yield Finding("warning", f"redis: {warning}")
            for finding in judge_servers(facts):
                yield finding
            layouts, stored = await described_index(client, settings)
            if stored:
                await check_policy(client, namespace, policy(settings))
            await require_corrected(client, namespace)
            if lost := await meta_loss(client, namespace, schema(layouts.base)):
                raise lost
            state = f"holds an index of these settings{_made_by(stored)}" if stored else "is free"
            yield Finding("good", f"redis: namespace {namespace!r} {state}")
            for finding in judge_tables(settings, layouts):
                yield finding
    except NeardupError as error:
        yield Finding("bad", f"redis: {str(error).removeprefix('Redis: ')}")


def _made_by(index: Namespace) -> str:
    return f", made by neardup-stream {index.created_by}" if index.created_by else ""


async def _check_kafka(settings: Settings, create_partitions: int | None) -> AsyncIterator[Finding]:
    kafka = settings.kafka
    connection = kafka.connection()
    roles: dict[str, TopicRole] = {
        kafka.pages_topic: "pages",
        kafka.events_topic: "events",
        kafka.dead_letters_topic: "dead_letters",
    }
    right = "Read (pages) or Write (events, dead letters)"
    try:
        described = await describe_topics(connection, list(roles), right)
        created: list[str] = []
        for name, facts in described.items():
            if facts is None and create_partitions is not None:
                partitions = 1 if roles[name] == "dead_letters" else create_partitions
                try:
                    await create_topic(connection, name, partitions, _configs(roles[name], settings))
                except NeardupError as error:
                    yield Finding("bad", f"kafka: {error}")
                    continue
                created.append(name)
                yield Finding("good", f"kafka: created topic {name}, {counted(partitions, 'partition')}")
            else:
                yield judge_topic(name, facts, roles[name], settings)
        if created:
            described = await describe_topics(connection, created, right)
        for name in created:
            if described[name] is not None:  # a broker may not know it yet
                finding = judge_topic(name, described[name], roles[name], settings)
                if finding.grade != "good":
                    yield finding
    except NeardupError as error:
        yield Finding("bad", f"kafka: {error}")


def _configs(role: TopicRole, settings: Settings) -> dict[str, str]:
    """Return what a new topic is set to: the largest page fits into the two that hold pages."""
    largest_bytes = settings.limits.record_bytes()
    sizes = {} if role == "events" else {"max.message.bytes": str(largest_bytes)}
    return {"cleanup.policy": "delete", **sizes}


def judge_topic(name: str, facts: TopicFacts | None, role: TopicRole, settings: Settings) -> Finding:
    """Return whether a topic is there, and fit for its purpose."""
    if facts is None:
        return Finding("bad", f"kafka: there is no topic {name}; create it, or run check --create-topics")
    if role != "pages" and facts.max_message_bytes is None:
        return Finding(
            "warning",
            f"kafka: how large a message topic {name} takes is hidden from this user; "
            "grant it DescribeConfigs on the topic",
        )
    max_page_bytes = settings.limits.max_page_bytes
    largest_bytes = settings.limits.record_bytes()
    if role == "pages" and (facts.max_message_bytes or largest_bytes) < largest_bytes:
        return Finding(
            "warning",
            f"kafka: topic {name} takes messages of {facts.max_message_bytes} bytes, and"
            f" limits.max_page_bytes is {max_page_bytes}: the broker refuses larger pages; set"
            f" max.message.bytes to {largest_bytes}",
        )
    kept_ms = facts.deletes_after_ms
    if role == "pages" and kept_ms is not None and kept_ms < _wanted_ms(settings):
        kept = f"keeps records for {kept_ms / _DAY_MS:.3g} days" if kept_ms else "keeps records by their size"
        return Finding(
            "warning",
            f"kafka: topic {name} {kept}, daemons keep pages for longer (retention.seconds): 'recover' makes"
            " nothing anew of what the topic deletes; set its retention.ms and retention.bytes, or copy Redis"
            " now and then (docs/operations.md, Backups)",
        )
    if role == "events" and "compact" in (facts.cleanup_policy or ""):
        return Finding(
            "warning",
            f"kafka: topic {name} is compacted, which drops events that subscribers need; "
            "set cleanup.policy=delete",
        )
    return Finding("good", f"kafka: topic {name}, {counted(facts.partitions, 'partition')}")


def _wanted_ms(settings: Settings) -> float:
    """Return for how long daemons keep pages at least."""
    return 1000 * settings.retention.seconds or inf
