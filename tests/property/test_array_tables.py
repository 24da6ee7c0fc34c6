"""Tables in arrays answer as the simplest correct ones do, whatever is inserted, removed and asked."""

import asyncio

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from neardup_stream.stores.arrays.tables import ArrayTables
from neardup_stream.stores.protocol import ProbeAnswer, ProbeLimits, TableEntries, TableMembers
from tests.doubles.tables import MemoryTables

OPEN_BITS = 6

members = st.tuples(
    st.integers(0, 2),  # table: 0 is one of words
    st.integers(0, 1),  # leading byte
    st.integers(0, 127),  # suffix
    st.integers(0, 23),  # handle
    st.integers(0, 2),  # version byte
)
calls = st.lists(
    st.tuples(st.sampled_from(["insert", "insert", "probe", "remove"]), st.lists(members, max_size=25)),
    max_size=12,
)
limits = st.builds(
    ProbeLimits,
    distance_bits=st.integers(0, 6),
    bucket_cap=st.integers(1, 6),
    oversized_considered=st.integers(1, 6),
    oversized_same_suffix=st.integers(1, 3),
    oversized_candidates=st.integers(1, 4),
)


def entries(batch: list[tuple[int, int, int, int, int]]) -> TableEntries:
    """Each page of a batch has rows of its own, of several tables."""
    batch = sorted(batch, key=lambda member: member[3:])
    tables, leading, suffixes, handles, version_bytes = np.array(batch, dtype=np.uint64).reshape(-1, 5).T
    is_word = tables == 0
    open_mask = np.where(is_word, 0, (1 << OPEN_BITS) - 1).astype(np.uint64)
    _, rows = np.unique(handles, return_inverse=True)
    return TableEntries(
        rows=rows.astype(np.uint32),
        members=TableMembers(
            tables=tables.astype(np.uint8),
            leading_bytes=leading.astype(np.uint8),
            buckets=np.zeros(len(batch), np.uint32),
            suffixes=suffixes,
            suffix_bytes=np.where(is_word, 0, 1).astype(np.uint8),
            handles=handles,
            version_bytes=version_bytes.astype(np.uint8),
        ),
        lows=suffixes & ~open_mask,
        highs=suffixes | open_mask,
    )


def found_by(answer: ProbeAnswer) -> tuple[list[tuple[int, ...]], list[int], int]:
    """Return what is found, in any order; the truncated entries; the caps."""
    columns = (answer.entries, *answer.members)
    found = sorted(zip(*(column.tolist() for column in columns), strict=True))
    return found, answer.truncated.tolist(), answer.bucket_cap_hits


@given(calls, limits)
def test_tables_in_arrays_answer_as_those_in_dicts(
    sequence: list[tuple[str, list[tuple[int, int, int, int, int]]]], within: ProbeLimits
) -> None:
    async def answers(store: ArrayTables | MemoryTables) -> list[object]:
        given: list[object] = []
        for call, batch in sequence:
            if call == "remove":
                await store.remove(entries(batch).members)
            elif call == "probe":
                given.append(found_by(await store.probe(entries(batch), within)))
            else:
                given.append(found_by(await store.probe_and_insert(entries(batch), within)))
        named = [member for _, batch in sequence for member in batch]
        return [*given, found_by(await store.probe(entries(named), within))]

    assert asyncio.run(answers(ArrayTables())) == asyncio.run(answers(MemoryTables()))
