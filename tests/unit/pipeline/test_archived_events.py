"""Archives in the pipeline: the `archived` event of a page is stored with its decision."""

import asyncio
from collections.abc import Mapping
from pathlib import Path

import msgspec
import pytest

from neardup_stream.events import Archived
from neardup_stream.fold import Fold
from neardup_stream.frames.table import FrameTable
from neardup_stream.message import Message, Partition, Position, Record
from neardup_stream.pipeline.archive_lookup import OpenArchive
from neardup_stream.pipeline.frames import site_hash
from neardup_stream.stores.cluster_store import Transaction
from neardup_stream.stores.memory.clusters import MemoryClusters
from neardup_stream.stores.page_record import PageRecord
from neardup_stream.streams.memory.streams import MemorySource
from neardup_stream.wire.events import from_message
from tests.crashes import Crash
from tests.histories_read import read_pipeline
from tests.pipelines import Pipeline, essay, page_json
from tests.unit.pipeline.archived_pages import SKETCH, asking, frozen

PAGES = Partition("pages", 0)


class _DiesAtCommit(MemorySource):
    """The process ends before its first commit."""

    is_alive = True

    async def commit(self, next_offsets: Mapping[Partition, int]) -> Mapping[Partition, int]:
        if self.is_alive:
            self.is_alive = False
            raise Crash
        return await super().commit(next_offsets)


class _DiesAtDecision(MemoryClusters):
    """The process ends before its first decision is stored."""

    is_alive = True

    async def commit(self, transaction: Transaction) -> int | None:
        if self.is_alive:
            self.is_alive = False
            raise Crash
        return await super().commit(transaction)


def records(*values: bytes | None) -> list[Record]:
    return [
        Record(
            position=Position(PAGES, offset), key=b"https://example.com/a", value=value, timestamp_ms=offset
        )
        for offset, value in enumerate(values)
    ]


@pytest.fixture
def archive(tmp_path: Path) -> OpenArchive:
    return frozen(tmp_path / "old.nda", [asking("old", essay(1)), asking("other", essay(2))])


def archived(messages: list[Message]) -> list[Archived]:
    return [
        msgspec.json.decode(message.value or b"", type=Archived)
        for message in messages
        if ("ce_type", b"io.neardup.archived.v1") in message.headers
    ]


def names(messages: list[Message]) -> list[str]:
    return [(dict(each.headers)["ce_type"] or b"").decode().split(".")[2] for each in messages]


async def stored_records(pipeline: Pipeline) -> list[PageRecord]:
    return list((await read_pipeline(pipeline, [], {})).records.values())


async def run(pipeline: Pipeline, source: MemorySource) -> None:
    async with source, pipeline.events, pipeline.dead_letters:
        await pipeline.loop(source).run(asyncio.Event())


async def test_a_page_like_a_frozen_one_is_reported_and_keeps_its_own_verdict(archive: OpenArchive) -> None:
    pipeline = Pipeline(archives=lambda: [archive])

    await run(pipeline, MemorySource(records(page_json("a", essay(1)), page_json("b", essay(3)))))

    (event,) = archived(pipeline.events.messages)
    assert (event.page.id, event.kind, event.matches_total) == ("https://example.com/a", "exact", 1)
    assert event.matches[0].id == "https://a.example/old"
    assert pipeline.meters.outcomes["unique"] == 2


async def test_keys_of_more_frozen_pages_than_are_compared_are_counted(tmp_path: Path) -> None:
    """An edited page shares some of its bands, and not the text, with 200 equal ones."""
    archive = frozen(tmp_path / "equal.nda", [asking(f"copy {number}", essay(1)) for number in range(200)])
    pipeline = Pipeline(archives=lambda: [archive])

    await run(pipeline, MemorySource(records(page_json("a", essay(1, edits=[50])), page_json("b", essay(3)))))

    ((exact, near, candidates, sampled_keys),) = pipeline.meters.archived_counts
    assert (exact, near) == (0, 1)
    assert candidates >= 128
    assert 1 <= sampled_keys <= SKETCH.bands


async def test_a_record_read_again_publishes_the_same_though_the_archive_is_gone(
    archive: OpenArchive,
) -> None:
    archives = [archive]
    pipeline = Pipeline(archives=lambda: archives)
    source = _DiesAtCommit(records(page_json("a", essay(1))))
    with pytest.raises(ExceptionGroup):
        await asyncio.create_task(run(pipeline, source))
    before = list(pipeline.events.messages)

    archives.clear()
    await run(pipeline, source)

    assert len(archived(before)) == 1
    assert pipeline.events.messages == before * 2


async def test_an_unchanged_page_is_published_once_and_a_changed_one_again(archive: OpenArchive) -> None:
    pipeline = Pipeline(archives=lambda: [archive])

    await run(
        pipeline,
        MemorySource(
            records(page_json("a", essay(1)), page_json("a", essay(1)), page_json("a", essay(2)), None)
        ),
    )

    events = archived(pipeline.events.messages)
    assert [(each.page.version, each.matches[0].id.rpartition("/")[2]) for each in events] == [
        (1, "old"),
        (2, "other"),
    ]


