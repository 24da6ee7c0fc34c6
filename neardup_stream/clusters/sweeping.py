"""Removes old tombstones: the page cells that have aged, and whose versions are known to the page records.

The cell of a page that stands alone is removed once it is old, and then only the page record has the version.
So the cell is removed only after a read has shown that the record has it. Where Redis has lost the record,
or the last write to it, the page would begin again at a version that was published before, and subscribers
would ignore it:

    record                          its cell
    has the version and the rank    is removed
    lacks the rank                  is removed after the rank was written
    none, and the page is gone      is removed after the version floor of its slot was raised
    none, or an older one           is kept, noted as unrecorded, until the page is decided again
    a newer one, not decided yet    is kept likewise: the record may have begun again since Redis lost it
"""

import logging
from collections.abc import Mapping, Sequence
from typing import Literal

import msgspec

from neardup_stream.clusters.cells import PageCell, contents_differ
from neardup_stream.clusters.snapshot import page_addresses
from neardup_stream.match import version_byte
from neardup_stream.page import Handle
from neardup_stream.stores.cluster_store import BLOCK_OFFSETS, Aged, CellAddress, ClusterStore, Transaction
from neardup_stream.stores.page_record import PageRecord, decided_text
from neardup_stream.stores.protocol import RankWrite, RecordDrop, RecordStore

__all__ = ["knowledge_of", "sweep_aged"]

_logger = logging.getLogger(__name__)

_Knowledge = Literal["known", "unranked", "dropped", "lost", "undecided"]


async def sweep_aged(
    store: ClusterStore, records: RecordStore, tombstone_ttl_seconds: float, limit: int
) -> None:
    """Remove the page cells that have aged for long enough and that nothing holds.

    Args:
        store: keeps the cells.
        records: of the same pages.
        tombstone_ttl_seconds: how long a cell ages.
        limit: most cells that are removed at once, but for those of one block of rows.

    Raises:
        StoreUnavailable: call again; what was removed is removed.
        CorruptData: what is stored is not what this program writes.
    Cost: three round trips for each `limit` cells, of which the last one holds the server for some 3 ms; one
    more where pages have changed since, and up to three where records are lost.
    """
    while due := await store.due(tombstone_ttl_seconds, limit):
        if not await _keep_unrecorded(store, records, due):
            return  # another daemon has decided one of these pages: the next round looks again
        await store.sweep(due)
        if len(due) + BLOCK_OFFSETS <= limit:  # else more may be due that did not fit
            return


def knowledge_of(cell: PageCell, record: PageRecord | None) -> _Knowledge:
    """Return what the page's record knows of the version that its cell knows."""
    if record is None:
        return "lost" if cell.is_living else "dropped"
    if record.version > cell.version:
        return "known" if record.rank else "undecided"
    if record.version < cell.version:
        return "lost"
    if contents_differ(cell.content, record.content) or (record.is_kept and not cell.is_living):
        return "lost"  # Redis lost the record, and the page came again and is not decided yet
    return "unranked" if cell.is_living and not record.rank else "known"


async def _keep_unrecorded(store: ClusterStore, records: RecordStore, due: Sequence[Aged]) -> bool:
    """Make sure that no version is forgotten with these cells; False where one of them has moved."""
    handles = list(dict.fromkeys(aged.handle for aged in due))
    found = dict(zip(handles, await records.fetch(handles), strict=True))
    open_cells = [aged for aged in due if not _is_recorded(aged, found[aged.handle])]
    return not open_cells or await _keep_open(store, records, open_cells, found)


def _is_recorded(aged: Aged, record: bytes | None) -> bool:
    """Return whether the record has the rank and the text with which the cell aged, and so its version.

    So it is with nearly all, whose cells need not be read then.
    """
    return record is not None and aged.content != 0 and decided_text(record) == (aged.rank, aged.content)


async def _keep_open(
    store: ClusterStore, records: RecordStore, due: Sequence[Aged], found: Mapping[Handle, bytes | None]
) -> bool:
    """Compare cells with the records that were found before."""
    handles = list(dict.fromkeys(aged.handle for aged in due))
    addresses = dict(zip(handles, page_addresses(handles), strict=True))
    values, _ = await store.read(list(addresses.values()))
    raw = dict(zip(handles, values, strict=True))
    cells = {handle: PageCell.unpack(value) for handle, value in raw.items()}
    going = {aged.handle: cells[aged.handle] for aged in due if _is_removable(cells[aged.handle], aged)}
    staying = await _unrecorded(records, going, found)
    if not staying:
        return True
    kept = {
        addresses[each]: msgspec.structs.replace(cells[each], is_unrecorded=True).pack() for each in staying
    }
    expected: dict[CellAddress, bytes | None] = {addresses[each]: raw[each] for each in staying}
    return await store.commit(Transaction(floors={}, expected=expected, writes=kept)) is not None


def _is_removable(cell: PageCell, aged: Aged) -> bool:
    """Return whether a sweep removes this cell."""
    return bool(cell.version) and cell.rank == aged.rank and not cell.is_held


async def _unrecorded(
    records: RecordStore, going: Mapping[Handle, PageCell], found: Mapping[Handle, bytes | None]
) -> list[Handle]:
    """Let the records know what they can, and return the pages whose cells must stay."""
    known = {
        handle: knowledge_of(cell, None if (value := found[handle]) is None else PageRecord.unpack(value))
        for handle, cell in going.items()
    }
    unranked = [handle for handle, knowledge in known.items() if knowledge == "unranked"]
    if unranked:
        await records.write_ranks(
            [RankWrite(each, version_byte(going[each].version), going[each].rank) for each in unranked]
        )
    lost = [handle for handle, knowledge in known.items() if knowledge == "lost"]
    if dropped := [handle for handle, knowledge in known.items() if knowledge == "dropped"]:
        are_gone = await records.drop([RecordDrop(each, None, going[each].version) for each in dropped])
        lost += [handle for handle, is_gone in zip(dropped, are_gone, strict=True) if not is_gone]
    if lost:
        _logger.warning("page_records_lost", extra={"fields": {"pages": len(lost)}})
    return lost + [handle for handle, knowledge in known.items() if knowledge == "undecided"]
