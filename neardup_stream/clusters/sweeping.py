"""Removes old tombstones: the page cells that have aged, and whose versions are known to the page records.

While a page stands alone, its cell goes once it is old, and then only its record knows its version.
So the cell goes only after the record was seen to know it. Where Redis has lost the record, or the last write
to it, the page would begin again at a version that was published before, and subscribers would ignore it:

    record                          its cell
    knows the version               goes
    lacks the mark of its rank      goes after the mark was written
    none, and the page is gone      goes after the version floor of its slot was raised
    none, or an older one           is kept, marked as unrecorded, until the page is decided again
"""

import logging
from collections.abc import Mapping, Sequence
from typing import Literal

import msgspec

from neardup_stream.clusters.cells import PageCell
from neardup_stream.clusters.snapshot import page_cells
from neardup_stream.page import Handle
from neardup_stream.stores.cluster_store import Aged, Cell, ClusterStore, Transaction
from neardup_stream.stores.page_record import PageRecord
from neardup_stream.stores.protocol import RankWrite, RecordDrop, RecordStore

__all__ = ["knowledge_of", "sweep_aged"]

_logger = logging.getLogger(__name__)

_Knowledge = Literal["known", "unmarked", "dropped", "lost"]


async def sweep_aged(
    store: ClusterStore, records: RecordStore, tombstone_ttl_seconds: float, limit: int
) -> None:
    """Remove the page cells that have aged for long enough and that nothing holds.

    Args:
        store: keeps the cells.
        records: of the same pages.
        tombstone_ttl_seconds: how long a cell ages.
        limit: most cells that are removed at once.

    Raises:
        StoreUnavailable: call again; what was removed is removed.
        CorruptData: what is stored is not what this program writes.
    Cost: four round trips for each `limit` cells, of which the last one holds the server for some 3 ms; up to
    three more where records are lost.
    """
    while due := await store.due(tombstone_ttl_seconds, limit):
        if not await _keep_unrecorded(store, records, due):
            return  # another daemon has decided one of these pages: the next round looks again
        await store.sweep(due)
        if len(due) < limit:
            return


def knowledge_of(cell: PageCell, record: PageRecord | None) -> _Knowledge:
    """Return what the page's record knows of the version that its cell knows."""
    if record is None:
        return "lost" if cell.is_living else "dropped"
    if record.version != cell.version:
        return "known" if record.version > cell.version else "lost"
    is_other_text = cell.content and record.content and cell.content != record.content
    if is_other_text or (record.is_kept and not cell.is_living):
        return "lost"  # Redis lost the record, and the page came again and is not decided yet
    return "unmarked" if cell.is_living and not record.rank else "known"


async def _keep_unrecorded(store: ClusterStore, records: RecordStore, due: Sequence[Aged]) -> bool:
    """Make sure that no version is forgotten with these cells; False where one of them has moved."""
    handles = list(dict.fromkeys(aged.handle for aged in due))
    places = dict(zip(handles, page_cells(handles), strict=True))
    values, _ = await store.read(list(places.values()))
    raw = dict(zip(handles, values, strict=True))
    cells = {handle: PageCell.unpack(value) for handle, value in raw.items()}
    going = {aged.handle: cells[aged.handle] for aged in due if _goes(cells[aged.handle], aged)}
    lost = await _unrecorded(records, going)
    if not lost:
        return True
    _logger.warning("page_records_lost", extra={"fields": {"pages": len(lost)}})
    kept = {places[each]: msgspec.structs.replace(cells[each], is_unrecorded=True).pack() for each in lost}
    expected: dict[Cell, bytes | None] = {places[each]: raw[each] for each in lost}
    return await store.commit(Transaction(floors={}, expected=expected, writes=kept)) is not None


def _goes(cell: PageCell, aged: Aged) -> bool:
    """Whether a sweep removes this cell."""
    return bool(cell.version) and cell.rank == aged.rank and not cell.is_held


async def _unrecorded(records: RecordStore, going: Mapping[Handle, PageCell]) -> list[Handle]:
    """Let the records know what they can, and return the pages whose cells must stay."""
    if not going:
        return []
    packed = dict(zip(going, await records.fetch(list(going)), strict=True))
    known = {
        handle: knowledge_of(cell, None if (value := packed[handle]) is None else PageRecord.unpack(value))
        for handle, cell in going.items()
    }
    unmarked = [handle for handle, knowledge in known.items() if knowledge == "unmarked"]
    if unmarked:
        await records.mark(
            [RankWrite(each, going[each].version & 0xFF, going[each].rank) for each in unmarked]
        )
    lost = [handle for handle, knowledge in known.items() if knowledge == "lost"]
    if dropped := [handle for handle, knowledge in known.items() if knowledge == "dropped"]:
        are_gone = await records.drop([RecordDrop(each, None, going[each].version) for each in dropped])
        lost += [handle for handle, is_gone in zip(dropped, are_gone, strict=True) if not is_gone]
    return lost
