"""The whole pipeline over sites whose pages are mostly frame."""

import asyncio
from collections.abc import Sequence

import msgspec
import pytest

from neardup_stream.fingerprints.framed import SHORT_SHINGLES
from neardup_stream.hashing.handles import handle_of
from neardup_stream.page import PageId
from neardup_stream.pipeline.in_flight import InFlightLimits
from neardup_stream.stores.frame_store import FrameChange
from neardup_stream.stores.memory.frames import MemoryFrames
from neardup_stream.stores.memory.records import MemoryRecords
from neardup_stream.stores.page_record import PageRecord
from neardup_stream.stores.protocol import RecordAnswer, RecordChange
from neardup_stream.streams.memory.streams import MemorySource, numbered
from tests.doubles.tables import MemoryTables
from tests.pages_of_sites import framed_page, framed_site
from tests.pipelines import Pipeline

SHOP, OTHER = "shop.example", "other.example"
MENU = "".join(f"<li>section {number} of it</li>" for number in range(10))


def short_page(name: str, words: int = 40) -> bytes:
    """Return a page of HTML with so few words, menu and all, that it is in the index twice."""
    content = " ".join(f"{name}word{number}" for number in range(words))
    html = f"<nav><ul>{MENU}</ul></nav><p>{content}</p>"
    return msgspec.json.encode({"url": f"https://{SHOP}/{name}", "html": html})


def renamed(page: bytes, url: str) -> bytes:
    return msgspec.json.encode({**msgspec.json.decode(page), "url": url})


class Crawl:
    """A pipeline with frames, and the offsets of what it has read."""

    def __init__(self) -> None:
        self.tables = MemoryTables()
        self.pipeline = Pipeline(
            site="host",
            tables=self.tables,
            limits=InFlightLimits(max_batch_pages=8, max_in_flight_pages=32),
        )
        self._offset = 0

    async def read(self, pages: Sequence[bytes | None], key: str = "") -> None:
        """Process some records more, after those before them."""
        keys = [key.encode() or None] * len(pages)
        source = MemorySource(numbered(pages, keys=keys, first_offset=self._offset))
        self._offset += len(pages)
        async with source:
            await self.pipeline.loop(source).run(asyncio.Event())

    async def record(self, url: str) -> PageRecord:
        (packed,) = await self.pipeline.records.fetch([handle_of(PageId(url), bytes(16))])
        assert packed is not None
        return PageRecord.unpack(packed)

    def entries_of(self, url: str) -> set[int]:
        """Return the versions of a page that are in the index."""
        handle = handle_of(PageId(url), bytes(16))
        return {version for group in self.tables.groups() for _, owner, version in group if owner == handle}


async def test_different_pages_of_a_site_are_no_duplicates_though_most_of_them_is_frame() -> None:
    crawl = Crawl()

    await crawl.read(framed_site(SHOP, 1, 30))

    assert crawl.pipeline.pairs() == []
    assert crawl.pipeline.meters.outcomes == {"unique": 30}


async def test_copies_of_a_page_on_another_site_are_found() -> None:
    crawl = Crawl()

    await crawl.read(framed_site(SHOP, 1, 10))
    await crawl.read(framed_site(OTHER, 5, 10))

    assert sorted(crawl.pipeline.pairs()) == sorted(
        (f"https://{OTHER}/page{number}x", [f"https://{SHOP}/page{number}x"]) for number in range(5, 11)
    )


@pytest.mark.parametrize("edits", [0, 3])
async def test_a_page_that_came_before_its_frame_was_known_meets_its_later_copy(edits: int) -> None:
    crawl = Crawl()
    early = framed_page(SHOP, "same", words=200)
    late = renamed(framed_page(SHOP, "same", words=200, edits=edits), f"https://{SHOP}/copy")

    await crawl.read([early])
    assert (await crawl.record(f"https://{SHOP}/same")).whole_count == 0
    await crawl.read(framed_site(SHOP, 1, 20))
    await crawl.read([late])

    assert (await crawl.record(f"https://{SHOP}/copy")).whole_count > 0
    assert crawl.pipeline.pairs() == [(f"https://{SHOP}/copy", [f"https://{SHOP}/same"])]


async def test_a_short_page_stands_in_the_index_twice_and_its_old_version_nowhere() -> None:
    crawl = Crawl()
    url = f"https://{SHOP}/page1x"
    await crawl.read([short_page(f"page{number}x") for number in range(8)])
    former = await crawl.record(url)
    assert 0 < former.whole_count <= SHORT_SHINGLES
    assert former.whole_bands
    assert crawl.entries_of(url) == {1}

    await crawl.read([renamed(short_page("else"), url)])

    assert (await crawl.record(url)).version == 2
    assert crawl.entries_of(url) == {2}


