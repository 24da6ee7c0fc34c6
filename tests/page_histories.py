"""Histories of pages over the whole pipeline: they come, change, go, expire and return; crashes cut the runs.

`PageHistory` feeds records to the real loop and sweeps with the real sweeper; it
folds the published events and compares them with what is stored.
"""

import asyncio
import dataclasses
import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, NamedTuple

import msgspec

from neardup_stream.clusters.rules import Rule, anchored, components, linked
from neardup_stream.event_parts import EventCluster
from neardup_stream.events import DuplicateFound, event_type
from neardup_stream.fingerprints.sketch import SketchConfig
from neardup_stream.fold import Fold
from neardup_stream.indexes.layout import IndexConfig, IndexLayout
from neardup_stream.indexes.permuted import PermutedIndex
from neardup_stream.message import Message, Partition, Record
from neardup_stream.pipeline.in_flight import InFlightLimits
from neardup_stream.pipeline.retention import RetentionConfig, Sweeper
from neardup_stream.stores.page_record import PageRecord
from neardup_stream.stores.protocol import all_records
from neardup_stream.streams.memory.streams import MemorySource, numbered
from neardup_stream.wire.events import from_message
from tests.crashes import Fuse, Stall, crashing
from tests.pipelines import Pipeline, page_json

__all__ = [
    "DAY",
    "PARTITION",
    "RULES",
    "SHORT",
    "SKETCH",
    "TABLES",
    "Content",
    "Op",
    "PageHistory",
    "Sweep",
    "are_alike",
    "page_url",
    "sharp_pipeline",
    "text_of",
]

DAY = 86_400
RULES: dict[str, Rule] = {"components": components, "linked": linked(0.9), "anchored": anchored}
SKETCH = SketchConfig(bins=1024, code_bits=8, bands=16, band_bins=2)
"""So large that texts that are alike are always found, and others never taken for them."""

TABLES = IndexLayout(IndexConfig(bands=SKETCH.bands)).table_count
"""In how many tables a page stands."""

_WORDS, _STEP = 200, 36
PARTITION = Partition("pages", 0)


class Content(NamedTuple):
    """A text: a window of a topic's endless words, one of them perhaps edited.

    Neighboring steps are alike (resemblance 0.7); two steps apart they are not (0.47).
    """

    topic: int
    step: int
    is_edited: bool = False


SHORT = Content(0, 0)
"""Too short to be judged."""


class Op(NamedTuple):
    """Crawl a page with this content; None: forget it."""

    page: int
    content: Content | None


class Sweep(NamedTuple):
    """Time passes, and everything that is due expires or is dropped."""

    days: int


def text_of(content: Content) -> str:
    """Return the words of a content."""
    if content == SHORT:
        return "too short"
    first = content.step * _STEP
    words = [f"t{content.topic}w{number}" for number in range(first, first + _WORDS)]
    if content.is_edited:
        words[10] = f"t{content.topic}e{content.step}x1"
    return " ".join(words)


def are_alike(one: Content, other: Content) -> bool:
    """Return whether two contents match, by the texts alone."""
    return SHORT not in (one, other) and one.topic == other.topic and abs(one.step - other.step) <= 1


def page_url(page: int) -> str:
    """Its id too."""
    return f"https://example.com/{page}"


def sharp_pipeline(**fields: Any) -> Pipeline:
    """Return a pipeline in memory, or with other stores, whose sketches are `SKETCH`."""
    return Pipeline(sketch=SKETCH, **fields)


