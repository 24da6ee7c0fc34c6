"""Implement the reference tables: the simplest correct thing, for tests."""

from bisect import bisect_left, insort
from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import takewhile

import numpy as np

from neardup_stream.stores.protocol import (
    WORD_TURNOVER,
    ProbeAnswer,
    ProbeLimits,
    TableEntries,
    TableMembers,
)

__all__ = ["MemoryTables"]

_Group = tuple[int, int, int, int | None]
"""(table, leading byte, bucket number, word): a bucket, or of a table of words one word of it"""

_Member = tuple[int, int, int]
"""(suffix, handle, version byte): their order is that of the bytes in Redis."""


class MemoryTables:
    """A TableStore in a dict of lists: the members of a bucket sorted, those of a word the oldest first."""

    def __init__(self) -> None:
        self._groups: dict[_Group, list[_Member]] = {}

    async def probe_and_insert(self, entries: TableEntries, limits: ProbeLimits) -> ProbeAnswer:
        """See the contract."""
        return self._run(entries, limits, insert=True)

    async def probe(self, entries: TableEntries, limits: ProbeLimits) -> ProbeAnswer:
        """See the contract."""
        return self._run(entries, limits, insert=False)

    async def remove(self, members: TableMembers) -> None:
        """See the contract."""
        for group, member in zip(_keys(members), _stored(members), strict=True):
            if member in (stored := self._groups.get(group, [])):
                stored.remove(member)

    def groups(self) -> list[list[_Member]]:
        """Return the members of each bucket, and of each word, that is kept."""
        return list(self._groups.values())

    def _run(self, entries: TableEntries, limits: ProbeLimits, *, insert: bool) -> ProbeAnswer:
        found: list[tuple[int, _Member]] = []
        truncated, cap_hits = [], 0
        known: defaultdict[int, set[tuple[int, int]]] = defaultdict(set)
        wanted = zip(
            entries.rows.tolist(),
            _keys(entries.members),
            _stored(entries.members),
            entries.lows.tolist(),
            entries.highs.tolist(),
            strict=True,
        )
        for entry, (row, group, member, low, high) in enumerate(wanted):
            word = group[-1]
            stored = self._groups.get(group, [])
            in_range = _within(stored, low, high) if word is None else stored
            near, is_truncated, is_capped = _meet(in_range, member, limits, known[row])
            found += [(entry, other) for other in near]
            truncated += [entry] * is_truncated
            cap_hits += is_capped
            if insert and member not in stored:
                enter = _enter_bucket if word is None else _enter_word
                enter(self._groups.setdefault(group, []), member, limits)
        return _answer(entries.members, found, truncated, cap_hits)


def _within(stored: list[_Member], low: int, high: int) -> list[_Member]:
    return list(takewhile(lambda other: other[0] <= high, stored[bisect_left(stored, (low, 0, 0)) :]))


def _enter_bucket(bucket: list[_Member], member: _Member, _limits: ProbeLimits) -> None:
    insort(bucket, member)


def _enter_word(word: list[_Member], member: _Member, limits: ProbeLimits) -> None:
    """Add a member; where the word is an oversized bucket, in the place of the oldest or not at all."""
    if len(word) <= limits.bucket_cap:
        word.append(member)
    elif member[1] % WORD_TURNOVER == 0:
        word[:] = [*word[1:], member]


def _meet(
    in_range: list[_Member], member: _Member, limits: ProbeLimits, known: set[tuple[int, int]]
) -> tuple[list[_Member], bool, bool]:
    """Return what an entry finds in its range; whether it is truncated, and by a limit that is counted.

    `known` are the pages that the oversized buckets of this page have given so far.
    """
    if len(in_range) > limits.bucket_cap:
        return _sample(in_range, member, limits, known)
    return (
        [other for other in in_range if other[1] != member[1] and _is_near(other, member, limits)],
        False,
        False,
    )


def _sample(
    oversized: list[_Member], member: _Member, limits: ProbeLimits, known: set[tuple[int, int]]
) -> tuple[list[_Member], bool, bool]:
    if len(known) == limits.oversized_candidates:
        return [], True, True
    near: list[_Member] = []
    considered: Counter[int] = Counter()
    is_truncated = False
    for other in oversized:
        is_near = _is_near(other, member, limits)
        if is_near and other[1] == member[1]:
            continue
        if considered[other[0]] == limits.oversized_same_suffix:
            is_truncated = is_truncated or is_near
            continue
        is_served = is_near and other[1:] not in known and len(known) == limits.oversized_candidates
        if is_served or considered.total() == limits.oversized_considered:
            return near, True, True
        considered[other[0]] += 1
        if is_near:
            near.append(other)
            known.add(other[1:])
    return near, is_truncated, False


def _is_near(one: _Member, other: _Member, limits: ProbeLimits) -> bool:
    return (one[0] ^ other[0]).bit_count() <= limits.distance_bits


def _keys(members: TableMembers) -> Iterator[_Group]:
    suffixes = zip(members.suffixes.tolist(), members.suffix_bytes.tolist(), strict=True)
    return zip(
        members.tables.tolist(),
        members.leading_bytes.tolist(),
        members.buckets.tolist(),
        (None if suffix_bytes else suffix for suffix, suffix_bytes in suffixes),
        strict=True,
    )


def _stored(members: TableMembers) -> Iterator[_Member]:
    return zip(
        members.suffixes.tolist(), members.handles.tolist(), members.version_bytes.tolist(), strict=True
    )


def _answer(
    probing: TableMembers, found: list[tuple[int, _Member]], truncated: list[int], cap_hits: int
) -> ProbeAnswer:
    entries = np.array([entry for entry, _ in found], dtype=np.uint32)
    suffixes, handles, version_bytes = (
        np.array([member for _, member in found], dtype=np.uint64).reshape(-1, 3).T
    )
    return ProbeAnswer(
        entries=entries,
        members=probing.take(entries)._replace(
            suffixes=suffixes, handles=handles, version_bytes=version_bytes.astype(np.uint8)
        ),
        truncated=np.array(truncated, dtype=np.uint32),
        bucket_cap_hits=cap_hits,
    )
