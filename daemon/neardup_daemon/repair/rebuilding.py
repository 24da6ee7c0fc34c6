"""Fill the index again from the page records, which are authoritative, for `rebuild`."""

from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Literal

from neardup_daemon.loop_wiring import build_retries
from neardup_daemon.settings.settings import Settings
from neardup_daemon.stored_index import open_stored_index
from neardup_stream.chunks import in_chunks
from neardup_stream.errors import ConfigError
from neardup_stream.meters import NoMeters
from neardup_stream.page import Handle
from neardup_stream.pipeline.probe import insert
from neardup_stream.pipeline.retries import Retries
from neardup_stream.pipeline.stores import PageStores
from neardup_stream.stores.page_record import PageRecord

__all__ = ["Rebuilt", "fill", "rebuild_index", "rebuild_slots"]

_READ_AT_ONCE = 500
"""Records, at least: few hashes of a large index may hold any."""

_INSERTED_AT_ONCE = 64

Rebuilt = Literal["indexed", "short", "archived", "gone"]
"""What a record is to the index; only those indexed have entries."""


async def rebuild_index(
    settings: Settings, state_dir: Path | None, on_slots: Callable[[int, int], None]
) -> Counter[Rebuilt]:
    """Insert every living page again; what is there already stays as it is.

    Safe while daemons run, and to repeat: a page that changes meanwhile leaves entries of its former version,
    which are stale like any other and are removed when they are met.

    Args:
        settings: those of the index.
        state_dir: what `dedup --state` keeps; None for the Redis in the settings.
        on_slots: called with the number of finished hashes of records, and of all.

    Returns:
        How many records had each result.

    Raises:
        ConfigError: there is no such index, or its tables are being laid out again: a change that takes
            place meanwhile removes the tables that are filled here.
        StoreUnavailable: Redis cannot be reached.
        DependencyLost: it stayed unavailable for longer than `pipeline.retry_deadline_seconds`.
        CorruptData: what is stored is not ours.
    Cost: a round trip for a thousand records, or hashes without any, and one for 64 pages to insert.
    """
    retries = build_retries(settings, NoMeters())
    async with open_stored_index(settings, state_dir, is_walked=True) as stores:
        if stores.tables.state.found.filling is not None:
            raise ConfigError(
                "'rebuild --into' has not finished: wait for it, or run it again, and 'rebuild' afterwards"
            )
        return await fill(stores.pages, retries, on_slots)


async def fill(
    stores: PageStores, retries: Retries, on_slots: Callable[[int, int], None]
) -> Counter[Rebuilt]:
    """Do the same for open stores, which may name the index over another layout."""
    counts: Counter[Rebuilt] = Counter()
    slot, slot_count = 0, stores.records.slot_count
    while slot < slot_count:
        rebuilt, slot = await retries.retry(partial(rebuild_slots, stores, slot))
        counts += rebuilt
        on_slots(slot, slot_count)
    return counts


async def rebuild_slots(stores: PageStores, slot: int) -> tuple[Counter[Rebuilt], int]:
    """Rebuild the same for some hashes of records from `slot` on.

    Returns:
        How many records had each result, and the hash to continue with.

    Raises:
        StoreUnavailable: some pages may be inserted; do it again.
        CorruptData: a record cannot be read.
    """
    slot_count = stores.records.slot_count
    packed: list[tuple[Handle, bytes]] = []
    while slot < slot_count and len(packed) < _READ_AT_ONCE:
        walked = await stores.records.walk(slot, slot_count - slot)
        packed, slot = packed + walked.records, walked.next_slot
    records = [(handle, PageRecord.unpack(each)) for handle, each in packed]
    indexed = [(handle, record) for handle, record in records if record.is_indexed]
    for some in in_chunks(indexed, _INSERTED_AT_ONCE):
        await insert(some, stores.index)
    counts: Counter[Rebuilt] = Counter(_what(record) for _, record in records)
    return counts, slot


def _what(record: PageRecord) -> Rebuilt:
    match record.state:
        case "live" | "expiring":
            return "indexed"
        case other:
            return other
