"""Defects that other tools for near-duplicates have had, each shown to be absent here."""

import asyncio
from collections.abc import Iterable, Sequence

import msgspec
import pytest

from neardup_stream.bits.words import hamming_distance
from neardup_stream.events import DuplicateFound, event_type
from neardup_stream.fold import Fold
from neardup_stream.indexes.layout import IndexConfig, IndexLayout
from neardup_stream.indexes.permuted import PermutedIndex
from neardup_stream.indexes.protocol import IndexedPage
from neardup_stream.message import Message, Partition
from neardup_stream.page import Fingerprint64, Handle
from neardup_stream.pipeline.event_config import EventConfig
from neardup_stream.pipeline.retention import RetentionConfig
from neardup_stream.stores.memory.records import MemoryRecords
from neardup_stream.streams.memory.streams import MemorySource, numbered
from neardup_stream.wire.events import from_message
from tests.crashes import Fuse, crashing
from tests.doubles.tables import MemoryTables
from tests.frail_records import stored_records
from tests.page_histories import TABLES, Content, Op, PageHistory, Sweep, page_url, sharp_pipeline
from tests.pipelines import Pipeline, essay, page_json


async def crawl(
    pipeline: Pipeline, pages: Iterable[tuple[str, str | None]], number: int = 0, first_offset: int = 0
) -> None:
    """Names and texts; a name without text is forgotten."""
    named = list(pages)
    records = numbered(
        [None if text is None else page_json(name, text) for name, text in named],
        keys=[f"https://example.com/{name}".encode() for name, _ in named],
        partition=Partition("pages", number),
        first_offset=first_offset,
    )
    source = MemorySource(records)
    async with source:
        await pipeline.loop(source).run(asyncio.Event())


def entry_count(pipeline: Pipeline) -> int:
    assert isinstance(pipeline.tables, MemoryTables)
    return sum(map(len, pipeline.tables.groups()))


def interleaved(pipeline: Pipeline) -> Pipeline:
    """Return the same stores, but others may come in between any two calls."""
    fuse = Fuse()
    return sharp_pipeline(
        tables=crashing(pipeline.tables, fuse),
        records=crashing(pipeline.records, fuse),
        clusters=crashing(pipeline.clusters, fuse),
        events=pipeline.events,
    )


@pytest.mark.parametrize("topic_count", [1, 8], ids=["one-text", "eight-texts"])
async def test_eight_inserts_of_one_id_at_once_leave_no_phantoms(topic_count: int) -> None:
    pipeline = sharp_pipeline()
    topics = [number % topic_count for number in range(8)]
    await asyncio.gather(
        *(
            crawl(interleaved(pipeline), [("page", essay(topic))], number)
            for number, topic in enumerate(topics)
        )
    )

    await crawl(pipeline, [("page", None)], first_offset=10)
    await crawl(pipeline, [(f"other{topic}", essay(topic)) for topic in set(topics)], first_offset=20)

    assert pipeline.pairs() == []
    assert entry_count(pipeline) == topic_count * TABLES
    history = PageHistory(pipeline)
    assert await history.clusters() == {}
    assert len(await history.living()) == topic_count


async def test_queries_for_what_is_not_there_do_not_grow_memory() -> None:
    tables = MemoryTables()
    index = PermutedIndex(tables, IndexLayout(IndexConfig()))

    for number in range(100):
        await index.probe([IndexedPage(Handle(number), 1, Fingerprint64(number << 40))])

    assert tables.groups() == []


SHORT_TEXTS = ["", " ", "\U0001f600", "\U0001f600\U0001f680", "one", "one two", "!!!", "word " * 9]


async def test_short_texts_equal_nothing_not_even_each_other() -> None:
    pipeline = Pipeline(event_config=EventConfig(undecided=True))

    await crawl(pipeline, [(f"{copy}-{i}", text) for copy in "ab" for i, text in enumerate(SHORT_TEXTS)])

    assert pipeline.meters.outcomes == {"undecided": 2 * len(SHORT_TEXTS)}
    assert all(b'"too_short"' in (message.value or b"") for message in pipeline.events.messages)
    assert entry_count(pipeline) == 0


@pytest.mark.parametrize(("token_count", "is_reported"), [(9, False), (10, True), (11, True)])
async def test_copies_are_reported_from_the_fewest_tokens_on(token_count: int, *, is_reported: bool) -> None:
    pipeline = Pipeline()
    text = " ".join(f"word{number}" for number in range(token_count))

    await crawl(pipeline, [("a", text), ("b", text)])

    assert bool(pipeline.pairs()) == is_reported


