"""Lay the tables of an index out for more pages, or fewer, while daemons run: for `rebuild --into`.

    announce ─► fill ─► switch ─► remove

Announced, the new layout has a number, and every page that is decided from then on is inserted there too: a
commit of decisions expects the state of the layout beside the token of the index, and pages that were probed
before are probed again. Filled with all page records, it has every page. Switched, pages are probed there
alone. Each step may be repeated, and the state says which one comes next.
"""

import logging
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

from neardup_daemon.capacity.layouts import layout_for
from neardup_daemon.logs import log_event
from neardup_daemon.loop_wiring import build_retries
from neardup_daemon.repair.rebuilding import Rebuilt, fill
from neardup_daemon.settings.settings import Settings
from neardup_daemon.stored_index import open_stored_index
from neardup_daemon.table_settings import is_same_layout, with_tables
from neardup_daemon.tables import Tables
from neardup_daemon.wiring import Stores
from neardup_stream.errors import ConfigError
from neardup_stream.meters import NoMeters
from neardup_stream.pipeline.retries import Retries
from neardup_stream.stores.redis.layouts import TableSettings

__all__ = ["LaidOut", "lay_out"]

_logger = logging.getLogger(__name__)

_PACKED_GROWTH: Final = 6
"""Times the pages planned at the index's creation: page records and clusters stay packed up to so many."""


class LaidOut(NamedTuple):
    """What was done.

    Attributes:
        tables: the settings in force now.
        counts: how many records had each result; empty where the layout was in force already.
        removed_count: buckets of other layouts that were removed.
    """

    tables: TableSettings
    counts: Counter[Rebuilt]
    removed_count: int


async def lay_out(
    settings: Settings,
    state_dir: Path | None,
    expected_pages: int,
    on_slots: Callable[[int, int], None],
) -> LaidOut:
    """Lay the tables out for so many pages, with the blocks and substrings that `plan` recommends.

    Safe while daemons run. Ended at any moment, the next call does the rest: fills the same layout again, or
    another one in its place, or removes what is left of those not in force.

    Args:
        settings: those of the index.
        state_dir: what `dedup --state` keeps; None for the Redis in the settings.
        expected_pages: most pages to be kept.
        on_slots: called with the number of finished hashes of records, and of all.

    Raises:
        ConfigError: there is no such index, it holds more pages, no layout is good for so many, or another
            call is at work, or has become so while this one was paused.
        StoreUnavailable: Redis cannot be reached.
        DependencyLost: it stayed unavailable for longer than `pipeline.retry_deadline_seconds`.
        CorruptData: what is stored is not ours.
    Cost: as `rebuild`; the memory of both layouts until the former one is removed.
    """
    layout = layout_for(expected_pages, settings)
    permuted = layout.config.permuted
    wanted = TableSettings(expected_pages, permuted.blocks, permuted.substrings)
    retries = build_retries(settings, NoMeters())
    async with open_stored_index(settings, state_dir, is_walked=True) as stores:
        if not stores.namespace.is_created:
            raise ConfigError("a former release made this index: start a daemon of this release first")
        lease = stores.tables.lease()
        await retries.retry(lease.take)
        return await lease.hold(_lay_out(stores, wanted, retries, on_slots))


async def _lay_out(
    stores: Stores, wanted: TableSettings, retries: Retries, on_slots: Callable[[int, int], None]
) -> LaidOut:
    tables, counts = stores.tables, Counter[Rebuilt]()
    await retries.retry(tables.learn)
    await retries.retry(tables.read_layouts)
    if not _is_laid_out(tables, tables.state.found.current, wanted):
        number = await _announce(stores, wanted, retries)
        counts = await _fill(stores, number, retries, on_slots)
        await retries.retry(partial(tables.change, number, None))
    elif tables.state.found.filling is not None:
        await retries.retry(partial(tables.change, tables.state.found.current, None))
    current = tables.state.found.current
    removed_count = 0
    for number in tables.layouts.known:
        if number != current:
            removed_count += await retries.retry(partial(tables.remove, number))
    return LaidOut(tables.layouts.tables(current), counts, removed_count)


async def _announce(stores: Stores, wanted: TableSettings, retries: Retries) -> int:
    """Return the number of the layout that is filled from now on."""
    tables = stores.tables
    current, filling = tables.state.found.current, tables.state.found.filling
    if filling is not None and _is_laid_out(tables, filling, wanted):
        return filling
    held = (await retries.retry(stores.usage.measure)).records
    _check_pages(wanted.expected_pages, held, tables.layouts.base.index.expected_pages)
    await retries.retry(partial(tables.add, 0, tables.layouts.tables(0)))
    number = max(tables.layouts.known) + 1
    await retries.retry(partial(tables.add, number, wanted))
    await retries.retry(partial(tables.change, current, number))
    return number


def _check_pages(expected: int, held: int, planned: int) -> None:
    """Refuse fewer pages than the index holds; warn of more than its page records were planned for."""
    if expected < held:
        raise ConfigError(
            f"the index holds some {held} page records: 'rebuild --into' takes at least as many pages,"
            f" and not {expected}"
        )
    if expected > _PACKED_GROWTH * planned:
        log_event(
            _logger,
            "page_record_layout_outgrown",
            level=logging.WARNING,
            expected_pages=expected,
            planned_pages=planned,
            remedy="page records and clusters keep the layout of the index's creation, and take more memory"
            f" above {_PACKED_GROWTH} times its plan: fill a new index instead (docs/upgrading.md)",
        )


async def _fill(
    stores: Stores, number: int, retries: Retries, on_slots: Callable[[int, int], None]
) -> Counter[Rebuilt]:
    """Insert every page into a layout."""
    index = await retries.retry(partial(stores.tables.index, number))
    into = replace(stores.pages, index=index)
    return await fill(into, retries, on_slots)


def _is_laid_out(tables: Tables, number: int, wanted: TableSettings) -> bool:
    """Return whether a layout has the keys and members that the settings give."""
    layouts = tables.layouts
    return is_same_layout(layouts.settings(number), with_tables(layouts.base, wanted))
