"""What Redis loses in a run, what the operator does about it, and what must be so in spite of it.

records   some page records return to former values; the operator does nothing
flushed   everything is gone: daemons stop writing, and the operator has all pages read into a new index
older     the clusters return to an earlier copy; the same
recent    the clusters lose their last second or two just as events were sent, and daemons die; the same
epoch     nothing is lost, but every record comes again under a raised input epoch, and none under its own
"""

import json
import random
from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from typing import Literal, NamedTuple

from neardup_stream.clusters.cells import PageCell
from neardup_stream.invariants.history import History
from neardup_stream.message import Position, Record
from neardup_stream.page import Handle
from neardup_stream.stores.cluster_store import PAGES
from neardup_stream.stores.memory.clusters import MemoryClusters
from neardup_stream.stores.page_record import PageRecord
from tests.doubles.tables import MemoryTables
from tests.frail_records import lose_record, put_back_record, stored_records
from tests.schedules.clock_jumps import early_expiry
from tests.schedules.views import WatchedRecords

__all__ = [
    "LosingRecords",
    "Loss",
    "LossKind",
    "draw_loss",
    "flush",
    "judge_topics",
    "restore",
    "snapshot",
    "without_stale",
    "written_since",
]

LossKind = Literal["records", "flushed", "older", "recent", "epoch"]


class Loss(NamedTuple):
    """What is lost in one run.

    Attributes:
        kind: see above.
        at_seconds: since the beginning.
        lag_seconds: how far back the copy is.
        operator_seconds: until the operator repairs it.
    """

    kind: LossKind
    at_seconds: float
    lag_seconds: float
    operator_seconds: float


def draw_loss(kinds: tuple[LossKind, ...], duration_seconds: float, dice: random.Random) -> Loss | None:
    """One of these kinds; nothing is drawn where there are none."""
    if not kinds:
        return None
    at_seconds = duration_seconds * dice.uniform(0.2, 1.0)
    return Loss(dice.choice(kinds), at_seconds, dice.uniform(0.5, 10), dice.uniform(1, 12))


class LosingRecords(WatchedRecords):
    """Records of which some go back to what they were.

    Args:
        now_seconds: the true time.
        page_seconds: how long pages are kept; None: for ever.

    Attributes:
        early: lines that say which pages expire before their time.
    """

    def __init__(self, now_seconds: Callable[[], float], page_seconds: int | None = None) -> None:
        super().__init__(slot_bits=0)
        self.early: list[str] = []
        self._now_seconds = now_seconds
        self._page_seconds = page_seconds
        self._former: list[tuple[float, dict[Handle, bytes]]] = []

    def _watch(self, record: PageRecord) -> None:
        super()._watch(record)
        early = early_expiry(record, self._now_seconds(), self._page_seconds)
        if early is not None:
            self.early.append(early)

    def remember(self) -> None:
        """Keep what is stored now, to go back to."""
        self._former.append((self._now_seconds(), stored_records(self)))

    def go_back(self, seconds: float, dice: random.Random) -> None:
        """About half of the records become what they were so many seconds ago, or are lost."""
        then = self._now_seconds() - seconds
        former = next((values for at, values in reversed(self._former) if at <= then), {})
        for handle in sorted(stored_records(self)):
            if dice.random() < 0.5:
                lose_record(self, handle)
                if handle in former:
                    put_back_record(self, handle, former[handle])


def snapshot(clusters: MemoryClusters) -> object:
    """Return a copy of all that is stored."""
    return deepcopy((clusters._tables, clusters._members, clusters._last_rank, clusters._aging))


def restore(clusters: MemoryClusters, copy: object) -> None:
    """Make everything what it was."""
    clusters._tables, clusters._members, clusters._last_rank, clusters._aging = deepcopy(copy)  # type: ignore[misc]


def flush(records: WatchedRecords, tables: MemoryTables, clusters: MemoryClusters) -> None:
    """Everything is gone."""
    records._slots.clear()
    records._floors.clear()
    records._dropped.clear()
    tables._groups.clear()
    restore(clusters, snapshot(MemoryClusters()))


def written_since(clusters: MemoryClusters) -> Iterator[str]:
    """Yield what was decided in a store that was flushed."""
    for table, cells in clusters._tables.items():
        if cells and (table == PAGES or table.startswith("rows:")):
            yield f"{len(cells)} cells of {table} were written to an index that was lost"


def judge_topics(
    history: History, clusters: MemoryClusters, records: Mapping[Position, Record]
) -> Iterator[str]:
    """Pages of two topics in one cluster: no match connects them, whatever was lost.

    Of pages whose records are as the clusters know them; others are put right when they come again.
    """
    decided = _decided(clusters)
    for cluster_id, cluster in history.clusters.items():
        living = (
            record
            for handle in cluster.members
            if (record := history.records.get(handle)) is not None and record.version == decided.get(handle)
        )
        topics = {
            _topic(records[record.maker])
            for record in living
            if record.state == "live" and record.maker in records
        }
        if len(topics) > 1:
            yield f"cluster {cluster_id} holds pages of {len(topics)} topics: {sorted(topics)}"


def without_stale(records: Mapping[Handle, PageRecord], clusters: MemoryClusters) -> dict[Handle, PageRecord]:
    """Return the records that are not behind what was decided of their pages, and so say nothing of them."""
    decided = _decided(clusters)
    return {handle: record for handle, record in records.items() if record.version >= decided.get(handle, 0)}


def _decided(clusters: MemoryClusters) -> dict[Handle, int]:
    """Return the highest version of each page that was decided or removed."""
    return {
        Handle(int.from_bytes(field, "big")): PageCell.unpack(value).version
        for field, value in clusters._tables.get(PAGES, {}).items()
    }


def _topic(record: Record) -> str:
    text: str = json.loads(record.value or b"{}").get("text", "")
    return next((word[: word.index("w")] for word in text.split() if "w" in word), "")
