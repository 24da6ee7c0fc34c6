"""Frames are learned while pages are frozen, without an index that finds which pages are copies."""

import asyncio
from pathlib import Path
from threading import Event
from typing import Any

import msgspec
import numpy as np
from neardup_daemon.page_freezing import Filled, PageFreezer
from neardup_daemon.preparing import build_preparation, sketch_config
from neardup_daemon.settings.settings import Settings

from neardup_stream.archive.building import LEAST_MEMORY_BYTES, ArchiveBuilder
from neardup_stream.archive.frozen import FrozenIndex
from neardup_stream.archive.matching import MatchingWriter
from neardup_stream.archive.pages import FrozenPage
from neardup_stream.archive.writing import ArchiveWriter
from neardup_stream.meters import NoMeters
from neardup_stream.streams.memory.streams import numbered

SETTINGS = Settings()
OTHERS, COPIES = 40, 20


def article(number: int) -> str:
    """Markup of ten paragraphs that no other article has."""
    paragraphs = (" ".join(f"a{number}p{p}w{word}" for word in range(20)) for p in range(10))
    return "".join(f"<p>{each}</p>" for each in paragraphs)


async def test_copies_of_a_page_do_not_make_its_content_frame(tmp_path: Path) -> None:
    pages = [*range(OTHERS), *[0] * COPIES]
    values = [
        msgspec.json.encode({"url": f"https://example.com/{place}", "html": article(number)})
        for place, number in enumerate(pages)
    ]
    path, sketch = tmp_path / "crawl.nda", sketch_config(SETTINGS)
    assert sketch is not None
    preparation = build_preparation(SETTINGS, NoMeters())
    with (
        ArchiveWriter(path) as writer,
        ArchiveBuilder(
            writer,
            tmp_path,
            LEAST_MEMORY_BYTES,
            [MatchingWriter(tmp_path, sketch.sketch_bytes, LEAST_MEMORY_BYTES)],
        ) as builder,
    ):
        freezer = PageFreezer(SETTINGS, builder, preparation)
        for value in numbered(values):
            await freezer.take(preparation.prepare([value]))
        builder.finish({"schema": {}})

    index = FrozenIndex(path)
    rows = index.log.find([f"https://example.com/{place}" for place in range(len(pages))])
    (last,) = index.sketches(np.array([rows[f"https://example.com/{len(pages) - 1}"]]))
    assert (last.shingle_count, last.whole_count) == (198, 0)


class Waiting(ArchiveBuilder):
    """Adds a page when a test wants it."""

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self.begun, self.allowed = Event(), Event()

    def add(self, page: FrozenPage) -> None:
        self.begun.set()
        self.allowed.wait(60)
        super().add(page)


async def test_a_freezer_that_is_cancelled_ends_once_no_thread_adds_pages(tmp_path: Path) -> None:
    (value,) = numbered([b'{"url": "https://example.com/", "text": "some words"}'])
    preparation = build_preparation(SETTINGS, NoMeters())
    with (
        ArchiveWriter(tmp_path / "crawl.nda") as writer,
        Waiting(
            writer, tmp_path, LEAST_MEMORY_BYTES, [MatchingWriter(tmp_path, 8, LEAST_MEMORY_BYTES)]
        ) as builder,
    ):
        freezer = PageFreezer(SETTINGS, builder, preparation)
        taking = asyncio.create_task(freezer.take(preparation.prepare([value])))
        await asyncio.to_thread(builder.begun.wait, 60)
        taking.cancel()
        for _ in range(3):
            await asyncio.sleep(0)
        is_waited_for = not taking.done()
        builder.allowed.set()
        await asyncio.wait([taking])

    assert is_waited_for
    assert taking.cancelled()
    assert freezer.filled.page_count == 1


def test_equal_files_are_one_input_once_their_digests_are_known() -> None:
    filled = Filled()
    for input_id, count in (("path:a", 2), ("path:b", 3), ("path:copy of a", 2), ("stdin", 1)):
        filled.add_pages(input_id, count)

    filled.rename_inputs({"path:a": "file:1", "path:b": "file:2", "path:copy of a": "file:1"})

    assert filled.inputs == {"file:1": 4, "file:2": 3, "stdin": 1}
    assert filled.page_count == 8
