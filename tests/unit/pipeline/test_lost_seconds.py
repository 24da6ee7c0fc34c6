"""An index that loses its last seconds decides nothing a second time that was published before."""

import asyncio
from collections.abc import Collection, Mapping
from copy import deepcopy
from functools import partial
from typing import cast

import pytest

from neardup_stream.errors import ConfigError
from neardup_stream.message import Message, Partition, Position
from neardup_stream.meters import NoMeters
from neardup_stream.pipeline.delivery_guarantees import (
    AtLeastOnce,
    BatchOutput,
    OutgoingDeadLetter,
    OutgoingMessage,
)
from neardup_stream.pipeline.in_flight import InFlightLimits
from neardup_stream.pipeline.retries import Retries
from neardup_stream.stores.guarded_clusters import GuardedClusters, create_index
from neardup_stream.stores.memory.clusters import MemoryClusters
from neardup_stream.stores.redis.client import RedisClient
from neardup_stream.stores.redis.input_epochs import InputEpochs
from neardup_stream.stores.redis.keys import ClusterKeys
from neardup_stream.streams.memory.streams import MemorySink, MemorySource, numbered
from neardup_stream.wire.events import event_name
from tests.crashes import Crash
from tests.pipelines import QUICK, Pipeline, essay, page_json

PARTITION, OTHER = Partition("memory", 0), Partition("other", 0)
INDEX = f"{0x0193A0B1:028x}"
PAGES = numbered(
    [page_json("a", essay(1)), page_json("b", essay(1)), None],
    keys=[b"https://example.com/a", b"https://example.com/b", b"https://example.com/b"],
)


class _NotingSource(MemorySource):
    """Notes what the index has decided, as the Kafka source does. Its process dies at the last commit.

    Attributes:
        notes: what stands beside the committed offsets.
        copy: of the index as it was at the first commit.
    """

    def __init__(self, store: MemoryClusters, history: InputEpochs) -> None:
        super().__init__(PAGES)
        self._store = store
        self._history = history
        self._is_alive = True
        self.notes: dict[Partition, str] = {}
        self.copy: object = None

    async def note_decided(self, next_offsets: Mapping[Partition, int]) -> Collection[Partition]:
        self.notes |= await self._history.witnesses(list(next_offsets))
        return next_offsets.keys()

    async def commit(self, next_offsets: Mapping[Partition, int]) -> Mapping[Partition, int]:
        if next_offsets == {PARTITION: 1}:
            self.copy = deepcopy(vars(self._store))
        if next_offsets == {PARTITION: len(PAGES)} and self._is_alive:
            self._is_alive = False
            raise Crash
        return await super().commit(next_offsets)


def opened(store: MemoryClusters) -> tuple[GuardedClusters, InputEpochs]:
    """Return the index as one process sees it."""
    clusters = GuardedClusters(store, INDEX)
    keys = ClusterKeys(namespace="nd", schema_id="s", slot_bits=0)
    return clusters, InputEpochs(cast("RedisClient", None), "nd", clusters, keys, INDEX)


async def published_before_a_loss() -> tuple[Pipeline, _NotingSource, MemoryClusters]:
    """Page b, a duplicate of a, is published as gone; then its daemon dies and the index forgets page b."""
    store = MemoryClusters()
    await create_index(store, INDEX)
    clusters, history = opened(store)
    source = _NotingSource(store, history)
    one_by_one = InFlightLimits(max_batch_pages=1, max_in_flight_pages=1)
    pipeline = Pipeline(clusters=clusters, limits=one_by_one, is_exactly_once=False)
    async with source:
        ended = await asyncio.gather(pipeline.loop(source).run(asyncio.Event()), return_exceptions=True)
    assert isinstance(ended[0], ExceptionGroup)
    assert source.committed == {PARTITION: 2}
    vars(store).update(cast("dict[str, object]", source.copy))
    return pipeline, source, store


