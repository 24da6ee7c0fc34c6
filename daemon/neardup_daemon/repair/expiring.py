"""Run one full round of retention now, for `expire`."""

from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

from neardup_daemon.clocks import require_same_time
from neardup_daemon.loop_wiring import build_retries
from neardup_daemon.settings.settings import Settings
from neardup_daemon.stored_index import open_stored_index
from neardup_daemon.sweeping import build_sweeper, retention_config
from neardup_stream.clusters.dead_inputs import drop_dead_inputs
from neardup_stream.meters import NoMeters
from neardup_stream.pipeline.retention import Sweep, Swept

__all__ = ["Expired", "expire_now"]

_SLOTS_A_PASS = 4096
"""Slots between two looks at the time."""


class Expired(NamedTuple):
    """What a round did.

    Attributes:
        counts: how many records had each result.
        dead_inputs: of how many pipes that never come again the decisions were removed.
    """

    counts: Counter[Sweep]
    dead_inputs: int


async def expire_now(
    settings: Settings, state_dir: Path | None, on_slots: Callable[[int, int], None]
) -> Expired:
    """Look at every record once and at every pipe, and remove what is due; safe while daemons run.

    Args:
        settings: those of the index.
        state_dir: what `dedup --state` keeps; None for the Redis in the settings.
        on_slots: called with the number of finished hashes of records, and of all.

    Raises:
        ConfigError: there is no such index, or Redis has another time than this host.
        StoreUnavailable: Redis cannot be reached.
        DependencyLost: it stayed unavailable for longer than `pipeline.retry_deadline_seconds`.
        CorruptData: what is stored is not ours.
    """
    retries = build_retries(settings, NoMeters())
    counts: Counter[Sweep] = Counter()
    async with open_stored_index(settings, state_dir, is_walked=True) as stores:
        slot_count = stores.pages.records.slot_count
        sweeper = build_sweeper(settings, stores)
        for first in range(0, slot_count, _SLOTS_A_PASS):
            now_seconds = await retries.retry(stores.sweep_rounds.now_seconds)
            require_same_time(now_seconds)
            slots = min(_SLOTS_A_PASS, slot_count - first)
            swept = Swept()
            await retries.retry(partial(sweeper.sweep, int(now_seconds), first, slots, swept))
            counts += swept.counts
            on_slots(first + slots, slot_count)
        now_seconds = await retries.retry(stores.sweep_rounds.now_seconds)
        idle_seconds = retention_config(settings.retention).stub_seconds
        dead = partial(drop_dead_inputs, stores.cluster_store, int(now_seconds), idle_seconds)
        return Expired(counts, await retries.retry(dead))
