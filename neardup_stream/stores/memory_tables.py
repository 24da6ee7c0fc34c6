"""The reference tables: the simplest correct thing, for tests."""

from bisect import bisect_left, bisect_right, insort

import numpy as np

from neardup_stream.stores.protocol import ProbeAnswer, TableEntries

__all__ = ["MemoryTables"]

_LAST_MEMBER = b"\xff" * 9


class MemoryTables:
    """A TableStore in a dict of sorted lists."""

    def __init__(self) -> None:
        self._sets: dict[tuple[int, int, int], list[bytes]] = {}

    async def probe_and_insert(
        self, entries: TableEntries, distance_bits: int, bucket_cap: int
    ) -> ProbeAnswer:
        """See the contract."""
        return self._run(entries, distance_bits, bucket_cap, insert=True)

    async def probe(self, entries: TableEntries, distance_bits: int, bucket_cap: int) -> ProbeAnswer:
        """See the contract."""
        return self._run(entries, distance_bits, bucket_cap, insert=False)

    def _run(
        self, entries: TableEntries, distance_bits: int, bucket_cap: int, *, insert: bool
    ) -> ProbeAnswer:
        found: list[tuple[int, int, int, int]] = []
        cap_hits = 0
        for i, row in enumerate(entries.rows.tolist()):
            key = (int(entries.tables[i]), int(entries.leading_bytes[i]), int(entries.buckets[i]))
            rest = entries.rests[i].tobytes()
            tail = int(entries.handles[i]).to_bytes(8, "big") + bytes([entries.version_bytes[i]])
            members = self._sets.get(key, [])
            first = bisect_left(members, entries.lows[i].tobytes())
            end = bisect_right(members, entries.highs[i].tobytes() + _LAST_MEMBER)
            cap_hits += end - first > bucket_cap
            for other in members[first : min(end, first + bucket_cap)]:
                distance = _distance_bits(rest, other[: len(rest)])
                if distance <= distance_bits and other[-9:-1] != tail[:8]:
                    found.append((row, int.from_bytes(other[-9:-1], "big"), other[-1], distance))
            if insert and rest + tail not in members:
                insort(self._sets.setdefault(key, []), rest + tail)
        rows, handles, version_bytes, distances = zip(*found, strict=True) if found else ((), (), (), ())
        return ProbeAnswer(
            rows=np.array(rows, dtype=np.uint32),
            handles=np.array(handles, dtype=np.uint64),
            version_bytes=np.array(version_bytes, dtype=np.uint8),
            distances_bits=np.array(distances, dtype=np.uint8),
            bucket_cap_hits=cap_hits,
        )


def _distance_bits(a: bytes, b: bytes) -> int:
    return (int.from_bytes(a, "big") ^ int.from_bytes(b, "big")).bit_count()
