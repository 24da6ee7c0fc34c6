"""Remove the frames of their sites from pages, and pass the pages to an archive."""

from collections import Counter
from collections.abc import Mapping
from functools import partial
from typing import Final

from neardup_daemon.first_dead_letters import FirstDeadLetters
from neardup_daemon.loop_wiring import build_retries
from neardup_daemon.preparing import build_frames
from neardup_daemon.settings.settings import Settings
from neardup_stream.archive.building import ArchiveBuilder
from neardup_stream.archive.keys import BANDS_ONLY, KeyKind
from neardup_stream.cut_short import in_thread
from neardup_stream.hashing.handles import KEY_BYTES
from neardup_stream.meters import NoMeters
from neardup_stream.pipeline.arrival import Forget, Prepared
from neardup_stream.pipeline.frames import Frames
from neardup_stream.pipeline.freezing import freeze_arrivals
from neardup_stream.pipeline.preparation import ReadsLandmarks
from neardup_stream.stores.memory.frames import MemoryFrames
from neardup_stream.streams.files.source import PlaceOf, record_number

__all__ = ["Filled", "PageFreezer"]

_FRAMES_KEY = bytes(KEY_BYTES)
"""Frame tables are in memory for one run, out of reach of an attacker."""

_MOST_LESSONS: Final = 512
"""Of one site; its frame is known by then, and to compare a page with the latest ones costs ten views."""


class Filled:
    """What was read.

    Args:
        place_of: names the places of dead letters.

    Attributes:
        inputs: pages of each input.
        page_count: of all.
        dead_letter_count: records that can never become a page.
        archived_count: pages of an index without sketches, as they match an archive and `archive.on_match`
            is `skip`.
        skipped: records that were skipped, by reason.
    """

    def __init__(self, place_of: PlaceOf = record_number) -> None:
        self._place_of = place_of
        self.inputs: Counter[str] = Counter()
        self.page_count = self.archived_count = self.dead_letter_count = 0
        self.skipped: Counter[str] = Counter()
        self._letters = FirstDeadLetters()

    @property
    def first_dead_letters(self) -> list[str]:
        """What the first few dead letters were about."""
        return self._letters.lines

    @property
    def record_count(self) -> int:
        """Pages and dead letters."""
        return self.page_count + self.dead_letter_count

    def add_pages(self, input_id: str, count: int) -> None:
        """Count pages of an input."""
        self.inputs[input_id] += count
        self.page_count += count

    def rename_inputs(self, settled: Mapping[str, str]) -> None:
        """Give inputs the ids that are known at the end; equal files are one input."""
        former, self.inputs = self.inputs, Counter()
        for input_id, count in former.items():
            self.inputs[settled.get(input_id, input_id)] += count

    def add_others(self, prepared: Prepared) -> None:
        """Count what of a batch is no page."""
        self.skipped.update(each.reason for each in prepared.skipped)
        self.dead_letter_count += len(prepared.rejected)
        for letter in prepared.rejected:
            self._letters.note(letter.record.position, letter.error, self._place_of)


class PageFreezer:
    """Takes batches of pages in their order.

    Args:
        settings: how frames are learned.
        builder: of the archive.
        preparation: reads the landmarks of pages.
        key_kinds: by which pages are found.
        place_of: names the places of dead letters.

    Attributes:
        filled: what was read so far.
    """

    def __init__(
        self,
        settings: Settings,
        builder: ArchiveBuilder,
        preparation: ReadsLandmarks,
        key_kinds: frozenset[KeyKind] = BANDS_ONLY,
        place_of: PlaceOf = record_number,
    ) -> None:
        self._key_kinds = key_kinds
        self._builder = builder
        self._frames = _memory_frames(settings, preparation)
        self.filled = Filled(place_of)

    async def take(self, prepared: Prepared) -> None:
        """Freeze a batch, and learn the frames of its sites; no thread still adds when this is cancelled."""
        if self._frames is not None:
            prepared = await self._frames.view(prepared)
        await in_thread(partial(self._add, prepared))
        if self._frames is not None:
            await self._frames.learn(prepared, list(prepared.lessons.values()))

    def _add(self, prepared: Prepared) -> None:
        frozen = iter(freeze_arrivals(prepared.arrivals, self._key_kinds))
        for item in prepared.items:
            if isinstance(item, Forget):
                for page_id in item.page_ids:
                    self._builder.forget(page_id)
            else:
                self._builder.add(next(frozen))
                self.filled.add_pages(item.record.position.partition.input_id, 1)
        self.filled.add_others(prepared)


def _memory_frames(settings: Settings, preparation: ReadsLandmarks) -> Frames | None:
    """Learn from the first pages of a site that are no copies; there is no index to detect copies with."""
    retries = build_retries(settings, NoMeters())
    return build_frames(
        settings, MemoryFrames(), _FRAMES_KEY, retries, NoMeters(), preparation, most_lessons=_MOST_LESSONS
    )
