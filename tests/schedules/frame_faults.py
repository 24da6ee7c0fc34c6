"""Faults of the frame store, after which daemons know different frames of a site."""

import random
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Final, Literal, NamedTuple, get_args

from neardup_stream.errors import StoreUnavailable
from neardup_stream.frames.table import STAMP_BYTES
from neardup_stream.stores.frame_store import FrameChange
from neardup_stream.stores.memory.frames import MemoryFrames

__all__ = ["FaultyFrames", "FrameFault", "FrameFaultKind", "FrameTrouble", "draw_frame_faults"]

FrameFaultKind = Literal["lost", "older copy", "rewritten", "unavailable"]
"""lost: the table is removed, as by `frames forget`. older copy: an earlier table is restored.
rewritten: its stamp changes, so that every daemon's next write conflicts. unavailable: all calls fail."""


class FrameFault(NamedTuple):
    """What happens to the table of a site.

    Attributes:
        at_seconds: since the beginning.
        kind: what happens.
        site: the site's number; of no meaning where the store is unavailable.
        seconds: how long the store is unavailable.
    """

    at_seconds: float
    kind: FrameFaultKind
    site: int
    seconds: float


class FrameTrouble(NamedTuple):
    """What daemons' knowledge of frames suffers in one run.

    Attributes:
        faults: of the store.
        start_seconds: when daemons that start late do so, by their number.
        stale: numbers of the daemons that never read a table again.
    """

    faults: Sequence[FrameFault] = ()
    start_seconds: dict[int, float] = {}  # noqa: RUF012 - never changed
    stale: frozenset[int] = frozenset()


class FaultyFrames(MemoryFrames):
    """A FrameStore with injected faults.

    Args:
        now_seconds: the true time.
    """

    def __init__(self, now_seconds: Callable[[], float]) -> None:
        super().__init__()
        self._now_seconds = now_seconds
        self._available_from = 0.0
        self._older: defaultdict[int, list[bytes]] = defaultdict(list)
        self._rewrites = 0

    async def fetch(self, sites: Sequence[int]) -> list[bytes | None]:
        self._check_available()
        return await super().fetch(sites)

    async def replace(self, changes: Sequence[FrameChange]) -> list[bytes | None]:
        self._check_available()
        for change in changes:
            if (stored := self._tables.get(change.site)) is not None:
                self._older[change.site].append(stored)
        return await super().replace(changes)

    async def remove(self, site: int) -> bool:
        self._check_available()
        return await super().remove(site)

    def inject(self, fault: FrameFault, site: int) -> None:
        """Let a fault happen to the table of the site with this hash."""
        if fault.kind == "unavailable":
            self._available_from = self._now_seconds() + fault.seconds
        elif fault.kind == "lost":
            self._tables.pop(site, None)
        elif fault.kind == "older copy" and self._older[site]:
            self._tables[site] = self._older[site][len(self._older[site]) // 2]
        elif fault.kind == "rewritten" and site in self._tables:
            self._rewrites += 1
            self._tables[site] = (
                self._rewrites.to_bytes(STAMP_BYTES, "big") + self._tables[site][STAMP_BYTES:]
            )

    def _check_available(self) -> None:
        if self._now_seconds() < self._available_from:
            raise StoreUnavailable("the frame store is unavailable")


_KINDS: Final = get_args(FrameFaultKind)


def draw_frame_faults(
    daemons: int, duration_seconds: float, site_count: int, dice: random.Random
) -> FrameTrouble:
    """Draw faults of the store, perhaps a late daemon, perhaps some that never read a table again."""
    faults = [
        FrameFault(
            dice.uniform(0, duration_seconds),
            dice.choice(_KINDS),
            dice.randrange(site_count),
            dice.choice([dice.uniform(0.1, 3), dice.uniform(3, 30)]),
        )
        for _ in range(dice.randint(0, 5))
    ]
    late = {dice.randrange(daemons): dice.uniform(0, duration_seconds)} if dice.random() < 0.5 else {}
    stale = frozenset(daemon for daemon in range(daemons) if dice.random() < 0.25)
    return FrameTrouble(faults, late, stale)
