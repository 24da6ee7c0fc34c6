"""The compiled minimal perfect hash: three vertices for each key, one of which is its own.

key ──► part ──► three vertices ──► which of them owns the key ──► its rank = the slot
"""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from neardup_stream.archive.kernel_pages import LANE, compiled, inlined, mix, popcount, signed
from neardup_stream.archive.units import RANKED_BITS, RANKED_VERTICES

__all__ = [
    "build_part",
    "owned_before",
    "owner_of",
    "part_slots",
    "rank_vertices",
    "vertices_of",
]

FREE = 3
"""What a vertex holds that owns no key."""

_MOST_EDGES = 255


@inlined
def vertices_of(key: np.uint64, seed: int, segments: int, segment_bits: int) -> tuple[int, int, int]:
    """Return the three vertices of a key, in three consecutive segments."""
    word = mix(key + np.uint64(seed) * LANE)
    size = 1 << segment_bits
    first = signed(((word >> np.uint64(32)) * np.uint64(segments << segment_bits)) >> np.uint64(32))
    mask = np.uint64(size - 1)
    second = (first + size) ^ signed((word >> np.uint64(16)) & mask)
    third = (first + 2 * size) ^ signed(word & mask)
    return first, second, third


@compiled
def _peel(
    keys: NDArray[np.uint64],
    seed: int,
    segments: int,
    segment_bits: int,
    order: NDArray[np.int64],
    own: NDArray[np.int64],
    vertex_count: int,
) -> int:
    """Write the edges in an order in which each has a vertex that no later one has, and that vertex.

    Returns how many edges there were until no vertex had only one left.
    """
    degrees = np.zeros(vertex_count, np.uint8)
    edges = np.zeros(vertex_count, np.int64)  # the edges at each vertex, by XOR
    for edge in range(keys.size):
        for vertex in vertices_of(keys[edge], seed, segments, segment_bits):
            if degrees[vertex] == _MOST_EDGES:
                return 0
            degrees[vertex] += 1
            edges[vertex] ^= edge
    queue = np.empty(vertex_count, np.int64)
    lonely = np.flatnonzero(degrees == 1)
    waiting = lonely.size
    queue[:waiting] = lonely
    peeled = 0
    while waiting:
        waiting -= 1
        vertex = queue[waiting]
        if degrees[vertex] != 1:
            continue
        edge = edges[vertex]
        order[peeled], own[peeled] = edge, vertex
        peeled += 1
        for other in vertices_of(keys[edge], seed, segments, segment_bits):
            degrees[other] -= 1
            edges[other] ^= edge
            if degrees[other] == 1:
                queue[waiting] = other
                waiting += 1
    return peeled


@njit(
    "boolean(Array(uint64, 1, 'C', readonly=True), int64, int64, int64, uint8[::1])", nogil=True, cache=True
)
def build_part(
    keys: NDArray[np.uint64], seed: int, segments: int, segment_bits: int, owners: NDArray[np.uint8]
) -> bool:
    """Give each key a vertex of its own: one of its three, encoded by the sum of their values.

    Keys are edges of a graph. A vertex with one edge owns it; both are taken out, which leaves others with
    one edge, until none is left (or this seed fails).

    Args:
        keys: distinct.
        seed: from 1.
        segments: in which a key's first vertex may be.
        segment_bits: vertices to a segment, as a power of two.
        owners: for the answer, one a vertex: 0, 1, 2 or FREE.
    """
    order, own = np.empty(keys.size, np.int64), np.empty(keys.size, np.int64)
    if _peel(keys, seed, segments, segment_bits, order, own, owners.size) < keys.size:
        return False
    owners[:] = FREE
    for i in range(keys.size - 1, -1, -1):
        a, b, c = vertices_of(keys[order[i]], seed, segments, segment_bits)
        place = 0 if own[i] == a else 1 if own[i] == b else 2
        rest = owners[a] + owners[b] + owners[c] - owners[own[i]]
        owners[own[i]] = (place - signed(rest) + 3 * FREE) % 3
    return True


@njit("int64(Array(uint8, 1, 'C', readonly=True), uint64[::1], uint32[::1])", nogil=True, cache=True)
def rank_vertices(owners: NDArray[np.uint8], packed: NDArray[np.uint64], ranks: NDArray[np.uint32]) -> int:
    """Pack what vertices hold, 32 to a word; write how many own a key before each RANKED_VERTICES of them."""
    packed[:] = ~np.uint64(0)
    count = 0
    for vertex in range(owners.size):
        if vertex & (RANKED_VERTICES - 1) == 0:
            ranks[vertex >> RANKED_BITS] = np.uint32(count)
        shift = np.uint64(2 * (vertex & 31))
        packed[vertex >> 5] ^= (np.uint64(owners[vertex]) ^ np.uint64(FREE)) << shift
        count += owners[vertex] != FREE
    return count


@inlined
def _owning(word: np.uint64) -> np.uint64:
    """Return how many of 32 packed vertices own a key."""
    free = word & (word >> np.uint64(1)) & np.uint64(0x5555555555555555)
    return np.uint64(32) - popcount(free)


@inlined
def owner_of(words: NDArray[np.uint64], first_word: int, places: tuple[int, int, int]) -> int:
    """Return which of a key's three vertices is its own."""
    total = 0
    for vertex in places:
        total += signed((words[first_word + (vertex >> 5)] >> np.uint64(2 * (vertex & 31))) & np.uint64(3))
    total %= 3
    # Without branches: no processor foresees which one it is.
    return places[0] + (total == 1) * (places[1] - places[0]) + (total == 2) * (places[2] - places[0])


@inlined
def owned_before(words: NDArray[np.uint64], first_word: int, vertex: int) -> int:
    """Return how many vertices own a key among those before a vertex in its block of RANKED_VERTICES."""
    last = first_word + (vertex >> 5)
    count = np.uint64(0)
    for word in range(first_word + (vertex >> RANKED_BITS << RANKED_BITS >> 5), last):
        count += _owning(words[word])
    below = np.uint64(2 * (vertex & 31))
    return signed(count + _owning(words[last] | (~np.uint64(0) << below)))


@njit(
    "void(Array(uint64, 1, 'C', readonly=True), int64, int64, int64, uint64[::1], uint32[::1], int64[::1])",
    nogil=True,
    cache=True,
)
def part_slots(
    keys: NDArray[np.uint64],
    seed: int,
    segments: int,
    segment_bits: int,
    packed: NDArray[np.uint64],
    ranks: NDArray[np.uint32],
    slots: NDArray[np.int64],
) -> None:
    """Write the slot of each key in a part that is in memory."""
    for i in range(keys.size):
        vertex = owner_of(packed, 0, vertices_of(keys[i], seed, segments, segment_bits))
        slots[i] = signed(ranks[vertex >> RANKED_BITS]) + owned_before(packed, 0, vertex)