def gone(pipeline: Pipeline) -> list[Message]:
    return [each for each in pipeline.events.messages if event_name(each) == "gone"]


async def test_the_next_owner_refuses_an_index_that_forgot_what_was_published() -> None:
    _, source, store = await published_before_a_loss()
    _, history = opened(store)

    with pytest.raises(ConfigError, match="decided below offset 3, and it knows of offsets below 1"):
        await history.check(source.notes)


async def test_an_owner_that_did_not_refuse_would_publish_one_id_with_two_payloads() -> None:
    """Which is what the note is for."""
    pipeline, source, store = await published_before_a_loss()
    pipeline.clusters, _ = opened(store)

    async with source:
        await pipeline.loop(source).run(asyncio.Event())

    first, second = gone(pipeline)
    assert dict(first.headers)["ce_id"] == dict(second.headers)["ce_id"]
    assert first.value != second.value


class _FormerOwner(MemorySource):
    """Notes for one partition; the other one has another owner by now."""

    async def note_decided(self, next_offsets: Mapping[Partition, int]) -> Collection[Partition]:
        return next_offsets.keys() - {OTHER}


def batch_of(offset: int, *event_partitions: Partition) -> BatchOutput:
    """Return one record of each partition, at this offset; those of some partitions have events."""
    return BatchOutput(
        record_count=2,
        next_offsets=dict.fromkeys((PARTITION, OTHER), offset + 1),
        events=[
            OutgoingMessage(Position(each, offset), Message(key=None, value=each.input_id.encode()))
            for each in event_partitions
        ],
        dead_letters=[],
        acknowledged=lambda _: None,
    )


async def deliver(delivery: AtLeastOnce, batch_output: BatchOutput) -> None:
    delivery.finish(batch_output, await delivery.send(batch_output))
    await delivery.commit()


async def test_events_of_a_partition_with_another_owner_are_left_to_that_one() -> None:
    source, events = _FormerOwner([]), MemorySink()
    delivery = AtLeastOnce(source, events, MemorySink(), Retries(QUICK, NoMeters(), lambda _: None))

    await deliver(delivery, batch_of(4, PARTITION, OTHER))

    assert [message.value for message in events.messages] == [PARTITION.input_id.encode()]
    assert source.committed == {PARTITION: 5}


async def test_no_later_commit_passes_events_that_were_left_to_the_next_owner() -> None:
    """The next batch has no events, so nothing is noted that could be refused."""
    source = _FormerOwner([])
    delivery = AtLeastOnce(source, MemorySink(), MemorySink(), Retries(QUICK, NoMeters(), lambda _: None))

    await deliver(delivery, batch_of(4, OTHER))
    await deliver(delivery, batch_of(5))

    assert source.committed == {PARTITION: 6}


async def test_a_partition_that_returned_is_committed_again() -> None:
    source = _FormerOwner([])
    delivery = AtLeastOnce(source, MemorySink(), MemorySink(), Retries(QUICK, NoMeters(), lambda _: None))
    await deliver(delivery, batch_of(4, OTHER))

    await delivery.on_revoked()
    await deliver(delivery, batch_of(4))

    assert source.committed == {PARTITION: 5, OTHER: 5}


async def test_dead_letters_of_a_partition_with_another_owner_are_left_to_that_one_too() -> None:
    source, letters = _FormerOwner([]), MemorySink()
    delivery = AtLeastOnce(source, MemorySink(), letters, Retries(QUICK, NoMeters(), lambda _: None))
    both = [
        OutgoingDeadLetter(Position(each, 0), partial(Message, key=None, value=each.input_id.encode()))
        for each in (PARTITION, OTHER)
    ]

    await deliver(delivery, batch_of(0, PARTITION, OTHER)._replace(dead_letters=both))

    assert [letter.value for letter in letters.messages] == [PARTITION.input_id.encode()]
    assert [letter.rendered is None for letter in both] == [False, True]