@pytest.mark.parametrize("has_sketch", [True, False], ids=["sketch", "simhash-alone"])
async def test_equal_fingerprints_are_reported(*, has_sketch: bool) -> None:
    pipeline = Pipeline() if has_sketch else Pipeline(sketch=None)

    await crawl(pipeline, [("a", essay(1)), ("b", essay(1).upper())])

    (event,) = duplicates(pipeline.events.messages)
    assert (event.page.id, event.kind, event.matches[0].distance_bits) == (url("b"), "exact", 0)


@pytest.mark.parametrize(
    ("seconds", "is_kept"), [(9, True), (10, False), (11, False)], ids=["before", "on-time", "after"]
)
async def test_retention_is_on_time_and_in_seconds(seconds: int, *, is_kept: bool) -> None:
    history = PageHistory(sharp_pipeline(), RetentionConfig(page_seconds=10, stub_seconds=100))
    await history.live([Op(0, Content(1, 0))], batch_pages=1)

    history.pipeline.now_seconds += seconds
    await history.live([Sweep(0)], batch_pages=1)

    assert (await history.living() == {page_url(0)}) == is_kept
    assert (entry_count(history.pipeline) > 0) == is_kept


async def test_retention_rolls_with_every_time_a_page_is_seen() -> None:
    history = PageHistory(sharp_pipeline(), RetentionConfig(page_seconds=10, stub_seconds=100))
    for _ in range(5):
        await history.live([Op(0, Content(1, 0)), Sweep(0)], batch_pages=1)
        history.pipeline.now_seconds += 9

    assert await history.living() == {page_url(0)}
    history.pipeline.now_seconds += 1
    await history.live([Sweep(0)], batch_pages=1)
    assert await history.living() == frozenset()


async def test_memory_levels_off_when_pages_come_and_expire_without_end() -> None:
    """Also of pages that were in clusters, changed, or became too short."""
    history = PageHistory(
        sharp_pipeline(tombstone_ttl_seconds=0), RetentionConfig(page_seconds=10, stub_seconds=10)
    )
    footprints = []
    for year in range(6):
        pages = range(10 * year, 10 * year + 10)
        copies = [Op(page, Content(1, 0)) for page in pages]
        changed = [Op(page, Content(1, 1) if page % 2 else Content(0, 0)) for page in pages[3:]]
        await history.live([*copies, *changed], batch_pages=4)
        for _ in range(4):
            history.pipeline.now_seconds += 10
            await history.live([Sweep(0)], batch_pages=1)
        footprints.append(footprint(history.pipeline))

    assert footprints[-1] == footprints[1]


def test_fingerprints_are_unsigned_and_their_highest_bit_is_one_bit() -> None:
    assert hamming_distance(Fingerprint64(1 << 63), Fingerprint64(1)) == 2


async def test_events_name_fingerprints_as_unsigned_numbers() -> None:
    """Of twenty texts some have the highest bit set."""
    pipeline = Pipeline(event_config=EventConfig(unique=True))

    await crawl(pipeline, [(f"p{topic}", essay(topic)) for topic in range(20)])

    events = [msgspec.json.decode(message.value or b"") for message in pipeline.events.messages]
    fingerprints = [int(event["page"]["fingerprint"]) for event in events]
    assert min(fingerprints) >= 0
    assert max(fingerprints) >= 1 << 63


async def test_who_deletes_every_duplicate_keeps_one_page_of_each_cluster() -> None:
    pipeline = Pipeline()
    await crawl(pipeline, [(f"p{number}", essay(number % 5, [number])) for number in range(40)])
    fold = Fold()
    for message in pipeline.events.messages:
        fold.feed(from_message(message))

    clusters = fold.clusters().values()

    assert len(clusters) == 5
    assert [len(members - fold.deletable()) for members in clusters] == [1] * 5


def duplicates(messages: Sequence[Message]) -> list[DuplicateFound]:
    events = map(from_message, messages)
    return [
        msgspec.json.decode(event.data, type=DuplicateFound)
        for event in events
        if event.type == event_type("duplicate")
    ]


def url(name: str) -> str:
    return f"https://example.com/{name}"


def footprint(pipeline: Pipeline) -> dict[str, int]:
    """Return how many things are stored."""
    assert isinstance(pipeline.records, MemoryRecords)
    tables: dict[str, dict[bytes, bytes]] = pipeline.clusters._tables  # type: ignore[attr-defined]
    return {
        "entries": entry_count(pipeline),
        "records": len(stored_records(pipeline.records)),
        **{name: len(cells) for name, cells in tables.items()},
        "aging": len(pipeline.clusters._aging),  # type: ignore[attr-defined]
    }
