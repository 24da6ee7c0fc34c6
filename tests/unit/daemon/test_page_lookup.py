from pathlib import Path
from threading import current_thread

import pytest
from neardup_daemon.inspect.page_lookup import AskedPage, find_stored, place_given, read_given
from neardup_daemon.preparing import build_preparation
from neardup_daemon.query_api.threads import Threads
from neardup_daemon.settings.settings import Settings

from neardup_stream.clusters.unclustered import Unclustered
from neardup_stream.errors import ConfigError
from neardup_stream.frames.table import FrameTable, LineHashes
from neardup_stream.hashing.handles import handle_of, next_handle
from neardup_stream.indexes.layout import IndexConfig, IndexLayout
from neardup_stream.indexes.permuted import PermutedIndex
from neardup_stream.meters import NoMeters
from neardup_stream.page import Handle, Page
from neardup_stream.pipeline.former_versions import FormerVersions
from neardup_stream.pipeline.frames import site_hash
from neardup_stream.pipeline.stores import PageStores
from neardup_stream.stores.frame_store import FrameChange
from neardup_stream.stores.memory.clusters import MemoryClusters
from neardup_stream.stores.memory.frames import MemoryFrames
from neardup_stream.stores.memory.records import MemoryRecords
from neardup_stream.stores.page_record import PageRecord
from neardup_stream.stores.protocol import RecordChange
from neardup_stream.streams.memory.streams import numbered
from tests.doubles.tables import MemoryTables
from tests.pages_of_sites import framed_page, framed_site
from tests.pipelines import essay, page_json

KEY = bytes(16)
PAGE = page_json("a", essay(1))
URL = "https://example.com/a"


def given(folder: Path, page: bytes = PAGE, *overrides: str) -> AskedPage:
    (folder / "page.json").write_bytes(page)
    return read_given(str(folder / "page.json"), Settings.load(overrides=overrides))


async def holding(records: dict[Handle, PageRecord]) -> PageStores:
    store = MemoryRecords()
    await store.replace([RecordChange(handle, None, record.pack()) for handle, record in records.items()])
    index = PermutedIndex(MemoryTables(), IndexLayout(IndexConfig()))
    return PageStores(index, store, Unclustered(MemoryClusters()), KEY, FormerVersions())


async def test_a_page_whose_handle_is_taken_is_found_behind_it(tmp_path: Path) -> None:
    page, other = given(tmp_path), given(tmp_path, page_json("b", essay(2)))
    taken = handle_of(page.record.id, KEY)
    stores = await holding({taken: other.record, next_handle(taken): page.record})

    assert await find_stored(URL, stores) == AskedPage(next_handle(taken), page.record, page.record)
    placed = await place_given(page, Settings(), stores, MemoryFrames())
    assert (placed.handle, placed.stored, placed.text) == (next_handle(taken), page.record, essay(1))


async def test_an_id_is_taken_before_the_url_that_it_spells(tmp_path: Path) -> None:
    spelled = "https://EXAMPLE.com/a"
    by_url, by_id = given(tmp_path), given(tmp_path, page_json("x", essay(2), id=spelled))
    stores = await holding({handle_of(page.record.id, KEY): page.record for page in (by_url, by_id)})

    assert (await find_stored(spelled, stores)).record == by_id.record
    assert (await find_stored(URL, stores)).record == by_url.record


@pytest.mark.parametrize("name", ["", "unknown", "\udcff"], ids=["empty", "unknown", "not-utf-8"])
async def test_what_is_no_page_here_is_a_usage_error(name: str) -> None:
    with pytest.raises(ConfigError):
        await find_stored(name, await holding({}))


@pytest.mark.parametrize("room", [1, 0], ids=["limit-minus-1", "limit"])
def test_a_page_up_to_the_limit_is_read(tmp_path: Path, room: int) -> None:
    assert given(tmp_path, PAGE, f"limits.max_page_bytes={len(PAGE) + room}").record.url == URL


@pytest.mark.parametrize(
    ("page", "overrides", "complaint"),
    [
        pytest.param(PAGE, [f"limits.max_page_bytes={len(PAGE) - 1}"], "over_limit", id="limit-plus-1"),
        pytest.param(PAGE + b"\n" + PAGE, [], "not_json", id="two-pages"),
        pytest.param(page_json("a", "", status=404), ["pages.status=200"], "skipped: status", id="skipped"),
    ],
)
def test_what_the_daemon_would_refuse_is_refused(
    tmp_path: Path, page: bytes, overrides: list[str], complaint: str
) -> None:
    with pytest.raises(ConfigError, match=complaint):
        given(tmp_path, page, *overrides)


def test_a_folder_is_no_page(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot read"):
        read_given(str(tmp_path), Settings())


class ReadingThreads:
    """Reads landmarks, and remembers in which threads."""

    def __init__(self) -> None:
        self._preparation = build_preparation(Settings(), NoMeters())
        self.names: list[str] = []

    def lines_outside_landmarks(self, page: Page) -> LineHashes | None:
        self.names.append(current_thread().name)
        return self._preparation.lines_outside_landmarks(page)


async def test_a_page_whose_markup_is_read_once_more_is_read_in_the_given_threads(tmp_path: Path) -> None:
    """Its frame is on three pages of many: frame in a landmark, and content elsewhere."""
    preparation, frames = build_preparation(Settings(), NoMeters()), MemoryFrames()
    others = [page.replace(b"//other.", b"//shop.") for page in framed_site("other.example", 3, 11)]
    seen = preparation.prepare(numbered([*framed_site("shop.example", 0, 3), *others])).arrivals
    table = FrameTable.empty().learn([each.lines.hashes for each in seen if each.lines], 1024)
    await frames.replace([FrameChange(site_hash("shop.example", KEY), b"", table.pack(b"stamp678"))])
    asked, landmarks = given(tmp_path, framed_page("shop.example", "asked")), ReadingThreads()

    with Threads(1) as threads:
        await place_given(asked, Settings(), await holding({}), frames, landmarks, threads.run)

    assert landmarks.names == ["query-api_0"]