async def test_a_short_page_that_is_forgotten_leaves_no_entry() -> None:
    crawl = Crawl()
    url = f"https://{SHOP}/page1x"
    await crawl.read([short_page(f"page{number}x") for number in range(8)])

    await crawl.read([None], key=url)

    assert crawl.entries_of(url) == set()
    assert crawl.pipeline.meters.outcomes["forgotten"] == 1


async def test_a_page_that_comes_again_keeps_the_view_it_was_first_given() -> None:
    crawl = Crawl()
    early = framed_page(SHOP, "same")
    await crawl.read([early])
    first = await crawl.record(f"https://{SHOP}/same")

    await crawl.read([*framed_site(SHOP, 1, 20), early])

    again = await crawl.record(f"https://{SHOP}/same")
    assert (again.sketch, again.whole, again.version) == (first.sketch, first.whole, 1)
    assert crawl.pipeline.meters.outcomes["unchanged"] == 1


async def test_copies_of_one_page_teach_its_site_no_frame() -> None:
    crawl = Crawl()
    page = framed_page(SHOP, "same", words=200)

    await crawl.read([renamed(page, f"https://{SHOP}/{number}") for number in range(20)])

    assert (await crawl.record(f"https://{SHOP}/19")).whole_count == 0
    assert crawl.pipeline.meters.outcomes == {"unique": 1, "duplicate": 19}


class SlowRecords(MemoryRecords):
    """Answers registrations late, so that viewed batches wait behind each other."""

    def __init__(self, turns: int) -> None:
        super().__init__()
        self.turns = turns

    async def replace(self, changes: Sequence[RecordChange]) -> list[RecordAnswer]:
        for _ in range(self.turns):
            await asyncio.sleep(0)
        return await super().replace(changes)


class SlowFrames(MemoryFrames):
    """Answers late, so that batches are viewed before earlier ones are learned, or after."""

    def __init__(self, turns: int) -> None:
        super().__init__()
        self.turns = turns

    async def replace(self, changes: Sequence[FrameChange]) -> list[bytes | None]:
        for _ in range(self.turns):
            await asyncio.sleep(0)
        return await super().replace(changes)


def redesigned_crawl() -> list[bytes]:
    """Two designs of a site one after the other, copies of a page in each, and pages of another site."""
    pages = []
    for number in range(90):
        pages.append(framed_page(SHOP, f"old{number}x"))
        if number % 6 == 0:
            pages.append(renamed(framed_page(SHOP, "same", words=200), f"https://{SHOP}/a{number}"))
        if number % 9 == 0:
            pages.append(framed_page(OTHER, f"page{number}x"))
    for number in range(90):
        design = framed_page("newdesign.example", f"new{number}x")
        pages.append(renamed(design, f"https://{SHOP}/new{number}x"))
        if number % 6 == 0:
            pages.append(renamed(framed_page(SHOP, "same", words=200, edits=3), f"https://{SHOP}/b{number}"))
    return pages


async def views_of(crawl: Sequence[bytes], limits: InFlightLimits, turns: int) -> list[bytes]:
    """Return what the records of all pages say after a crawl whose stores answer so many turns late."""
    pipeline = Pipeline(site="host", limits=limits, records=SlowRecords(turns), frame_store=SlowFrames(turns))
    async with MemorySource(numbered(crawl)) as source:
        await pipeline.loop(source).run(asyncio.Event())
    urls = [msgspec.json.decode(page)["url"] for page in crawl]
    packed = await pipeline.records.fetch([handle_of(PageId(url), bytes(16)) for url in urls])
    records = [PageRecord.unpack(each) for each in packed if each is not None]
    assert len(records) == len(crawl)
    assert sum(record.whole_count > 0 for record in records) > 100
    return [record.sketch + record.whole + record.bands for record in records]


async def test_views_do_not_depend_on_how_many_pages_are_in_flight_or_how_long_stores_take() -> None:
    crawl = redesigned_crawl()
    first, *others = [
        await views_of(crawl, InFlightLimits(max_batch_pages=8, max_in_flight_pages=pages), turns)
        for pages, turns in ((8, 0), (256, 30), (InFlightLimits().max_in_flight_pages, 0), (4096, 30))
    ]

    assert all(views == first for views in others)
