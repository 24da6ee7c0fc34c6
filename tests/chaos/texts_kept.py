"""Judges all prefixes of an events topic: no page may be deleted for one that has another text.

Which text a version of a page has is known from the generator: an event repeats the number of its record.
What `recover` publishes has none, and is about the last records below the offsets that were committed then.
"""

import asyncio
import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from aiokafka import AIOKafkaConsumer
from aiokafka.structs import ConsumerRecord

from neardup_stream.message import Message
from tests.chaos.moving_crawl import families_of_pages, family_of
from tests.chaos.subscriber import Deletable, PageVersion, Subscriber

__all__ = ["JudgedEvents", "judge_prefixes", "read_topic"]

POLL_MILLISECONDS = 200


class JudgedEvents(NamedTuple):
    """What the events of a run come to.

    Attributes:
        event_count: prefixes that were judged.
        checked_count: pairs of a page that may be deleted and the one that is kept.
        guessed_count: of these, pairs of which no event says what text the versions have: any that the
            pages ever had counts.
        kinds: events of each type.
        indexes: tokens, in order.
        partition: the clusters of two or more at the end.
        deletable: pages that may be deleted at the end.
        lost_texts: number of the event, and the pair, where the texts are not alike.
    """

    event_count: int
    checked_count: int
    guessed_count: int
    kinds: Mapping[str, int]
    indexes: Sequence[str]
    partition: frozenset[frozenset[str]]
    deletable: set[str]
    lost_texts: list[tuple[int, Deletable]]


class _Texts:
    """Which text a page version has.

    Args:
        messages: the crawl.
        events: the whole topic.
        recovered: by token of an index that `recover` made, the family of each page then.
    """

    def __init__(
        self,
        messages: Sequence[Message],
        events: Sequence[tuple[str, Mapping[str, Any]]],
        recovered: Mapping[str, Mapping[str, str]],
    ) -> None:
        self._recovered = recovered
        self._known: dict[tuple[str, PageVersion], str | None] = {}
        self._ever: defaultdict[str, set[str | None]] = defaultdict(set)
        self.guessed_count = 0
        for message in messages:
            self._ever[(message.key or b"").decode()].add(family_of(message))
        for index, data in events:
            page = data.get("page", {})
            if "meta" in page:
                version = PageVersion(page["id"], page["version"])
                self._known[index, version] = family_of(messages[page["meta"]])

    def are_alike(self, index: str, pair: Deletable) -> bool:
        """Return whether the page that is kept has the text of the other one."""
        left, right = self._of(index, pair.page), self._of(index, pair.kept)
        self.guessed_count += len(left) > 1 or len(right) > 1
        return not left.isdisjoint(right)

    def _of(self, index: str, version: PageVersion) -> set[str | None]:
        if (index, version) in self._known:
            return {self._known[index, version]}
        families = self._recovered.get(index)
        if families is not None:
            return {families.get(version.page)}
        return self._ever[version.page]


def judge_prefixes(
    bootstrap_servers: str,
    topic: str,
    messages: Sequence[Message],
    recovered: Sequence[Sequence[Message]],
) -> JudgedEvents:
    """Judge an events topic of one partition.

    Args:
        bootstrap_servers: of the broker.
        topic: the events.
        messages: the crawl.
        recovered: the records that were committed when each later index was made by `recover`.
    """
    events = [(dict(event.headers), event.value or b"") for event in read_topic(bootstrap_servers, topic)]
    bare = [(headers.get("ce_index", b"").decode(), json.loads(value)) for headers, value in events]
    indexes = sorted({index for index, _ in bare})
    made_by_recover = zip(indexes[1:], map(families_of_pages, recovered), strict=True)
    texts = _Texts(messages, bare, dict(made_by_recover))
    subscriber = Subscriber()
    kinds: defaultdict[str, int] = defaultdict(int)
    lost: list[tuple[int, Deletable]] = []
    checked_count = 0
    for number, (headers, value) in enumerate(events):
        kinds[headers["ce_type"].decode().split(".")[2]] += 1
        for pair in subscriber.feed(headers, value):
            checked_count += 1
            if not texts.are_alike(subscriber.index, pair):
                lost.append((number, pair))
    return JudgedEvents(
        event_count=len(events),
        checked_count=checked_count,
        guessed_count=texts.guessed_count,
        kinds=kinds,
        indexes=indexes,
        partition=subscriber.clusters(),
        deletable=subscriber.deletable(),
        lost_texts=lost,
    )


def read_topic(
    bootstrap_servers: str, topic: str, below: Mapping[int, int] | None = None
) -> list["ConsumerRecord[bytes, bytes]"]:
    """Read what is on a topic, one partition behind the other, up to its end or below these offsets."""
    return asyncio.run(_read_topic(bootstrap_servers, topic, below))


async def _read_topic(
    bootstrap_servers: str, topic: str, below: Mapping[int, int] | None
) -> list["ConsumerRecord[bytes, bytes]"]:
    found: list[ConsumerRecord[bytes, bytes]] = []
    reader = AIOKafkaConsumer(
        topic, bootstrap_servers=bootstrap_servers, auto_offset_reset="earliest", max_poll_records=5000
    )
    async with reader as consumer:
        partitions = sorted(consumer.assignment())
        ends = await consumer.end_offsets(partitions)
        for one in partitions:
            last = ends[one] if below is None else below.get(one.partition, 0)
            consumer.pause(*partitions)
            consumer.resume(one)
            while await consumer.position(one) < last:
                records = (await consumer.getmany(one, timeout_ms=POLL_MILLISECONDS)).get(one, [])
                found.extend(each for each in records if each.offset < last)
    return found
