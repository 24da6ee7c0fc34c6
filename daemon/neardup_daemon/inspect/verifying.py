"""Read a whole run back from its topics and from Redis, for `verify`.

Page records, events and the results of the records of the pages topic are kept in temporary files;
memory holds some 150 bytes for each page and each event. The texts of the pages are not kept.
"""

import asyncio
from array import array
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from time import monotonic, time
from typing import Final, NamedTuple

from neardup_daemon.inspect.committed_offsets import require_agreement
from neardup_daemon.kafka_wiring import topic_snapshot
from neardup_daemon.pages_topic import committed_of_group, lags_of_group, pages_partitions, pages_snapshot
from neardup_daemon.preparing import build_preparation, connecting, index_layout, verdict_config
from neardup_daemon.progress import OnPart, unseen
from neardup_daemon.settings.settings import Settings
from neardup_daemon.stored_index import open_stored_index
from neardup_daemon.wiring import Stores
from neardup_stream.invariants.beginnings import since_the_first_trace
from neardup_stream.invariants.history import Expectations, History, Matching, StoredCluster
from neardup_stream.invariants.inputs import Input, read_inputs
from neardup_stream.invariants.packed_records import PackedRecords
from neardup_stream.invariants.spilled import SpilledBytes, spilled_inputs, spilled_messages
from neardup_stream.invariants.uncommitted import is_all_committed
from neardup_stream.message import Message, Partition, Record
from neardup_stream.meters import NoMeters
from neardup_stream.stores.protocol import all_records
from neardup_stream.streams.kafka.snapshot import TopicSnapshot

__all__ = ["Reading", "expectations_of", "read_history", "read_stores"]

_POLL_SECONDS: Final = 1.0


class Reading(NamedTuple):
    """What a run left behind, and what may be concluded from it."""

    history: History
    expectations: Expectations


class _Topics(NamedTuple):
    """The topics, up to their ends when they were opened."""

    pages: TopicSnapshot
    events: TopicSnapshot
    dead_letters: TopicSnapshot


async def read_history(settings: Settings, wait_seconds: float = 0.0, on_part: OnPart = unseen) -> Reading:
    """Read the topics to their ends, and everything that Redis holds.

    The committed offsets are read first: everything below them is published and stored by the time that the
    topics are read. They are read again at the end; if they are the same, and no record that was read, and
    no stored page, has a higher offset, no record was in flight.

    Args:
        settings: those of the daemons.
        wait_seconds: how long to wait for the group to reach the end of the pages.
        on_part: called with the progress of reading.

    Raises:
        ConfigError: a topic or the index does not exist, or may not be read; the index lacks what is
            committed; or the topic is read in a higher epoch.
        StreamUnavailable: Kafka cannot be reached.
        StoreUnavailable: Redis cannot be reached.
        CorruptData: what is stored is not ours.
    """
    await require_agreement(settings, len(await pages_partitions(settings)), is_start=False)
    await _wait_until_finished(settings, wait_seconds)
    committed = await _committed(settings)
    async with open_stored_index(settings, None, is_walked=True) as stores, _open_topics(settings) as topics:
        topics_history = History(
            inputs=await _inputs(topics.pages, settings, on_part),
            committed=committed,
            events=await _messages(topics.events, "events", on_part),
            dead_letters=await _messages(topics.dead_letters, "dead letters", on_part),
            records={},
            clusters={},
            ends=topics.pages.ends,
        )
        now_ms = int(time() * 1000)
        history = await read_stores(topics_history, stores, on_part)
        in_force = await stores.tables.settings_in_force()
    was_idle = is_all_committed(history)
    # Under a raised epoch all that was set back is read again, and nothing before it.
    if settings.kafka.first_start != "earliest" or settings.kafka.input_epoch:
        history = since_the_first_trace(history)
    return Reading(
        history,
        expectations_of(
            in_force,
            is_quiet=was_idle and committed == await _committed(settings),
            events_since_ms=topics.events.complete_since_ms(now_ms),
            dead_letters_since_ms=topics.dead_letters.complete_since_ms(now_ms),
        ),
    )


