"""Build minimal perfect hash functions: each of n known keys gets a slot of its own, 0 to n - 1.

The keys are cut by their leading bits into parts that are hashed one by one, so that memory is bounded.
In a part a key is an edge of three vertices that lie in three consecutive segments, as in a fuse filter, and
owns one of them (BDZ); its slot is the rank of that vertex among all that are owned. A vertex takes two bits,
and a rank is stored for every 512 of them.

    F. Botelho, R. Pagh, N. Ziviani: Simple and Space-Efficient Minimal Perfect Hash Functions, WADS 2007
    T. M. Graf, D. Lemire: Binary Fuse Filters: Fast and Smaller Than Xor Filters, JEA 2022
"""

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from neardup_stream.archive.kernels import load_archive_kernel
from neardup_stream.archive.units import RANKED_VERTICES
from neardup_stream.errors import InvariantBroken

__all__ = ["PART_BYTES", "HashedPart", "PartHasher", "part_bits_for", "parts_fit"]

_PART = np.dtype(
    [
        ("slot", "<u8"),
        ("vertex", "<u8"),
        ("rank", "<u8"),
        ("segments", "<u4"),
        ("segment_bits", "<u2"),
        ("seed", "<u2"),
    ]
)
"""How a part is described in a file."""
PART_BYTES = _PART.itemsize

_MOST_SEGMENT_BITS = 31

_PART_KEYS = 1 << 19
_MOST_TRIES = 50
_TRIES_AT_ONE_SIZE = 8
_VERTICES_TO_A_WORD = 32


def part_bits_for(key_count: int) -> int:
    """Return how many leading bits of a key select its part, so that a part has at most 2**19 keys."""
    return max(0, (max(key_count, 1) - 1) // _PART_KEYS).bit_length()


def parts_fit(described: NDArray[np.uint8], slot_count: int, vertex_count: int, rank_count: int) -> bool:
    """Return whether all that parts name is there, which compiled code relies on.

    Args:
        described: of all parts, PART_BYTES bytes each.
        slot_count: slots of all parts.
        vertex_count: vertices of all parts.
        rank_count: ranks of all parts.
    """
    parts = described.view(_PART)
    segment_bits, first_vertex, first_rank = parts["segment_bits"], parts["vertex"], parts["rank"]
    is_used = parts["seed"] != 0
    segments = np.where(is_used, parts["segments"] + np.uint64(2), np.uint64(0))
    vertices = segments << np.minimum(segment_bits, _MOST_SEGMENT_BITS).astype(np.uint64)
    ranks = (vertices + np.uint64(RANKED_VERTICES - 1)) // np.uint64(RANKED_VERTICES)
    fit = (
        (segment_bits <= _MOST_SEGMENT_BITS)
        & (parts["slot"] <= slot_count)
        & (first_vertex % np.uint64(_VERTICES_TO_A_WORD) == 0)
        & (first_vertex <= vertex_count)
        & (vertices <= np.uint64(vertex_count) - first_vertex)
        & (first_rank <= rank_count)
        & (ranks <= np.uint64(rank_count) - first_rank)
    )
    return bool(fit.all())


class _Shape(NamedTuple):
    """How the vertices of a part are laid out.

    Attributes:
        segments: those in which the first vertex of a key may be; two more follow.
        segment_bits: vertices to a segment, as a power of two.
    """

    segments: int
    segment_bits: int

    @property
    def vertex_count(self) -> int:
        """Of all segments, rounded up to whole words."""
        vertices = (self.segments + 2) << self.segment_bits
        return -(-vertices // _VERTICES_TO_A_WORD) * _VERTICES_TO_A_WORD


class HashedPart(NamedTuple):
    """One part of the function.

    Attributes:
        description: PART_BYTES bytes: first slot, first vertex, first rank, segments, their bits, seed.
        packed: what the vertices hold, two bits each, uint64.
        ranks: how many vertices are owned before each RANKED_VERTICES of them, uint32.
        slots: the slot of each key, int64.
    """

    description: bytes
    packed: NDArray[np.uint64]
    ranks: NDArray[np.uint32]
    slots: NDArray[np.int64]


class PartHasher:
    """Hashes the parts one after the other, in their order.

    Attributes:
        slot_count: slots so far.
        vertex_count: vertices so far.
    """

    def __init__(self) -> None:
        self._kernel = load_archive_kernel()
        self.slot_count = 0
        self.vertex_count = 0
        self._rank_count = 0

    def add(self, keys: NDArray[np.uint64]) -> HashedPart:
        """Hash the next part.

        Args:
            keys: distinct; none is a part too.

        Cost: 0.3 µs a key.
        """
        if not keys.size:
            return HashedPart(self._description(_Shape(0, 0), 0), *_nothing())
        seed, shape, owners = self._owners(keys)
        packed = np.empty(owners.size // _VERTICES_TO_A_WORD, np.uint64)
        ranks = np.empty(-(-owners.size // RANKED_VERTICES), np.uint32)
        self._kernel.rank_vertices(owners, packed, ranks)
        slots = self._slots(keys, seed, shape, packed, ranks)
        part = HashedPart(self._description(shape, seed), packed, ranks, slots + self.slot_count)
        self.slot_count += keys.size
        self.vertex_count += owners.size
        self._rank_count += ranks.size
        return part

    def _owners(self, keys: NDArray[np.uint64]) -> tuple[int, _Shape, NDArray[np.uint8]]:
        """Return the first seed with which every key owns a vertex, the shape, and what each vertex holds."""
        for seed, shape in enumerate(_shapes(keys.size), start=1):
            owners = np.empty(shape.vertex_count, np.uint8)
            if self._kernel.build_part(keys, seed, shape.segments, shape.segment_bits, owners):
                return seed, shape, owners
        raise InvariantBroken(
            f"no perfect hash of {keys.size} keys in {_MOST_TRIES} tries: are they distinct?"
        )

    def _slots(
        self,
        keys: NDArray[np.uint64],
        seed: int,
        shape: _Shape,
        packed: NDArray[np.uint64],
        ranks: NDArray[np.uint32],
    ) -> NDArray[np.int64]:
        slots = np.empty(keys.size, np.int64)
        self._kernel.part_slots(keys, seed, *shape, packed, ranks, slots)
        return slots

    def _description(self, shape: _Shape, seed: int) -> bytes:
        firsts = self.slot_count, self.vertex_count, self._rank_count
        return np.array((*firsts, shape.segments, shape.segment_bits, seed), _PART).tobytes()


def _shapes(key_count: int) -> Iterator[_Shape]:
    """Yield the shapes to try, the tightest first: 1.14 vertices a key for 2**19 keys, 1.28 for 1,000."""
    log = math.log(max(key_count, 2))
    segment_bits = max(2, math.floor(log / math.log(3.33) + 1.25))
    tightest = round(key_count * (0.99 + 2 / log) / (1 << segment_bits))
    for attempt in range(_MOST_TRIES):
        segments = tightest + attempt // _TRIES_AT_ONE_SIZE
        yield _Shape(max(1, segments - 2), segment_bits)


def _nothing() -> tuple[NDArray[np.uint64], NDArray[np.uint32], NDArray[np.int64]]:
    return np.empty(0, np.uint64), np.empty(0, np.uint32), np.empty(0, np.int64)
