"""Predicts processor time, and how many Redis masters, daemons and partitions a rate of pages takes."""

from collections.abc import Iterator
from math import ceil, exp, lgamma, log
from typing import Final

import msgspec

from neardup_daemon.capacity.cluster_slot import CLUSTER_MICROSECONDS, slot_warning
from neardup_stream.indexes.layout import IndexLayout

__all__ = ["Cost", "Machines", "cost_per_page", "machines_for", "warnings_of"]

_DAEMON_MICROSECONDS: Final = 163.5
"""Of a daemon for each page, without its text; `benchmarks.end_to_end` measures these."""

_WORD_MICROSECONDS: Final = 0.024
_HTML_BYTE_MICROSECONDS: Final = 0.007
_REDIS_MICROSECONDS: Final = 34.0
"""Of Redis for each page: its record, its decision and its place in the clusters."""

_TABLE_MICROSECONDS: Final = 8.6
_BAND_MICROSECONDS: Final = 3.3

_MEMBER_MICROSECONDS: Final = 0.5
"""Of each member of a range that a probe reads; they are compared one by one."""

_COMMANDS: Final = 7.2
"""Of Redis for each page: its record, its decision, its place, and its share of the calls of a batch."""

_TABLE_COMMANDS: Final = 2
_LONG_RANGE: Final = 16
"""Members from which on a range is counted and read whole, by `_LONG_RANGE_COMMANDS` more."""

_LONG_RANGE_COMMANDS: Final = 2
_BAND_COMMANDS: Final = 1
_MET_BAND_COMMANDS: Final = 0.7
"""More for each band of a page in a cluster, on average: of two, the second one meets the first."""

_BUSY_SHARE: Final = 0.6
"""Of a core, so that a backlog is worked off and a failed machine's share is carried."""

_FULL_SHARE: Final = 0.7
"""Of a Redis master's memory: the rest is for fragmentation, replication and late expiry."""

_SHARDS_PER_MASTER: Final = 4
_MOST_SHARDS: Final = 256
_PARTITIONS_PER_DAEMON: Final = 2
_GIB: Final = 1 << 30


class Cost(msgspec.Struct, frozen=True):
    """What a page takes.

    Attributes:
        daemon: microseconds of one core of a daemon.
        redis: microseconds of one core, over all masters.
        commands: that Redis runs, those within scripts included.
    """

    daemon: float
    redis: float
    commands: float


class Machines(msgspec.Struct, frozen=True):
    """What carries the load.

    Attributes:
        masters: of Redis.
        masters_for_memory: that the memory alone takes.
        masters_for_time: that the processor time alone takes.
        daemons: processes, one core each.
        partitions: of the pages topic.
        shards: `index.shards`.
    """

    masters: int
    masters_for_memory: int
    masters_for_time: int
    daemons: int
    partitions: int
    shards: int


def cost_per_page(
    layout: IndexLayout, *, range_entries: float, words: float, html_bytes: float, linked_share: float
) -> Cost:
    """Predict the commands of a page, and its processor time on a core like that of docs/performance.md.

    Args:
        layout: of the index.
        range_entries: that a probe of a permuted table reads on average.
        words: of an average page.
        html_bytes: of its markup; 0 for pages that arrive as text.
        linked_share: of the pages, those that are in a cluster with others, in [0, 1].
    """
    table_commands = _TABLE_COMMANDS + _LONG_RANGE_COMMANDS * _share_at_least(_LONG_RANGE, range_entries)
    band_commands = _BAND_COMMANDS + linked_share * _MET_BAND_COMMANDS
    return Cost(
        daemon=_DAEMON_MICROSECONDS + words * _WORD_MICROSECONDS + html_bytes * _HTML_BYTE_MICROSECONDS,
        redis=_REDIS_MICROSECONDS
        + len(layout.tables) * (_TABLE_MICROSECONDS + range_entries * _MEMBER_MICROSECONDS)
        + layout.config.bands * _BAND_MICROSECONDS,
        commands=_COMMANDS + len(layout.tables) * table_commands + layout.config.bands * band_commands,
    )


def machines_for(cost: Cost, pages_per_second: float, index_bytes: float, master_bytes: float) -> Machines:
    """Return how many of each are needed.

    Args:
        cost: of a page.
        pages_per_second: to be carried on average.
        index_bytes: of the whole index, without replicas.
        master_bytes: memory of one Redis master.
    """
    for_memory = max(1, ceil(index_bytes / (master_bytes * _FULL_SHARE)))
    for_time = max(1, ceil(pages_per_second * cost.redis / 1e6 / _BUSY_SHARE))
    masters = max(for_memory, for_time)
    daemons = max(1, ceil(pages_per_second * cost.daemon / 1e6 / _BUSY_SHARE))
    return Machines(
        masters=masters,
        masters_for_memory=for_memory,
        masters_for_time=for_time,
        daemons=daemons,
        partitions=_PARTITIONS_PER_DAEMON * daemons,
        shards=min(_MOST_SHARDS, max(16, _power_of_two(_SHARDS_PER_MASTER * masters))),
    )


def warnings_of(
    machines: Machines,
    cost: Cost,
    pages_per_second: float,
    index_bytes: float,
    clusters_bytes: float,
    master_bytes: float,
) -> Iterator[str]:
    """Yield what such machines cannot carry however many there are, or not if they share it evenly.

    Args:
        machines: that are planned.
        cost: of a page.
        pages_per_second: to be carried on average.
        index_bytes: of the whole index, without replicas.
        clusters_bytes: of them, the cells of clusters, which are on one master.
        master_bytes: memory of one Redis master.
    """
    warning = slot_warning(
        gib=(clusters_bytes / _GIB, index_bytes / _GIB, master_bytes * _FULL_SHARE / _GIB),
        cores=(
            pages_per_second * CLUSTER_MICROSECONDS / 1e6,
            pages_per_second * cost.redis / 1e6,
            _BUSY_SHARE,
        ),
        masters=machines.masters,
        shards=machines.shards,
    )
    if warning:
        yield warning
    if machines.shards < _SHARDS_PER_MASTER * machines.masters:
        yield (
            f"{machines.shards} shards are the most, and masters are filled evenly with"
            f" {_SHARDS_PER_MASTER} or more each: take {machines.shards // _SHARDS_PER_MASTER} larger ones"
        )


def _share_at_least(least: int, mean: float) -> float:
    """Return the share of ranges that have so many members or more, if pages are spread by chance."""
    fewer = (exp(count * log(mean) - mean - lgamma(count + 1)) for count in range(least))
    return 1 - sum(fewer)


def _power_of_two(least: int) -> int:
    """Return the smallest power of two that is at least this."""
    return 1 << (least - 1).bit_length()
