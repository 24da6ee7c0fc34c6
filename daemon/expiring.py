"""One full round of retention, now: for `expire`."""

from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from time import time

import msgspec

from daemon.settings import Settings
from daemon.stored_index import open_stored_index
from daemon.sweeping import build_sweeper
from daemon.wiring import build_retries
from neardup_stream.meters import NoMeters
from neardup_stream.pipeline.retention import Sweep

__all__ = ["expire_now"]


async def expire_now(
    settings: Settings, state_dir: Path | None, on_slots: Callable[[int, int], None] | None
) -> Counter[Sweep]:
    """Look at every record once, and let go what is due; safe while daemons run, and to repeat.

    Args:
        settings: those of the index.
        state_dir: what `dedup --state` keeps; None for the Redis in the settings.
        on_slots: told how many hashes of records are done, of how many.

    Returns:
        How many records met what.

    Raises:
        ConfigError: there is no such index.
        StoreUnavailable: Redis cannot be reached.
        DependencyLost: it went away and stayed away.
        CorruptData: what is stored is not ours.
    """
    retries = build_retries(settings, NoMeters(), lambda _error: None)
    counts: Counter[Sweep] = Counter()
    async with open_stored_index(settings, state_dir) as stores:
        slot_count = stores.judged.records.slot_count
        sweeper = build_sweeper(_slot_by_slot(settings), stores)
        for done in range(1, slot_count + 1):
            counts += await retries.persist(partial(sweeper.sweep, int(time())))
            if on_slots is not None:
                on_slots(done, slot_count)
    return counts


def _slot_by_slot(settings: Settings) -> Settings:
    """One hash of records a pass, so that so many passes are one round."""
    retention = msgspec.structs.replace(settings.retention, sweep_slots=1)
    return msgspec.structs.replace(settings, retention=retention)