@dataclass
class PageHistory:
    """What happens to a few pages, one record after the other.

    Attributes:
        pipeline: stores and sinks, which survive every crash, and the clock.
        retention: how long pages and stubs are kept.
        fuse: burns with the calls of stores and streams; the default never burns down.
        crawled: every record there was.
    """

    pipeline: Pipeline
    retention: RetentionConfig = RetentionConfig(10 * DAY, 2 * DAY)  # noqa: RUF009 - frozen
    fuse: Fuse = field(default_factory=Fuse)
    crawled: list[Record] = field(default_factory=list)

    async def live(self, story: Sequence[Op | Sweep], batch_pages: int) -> None:
        """Take the story to its end; records between two sweeps are one run, begun again after a crash.

        A sweep that crashes is finished by the next one, the last by itself.
        """
        for is_sweep, group in groupby(story, lambda each: isinstance(each, Sweep)):
            if not is_sweep:
                await self._crawl([each for each in group if isinstance(each, Op)], batch_pages)
                continue
            for each in group:
                self.pipeline.now_seconds += each.days * DAY if isinstance(each, Sweep) else 0
                await self.fuse.is_done(lambda: self.sweep(self.fuse))
        await self.fuse.until_done(lambda: self.sweep(self.fuse))

    async def check(self, dice: random.Random) -> None:
        """Check that the events, in any order and with repeats, add up to what is stored.

        Raises:
            AssertionError: it does not.
        """
        messages = self.pipeline.events.messages
        _check_each(messages)
        fold = _shuffled_fold(messages, dice)
        stored, living = await self.clusters(), await self.living()
        folded = {key: members & living for key, members in fold.clusters().items()}
        assert {key: members for key, members in folded.items() if len(members) > 1} == {
            key: members for key, (_, members) in stored.items()
        }
        for representative, members in stored.values():
            assert {each for each in members if not fold.is_deletable(each)} == {representative}
        alone = living.difference(*(members for _, members in stored.values()))
        assert not {each for each in alone if fold.is_deletable(each)}

    async def clusters(self) -> dict[str, tuple[str, frozenset[str]]]:
        """Return the stored clusters of two or more: representative and members, by page id."""
        found = {}
        async for cluster_id, representative, handles in self.pipeline.decider().walk():
            packed = await self.pipeline.records.fetch(handles)
            records = [PageRecord.unpack(value) for value in packed if value is not None]
            assert len(records) == len(handles)
            assert all(record.is_indexed for record in records)
            found[cluster_id] = str(representative.id), frozenset(str(record.id) for record in records)
        return found

    async def living(self) -> frozenset[str]:
        """Return ids of the pages that are neither forgotten nor expired, by their records."""
        return frozenset(
            page_id for page_id, record in (await self.stored()).items() if record.state != "gone"
        )

    async def stored(self) -> dict[str, PageRecord]:
        """Return the page records by page id."""
        packed = [value async for walked in all_records(self.pipeline.records) for _, value in walked.records]
        return {str(record.id): record for record in map(PageRecord.unpack, packed)}

    def records(self, ops: Sequence[Op], partition: Partition = PARTITION) -> list[Record]:
        """Return the operations as records behind all that there were before."""
        contents = [op.content for op in ops]
        records = numbered(
            [
                None if content is None else page_json(str(op.page), text_of(content))
                for op, content in zip(ops, contents, strict=True)
            ],
            keys=[page_url(op.page).encode() for op in ops],
            partition=partition,
            first_offset=sum(record.position.partition == partition for record in self.crawled),
        )
        self.crawled += records
        return records

    async def run(self, source: MemorySource, batch_pages: int, fuse: Fuse | Stall) -> None:
        """Take a source to its end, unless the fuse burns."""
        limits = InFlightLimits(batch_pages, max_in_flight_pages=4 * batch_pages)
        async with source:
            await self._frail(limits, fuse).loop(crashing(source, fuse)).run(asyncio.Event())

    async def sweep(self, fuse: Fuse | Stall) -> None:
        """Expire everything that is due, unless the fuse burns."""
        frail = self._frail(self.pipeline.limits, fuse)
        layout = IndexLayout(IndexConfig(bands=frail.sketch.bands if frail.sketch else 0))
        sweeper = Sweeper(
            records=frail.records,
            index=PermutedIndex(frail.tables, layout),
            clusters=frail.decider(),
            config=self.retention,
        )
        await sweeper.sweep(int(frail.now_seconds))

    async def _crawl(self, ops: Sequence[Op], batch_pages: int) -> None:
        source = MemorySource(self.records(ops))
        await self.fuse.until_done(lambda: self.run(source, batch_pages, self.fuse))

    def _frail(self, limits: InFlightLimits, fuse: Fuse | Stall) -> Pipeline:
        """Return the same pipeline, but in its stores and its sink a fuse may burn."""
        whole = self.pipeline
        return dataclasses.replace(
            whole,
            tables=crashing(whole.tables, fuse),
            records=crashing(whole.records, fuse),
            clusters=crashing(whole.clusters, fuse),
            events=crashing(whole.events, fuse),
            limits=limits,
        )


def _check_each(messages: Sequence[Message]) -> None:
    """One id, one payload; and no page is a duplicate of itself."""
    payloads: dict[str, Message] = {}
    for message in messages:
        event = from_message(message)
        assert payloads.setdefault(event.id, message) == message
        if event.type == event_type("duplicate"):
            data = msgspec.json.decode(event.data, type=DuplicateFound)
            assert data.page.id not in {match.id for match in data.matches}
            assert isinstance(data.cluster, EventCluster)
            assert data.page.id != data.cluster.representative.id


def _shuffled_fold(messages: Sequence[Message], dice: random.Random) -> Fold:
    shuffled = [*messages, *messages]
    dice.shuffle(shuffled)
    fold = Fold()
    for message in shuffled:
        fold.feed(from_message(message))
    return fold