async def read_stores(history: History, stores: Stores, on_part: OnPart = unseen) -> History:
    """Return the same history with the page records and clusters that are stored.

    Raises:
        StoreUnavailable: Redis cannot be reached.
        CorruptData: what is stored is not ours.
    """
    clusters = {}
    if stores.clusters is not None:
        async for cluster_id, representative, members in stores.clusters.walk():
            clusters[cluster_id] = StoredCluster(representative, tuple(members))
    kept = stores.pages.records
    handles, packed = array("Q"), SpilledBytes()
    async for walked in all_records(kept):
        for handle, value in walked.records:
            handles.append(handle)
            packed.append(value)
        on_part("page records", walked.next_slot, kept.slot_count)
    return history._replace(
        records=PackedRecords(handles, packed),
        clusters=clusters,
        index_token=stores.namespace.event_token,
        version_floor=stores.namespace.version_floor,
    )


def expectations_of(
    settings: Settings, *, is_quiet: bool, events_since_ms: int | None, dead_letters_since_ms: int | None
) -> Expectations:
    """Return what may be concluded from the history of daemons with these settings."""
    # Pages that were decided under an earlier policy may match by this one and be in different clusters.
    verdict = verdict_config(settings) if settings.verdict.policy == 0 else None
    links = connecting(settings)
    return Expectations(
        is_quiet=is_quiet,
        events_since_ms=events_since_ms,
        dead_letters_since_ms=dead_letters_since_ms,
        keeps_clusters=settings.clusters.rule != "off",
        publishes_unique=settings.events.unique,
        publishes_undecided=settings.events.undecided,
        may_expire=settings.retention.seconds > 0,
        has_former_merges=True,
        may_leave_pages=bool(settings.archive.files) and settings.archive.on_match == "skip",
        matching=None
        if verdict is None or links is None
        else Matching(verdict, index_layout(settings), links),
        verdict=verdict,
    )


@asynccontextmanager
async def _open_topics(settings: Settings) -> AsyncIterator[_Topics]:
    kafka = settings.kafka
    async with (
        topic_snapshot(settings, kafka.events_topic) as events,
        topic_snapshot(settings, kafka.dead_letters_topic) as dead_letters,
        pages_snapshot(settings) as inputs,
    ):
        yield _Topics(inputs, events, dead_letters)


async def _wait_until_finished(settings: Settings, wait_seconds: float) -> None:
    """Return once the group has committed the end of every partition, or the wait has timed out."""
    deadline = monotonic() + wait_seconds
    while monotonic() < deadline:
        async with pages_snapshot(settings) as pages:
            lags = lags_of_group(pages, await _committed(settings))
        if not any(lags.values()):
            return
        await asyncio.sleep(_POLL_SECONDS)


async def _committed(settings: Settings) -> dict[Partition, int]:
    """Next offsets of the group, 0 for a partition of which it has finished nothing."""
    partitions = await pages_partitions(settings)
    return dict.fromkeys(partitions, 0) | await committed_of_group(settings, partitions)


async def _inputs(pages: TopicSnapshot, settings: Settings, on_part: OnPart) -> Sequence[Input]:
    """Return the records of the pages topic, as the daemon takes them."""
    preparation = build_preparation(settings, NoMeters())
    inputs = spilled_inputs()
    async for records in _records_of(pages, "pages", on_part):
        inputs.extend(await asyncio.to_thread(read_inputs, records, preparation))
    return inputs


async def _messages(topic: TopicSnapshot, name: str, on_part: OnPart) -> Sequence[Message]:
    messages = spilled_messages()
    async for records in _records_of(topic, name, on_part):
        messages.extend(each.message() for each in records)
    return messages


async def _records_of(topic: TopicSnapshot, name: str, on_part: OnPart) -> AsyncIterator[Sequence[Record]]:
    """Yield the records of a topic and report the progress; offsets may have gaps."""
    done, total = 0, sum(end - topic.beginnings[one] for one, end in topic.ends.items())
    async for records in topic.records():
        yield records
        done += len(records)
        on_part(name, done, total)
    on_part(name, total, total)
