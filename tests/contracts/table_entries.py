"""Entries of tables, and what a store finds for them."""

import numpy as np

from neardup_stream.stores.protocol import ProbeAnswer, ProbeLimits, TableEntries, TableMembers, TableStore

__all__ = ["REST_BYTES", "SAME_REST", "WIDE", "entries", "found", "inserted", "probed", "within"]

REST_BYTES = 7
SAME_REST = 4
WIDE = 1000


def entries(
    *pages: tuple[int, int, int], low_bits: int = 16, leading_byte: int = 0xA5, suffix_bytes: int = REST_BYTES
) -> TableEntries:
    """Entries of one set of table 0: (suffix, handle, version byte) each, ranges ignoring `low_bits`.

    Without low bits the suffixes are words: only equal ones match.
    """
    count = len(pages)
    suffixes, handles, version_bytes = np.array(pages, dtype=np.uint64).reshape(-1, 3).T
    below = np.uint64((1 << low_bits) - 1)
    return TableEntries(
        rows=np.arange(count, dtype=np.uint32),
        members=TableMembers(
            tables=np.zeros(count, dtype=np.uint8),
            leading_bytes=np.full(count, leading_byte, dtype=np.uint8),
            buckets=np.zeros(count, dtype=np.uint32),
            suffixes=suffixes,
            suffix_bytes=np.full(count, suffix_bytes if low_bits else 0, dtype=np.uint8),
            handles=handles,
            version_bytes=version_bytes.astype(np.uint8),
        ),
        lows=suffixes & ~below,
        highs=suffixes | below,
    )


def within(
    distance_bits: int, *, cap: int = 1, considered: int = WIDE, candidates: int = WIDE
) -> ProbeLimits:
    """Return limits that do not bite, unless they are named; a bucket of two members is oversized."""
    return ProbeLimits(distance_bits, cap, considered, SAME_REST, candidates)


def found(answer: ProbeAnswer, probing: TableEntries) -> list[tuple[int, int, int, int]]:
    """(row, handle, version byte, distance) of each member, sorted."""
    distances = np.bitwise_count(answer.members.suffixes ^ probing.members.suffixes[answer.entries])
    columns = (
        probing.rows[answer.entries],
        answer.members.handles,
        answer.members.version_bytes,
        distances,
    )
    return sorted(zip(*(column.tolist() for column in columns), strict=True))


async def inserted(
    store: TableStore, probing: TableEntries, limits: ProbeLimits
) -> list[tuple[int, int, int, int]]:
    """Return what is found while inserting."""
    return found(await store.probe_and_insert(probing, limits), probing)


async def probed(
    store: TableStore, probing: TableEntries, limits: ProbeLimits
) -> list[tuple[int, int, int, int]]:
    """Return what is found without inserting."""
    return found(await store.probe(probing, limits), probing)
