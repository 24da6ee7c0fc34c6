"""Daemons that learn frames, and stores in which others write or answers get lost."""

from collections.abc import Sequence

import numpy as np

from neardup_stream.errors import StoreUnavailable
from neardup_stream.fingerprints.simhash import SimhashConfig
from neardup_stream.fingerprints.sketch import SketchConfig
from neardup_stream.frames.lines import FrameConfig
from neardup_stream.frames.table import FrameTable
from neardup_stream.message import Partition, Position, Record
from neardup_stream.meters import NoMeters
from neardup_stream.pipeline.arrival import Lesson, Prepared
from neardup_stream.pipeline.classification import VerdictConfig
from neardup_stream.pipeline.decode import Decode
from neardup_stream.pipeline.extract import Extract
from neardup_stream.pipeline.fingerprint import Fingerprint
from neardup_stream.pipeline.frame_views import FrameViewer
from neardup_stream.pipeline.frames import WINDOW_PAGES, Frames, site_hash
from neardup_stream.pipeline.preparation import Preparation
from neardup_stream.pipeline.retries import Retries
from neardup_stream.pipeline.scopes import scope_by
from neardup_stream.stores.frame_store import FrameChange
from neardup_stream.stores.memory.frames import MemoryFrames
from neardup_stream.wire.pages import PageDecoder
from tests.framed_pages import outside_landmarks
from tests.pipelines import QUICK

__all__ = ["KEY", "OTHER", "SHOP", "BusyFrames", "Daemon", "LostAnswers", "prepared", "stored"]

KEY = bytes(16)
SKETCH = SketchConfig()
SHOP, OTHER = "shop.example", "other.example"


class FrameMeters(NoMeters):
    """Keeps what became of lessons."""

    def __init__(self) -> None:
        self.taught = self.dropped = 0

    def frame_lessons(self, taught: int, dropped: int) -> None:
        self.taught += taught
        self.dropped += dropped


class BusyFrames(MemoryFrames):
    """Another daemon teaches a line of its own before so many of our writes."""

    def __init__(self, conflicts: int) -> None:
        super().__init__()
        self.conflicts = conflicts
        self.fetches = 0
        self.calls = 0

    async def fetch(self, sites: Sequence[int]) -> list[bytes | None]:
        self.fetches += 1
        return await super().fetch(sites)

    async def replace(self, changes: Sequence[FrameChange]) -> list[bytes | None]:
        self.calls += 1
        if self.conflicts:
            self.conflicts -= 1
            for change in changes:
                (stored,) = await super().fetch([change.site])
                table = FrameTable.unpack(stored).learn([np.array([self.calls], np.uint32)], 1024)
                theirs = table.pack(b"theirs%2d" % self.calls)
                await super().replace([FrameChange(change.site, (stored or b"")[:8], theirs)])
        return await super().replace(changes)


class LostAnswers(MemoryFrames):
    """Does what it is asked to, and fails the first times."""

    def __init__(self, failures: int) -> None:
        super().__init__()
        self.failures = failures

    async def replace(self, changes: Sequence[FrameChange]) -> list[bytes | None]:
        answers = await super().replace(changes)
        if self.failures:
            self.failures -= 1
            raise StoreUnavailable("the answer was lost")
        return answers


class Daemon:
    """Frames over a store that others may use too, with a clock of its own."""

    def __init__(
        self, store: MemoryFrames, config: FrameConfig | None = None, window_pages: int = WINDOW_PAGES
    ) -> None:
        self.seconds = 0.0
        self.meters = FrameMeters()
        self.store = store
        config = config or FrameConfig()
        self.frames = Frames(
            store=store,
            viewer=FrameViewer(config, outside_landmarks, VerdictConfig(SKETCH)),
            config=config,
            handle_key=KEY,
            retries=Retries(QUICK, self.meters, lambda _error: None),
            meters=self.meters,
            now_seconds=lambda: self.seconds,
            window_pages=window_pages,
        )

    async def view(self, pages: Sequence[bytes]) -> Prepared:
        return await self.frames.view(prepared(pages))

    async def teach(self, *pages: Sequence[int], site: str = SHOP) -> None:
        """Count pages that have just these lines."""
        lessons = [Lesson(site, np.array(lines, np.uint32)) for lines in pages]
        await self.frames.learn(Prepared([], [], [], 0), lessons)

    async def crawl(self, pages: Sequence[bytes]) -> Prepared:
        """A whole batch, all pages of which turn out to be distinct."""
        viewed = await self.view(pages)
        await self.frames.learn(viewed, list(viewed.lessons.values()))
        return viewed


def prepared(pages: Sequence[bytes | None]) -> Prepared:
    preparation = Preparation(
        Decode(PageDecoder()),
        Extract("all_text"),
        Fingerprint(SimhashConfig(), SKETCH, scope_by("everything"), scope_by("host")),
        NoMeters(),
    )
    return preparation.prepare(
        [
            Record(position=Position(Partition("pages", 0), row), key=b"https://shop.example/1", value=page)
            for row, page in enumerate(pages)
        ]
    )


async def stored(store: MemoryFrames, site: str = SHOP) -> tuple[int, dict[int, int]]:
    """Return how many pages of a site are counted, and its lines with their counts."""
    (packed,) = await store.fetch([site_hash(site, KEY)])
    table = FrameTable.unpack(packed)
    return table.page_count, dict(zip(table.hashes.tolist(), table.counts.tolist(), strict=True))