async def test_a_skipped_page_has_a_small_record_and_no_cluster_and_is_published_once(
    archive: OpenArchive,
) -> None:
    pipeline = Pipeline(archives=lambda: [archive], skips_matches=True)
    copies = [page_json(name, essay(1)) for name in ("a", "b", "a")]

    await run(pipeline, MemorySource(records(*copies, page_json("c", essay(3)))))

    assert [each.page.id for each in archived(pipeline.events.messages)] == [
        "https://example.com/a",
        "https://example.com/b",
    ]
    assert names(pipeline.events.messages) == ["archived", "archived"]
    assert pipeline.meters.outcomes == {"archived": 2, "unchanged": 1, "unique": 1}
    skipped = [each for each in await stored_records(pipeline) if each.state == "archived"]
    assert [len(each.pack()) < 100 for each in skipped] == [True, True]


async def test_a_page_that_leaves_a_cluster_for_the_archives_is_published_as_undecided(
    archive: OpenArchive,
) -> None:
    pipeline = Pipeline(archives=lambda: [archive], skips_matches=True)
    pages = [("a", essay(3)), ("b", essay(3)), ("a", essay(1))]

    await run(pipeline, MemorySource(records(*(page_json(*page) for page in pages))))

    assert names(pipeline.events.messages) == [
        "duplicate",
        "representative-changed",
        "undecided",
        "archived",
    ]
    fold = Fold()
    for message in pipeline.events.messages:
        fold.feed(from_message(message))
    assert fold.deletable() == frozenset()
    assert fold.cluster_of("https://example.com/a") is None


async def test_a_page_of_the_index_stays_there_though_an_archive_has_it_now(archive: OpenArchive) -> None:
    archives: list[OpenArchive] = []
    pipeline = Pipeline(archives=lambda: archives, skips_matches=True)
    await run(pipeline, MemorySource(records(page_json("a", essay(1)))))

    archives.append(archive)
    await run(pipeline, MemorySource(records(None, page_json("a", essay(1)))[1:]))

    assert pipeline.meters.outcomes == {"unique": 1, "unchanged": 1}


async def test_a_skipped_page_is_compared_again_once_no_archive_has_its_like(archive: OpenArchive) -> None:
    archives = [archive]
    pipeline = Pipeline(archives=lambda: archives, skips_matches=True)
    await run(pipeline, MemorySource(records(page_json("a", essay(1)))))

    archives.clear()
    again = records(None, page_json("a", essay(1)), page_json("b", essay(1)))[1:]
    await run(pipeline, MemorySource(again))

    assert pipeline.meters.outcomes == {"archived": 1, "unique": 1, "duplicate": 1}


@pytest.mark.parametrize(
    ("is_decided", "expected"), [(False, ["undecided"]), (True, ["archived"])], ids=["registered", "decided"]
)
async def test_a_skipped_page_that_is_read_again_stays_skipped_though_nothing_matches_it_any_more(
    archive: OpenArchive, *, is_decided: bool, expected: list[str]
) -> None:
    archives = [archive]
    clusters = MemoryClusters() if is_decided else _DiesAtDecision()
    pipeline = Pipeline(archives=lambda: archives, skips_matches=True, clusters=clusters)
    source = _DiesAtCommit(records(page_json("a", essay(1))))
    with pytest.raises(ExceptionGroup):
        await asyncio.create_task(run(pipeline, source))
    before = len(pipeline.events.messages)
    source.is_alive = False

    archives.clear()
    await run(pipeline, source)

    assert names(pipeline.events.messages[before:]) == expected
    assert [each.state for each in await stored_records(pipeline)] == ["archived"]


def in_two_lines(text: str) -> str:
    """Return the same tokens; a page of one line teaches nothing anyway."""
    return text.replace(" ", "\n", 1)


async def test_a_skipped_page_that_is_replayed_after_its_match_is_forgotten_teaches_no_frames(
    archive: OpenArchive,
) -> None:
    archives = [archive]
    pipeline = Pipeline(
        archives=lambda: archives, skips_matches=True, clusters=_DiesAtDecision(), site="host"
    )
    skipped, other = (page_json(name, in_two_lines(essay(n))) for name, n in (("a", 1), ("b", 4)))
    with pytest.raises(ExceptionGroup):
        await asyncio.create_task(run(pipeline, MemorySource(records(skipped))))

    archives.clear()
    await run(pipeline, MemorySource(records(skipped, other)))

    assert pipeline.meters.outcomes == {"archived": 1, "unique": 1}
    (packed,) = await pipeline.frame_store.fetch([site_hash("example.com", bytes(16))])
    assert FrameTable.unpack(packed).page_count == 1
