"""Probe a mapped archive file with compiled code, verifying each 4 KiB page before its first use."""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from neardup_stream.archive.kernel_keys import hash_keys, page_keys
from neardup_stream.archive.kernel_log import pack_block
from neardup_stream.archive.kernel_pages import (
    SOUND,
    check_pages,
    checksum_pages,
    compiled,
    is_new,
    mix,
    signed,
    touch,
    touch_rows,
)
from neardup_stream.archive.kernel_perfect import (
    build_part,
    owned_before,
    owner_of,
    part_slots,
    rank_vertices,
    vertices_of,
)
from neardup_stream.archive.kernel_posts import add_lists
from neardup_stream.archive.kernel_rows import partition_rows
from neardup_stream.archive.units import CHECK_BITS, RANKED_BITS

__all__ = [
    "ABSENT",
    "SOUND",
    "add_lists",
    "build_part",
    "check_bits",
    "check_pages",
    "checksum_pages",
    "expand_posts",
    "hash_keys",
    "pack_block",
    "page_keys",
    "part_slots",
    "partition_rows",
    "probe",
    "rank_vertices",
    "touch_rows",
]

ABSENT = -1
"""The value of a key that no slot has."""

_CHECK = np.uint64(0xD6E8FEB86659FD93)
_CHECK_MASK = np.uint64((1 << CHECK_BITS) - 1)


@njit("void(Array(uint64, 1, 'C', readonly=True), uint64[::1])", nogil=True, cache=True)
def check_bits(keys: NDArray[np.uint64], bits: NDArray[np.uint64]) -> None:
    """Write the CHECK_BITS bits by which a slot knows its key."""
    for i in range(keys.size):
        bits[i] = mix(keys[i] ^ _CHECK) & _CHECK_MASK


@compiled
def _find_vertices(
    words: NDArray[np.uint64],
    checks: NDArray[np.uint32],
    seen: NDArray[np.uint8],
    parts_at: int,
    owners_at: int,
    part_bits: int,
    keys: NDArray[np.uint64],
    parts: NDArray[np.int64],
    vertices: NDArray[np.int64],
) -> int:
    """Write where the part of each key is described, and its vertex; ABSENT in an empty part."""
    for i in range(keys.size):
        key = keys[i]
        row = parts_at + 32 * (signed(key >> np.uint64(64 - part_bits)) if part_bits else 0)
        if is_new(seen, row, row + 32):
            bad = touch(words, checks, seen, row, row + 32)
            if bad != SOUND:
                return bad
        at = row >> 3
        parts[i] = at
        first_vertex, shape = signed(words[at + 1]), words[at + 3]
        seed = signed(shape >> np.uint64(48))
        vertices[i] = ABSENT
        if seed == 0:
            continue
        segments = signed(shape & np.uint64(0xFFFFFFFF))
        segment_bits = signed((shape >> np.uint64(32)) & np.uint64(0xFFFF))
        places = vertices_of(key, seed, segments, segment_bits)
        for vertex in places:
            byte = owners_at + ((first_vertex + vertex) >> 2)
            if is_new(seen, byte, byte + 1):
                bad = touch(words, checks, seen, byte, byte + 1)
                if bad != SOUND:
                    return bad
        vertices[i] = owner_of(words, (owners_at + (first_vertex >> 2)) >> 3, places)
    return SOUND


@compiled
def _find_slots(
    words: NDArray[np.uint64],
    checks: NDArray[np.uint32],
    seen: NDArray[np.uint8],
    owners_at: int,
    ranks_at: int,
    parts: NDArray[np.int64],
    vertices: NDArray[np.int64],
) -> int:
    """Replace each vertex by the slot of its key; ABSENT stays."""
    for i in range(vertices.size):
        at, vertex = parts[i], vertices[i]
        if vertex == ABSENT:
            continue
        first_vertex = signed(words[at + 1])
        byte = ranks_at + ((signed(words[at + 2]) + (vertex >> RANKED_BITS)) << 2)
        if is_new(seen, byte, byte + 4):
            bad = touch(words, checks, seen, byte, byte + 4)
            if bad != SOUND:
                return bad
        begin = owners_at + ((first_vertex + (vertex >> RANKED_BITS << RANKED_BITS)) >> 2)
        end = owners_at + ((first_vertex + vertex) >> 2) + 1
        if is_new(seen, begin, end):
            bad = touch(words, checks, seen, begin, end)
            if bad != SOUND:
                return bad
        rank = signed((words[byte >> 3] >> np.uint64(8 * (byte & 4))) & np.uint64(0xFFFFFFFF))
        first_word = (owners_at + (first_vertex >> 2)) >> 3
        vertices[i] = signed(words[at]) + rank + owned_before(words, first_word, vertex)
    return SOUND


@njit(
    "int64(Array(uint64, 1, 'C', readonly=True), Array(uint32, 1, 'C', readonly=True), uint8[::1],"
    " int64, int64, int64, int64, int64, int64, int64, Array(uint64, 1, 'C', readonly=True), int64[::1])",
    nogil=True,
    cache=True,
)
def probe(
    words: NDArray[np.uint64],
    checks: NDArray[np.uint32],
    seen: NDArray[np.uint8],
    parts_at: int,
    owners_at: int,
    ranks_at: int,
    part_bits: int,
    slots_at: int,
    slot_count: int,
    slot_bits: int,
    keys: NDArray[np.uint64],
    values: NDArray[np.int64],
) -> int:
    """Write the value of each key, or ABSENT where the check of its slot says that it is another key's.

    Each step is done for all keys before the next one, so that the processor waits for the memory of many
    keys at once.
    """
    parts, slots = np.empty(keys.size, np.int64), np.empty(keys.size, np.int64)
    bad = _find_vertices(words, checks, seen, parts_at, owners_at, part_bits, keys, parts, slots)
    if bad == SOUND:
        bad = _find_slots(words, checks, seen, owners_at, ranks_at, parts, slots)
    if bad != SOUND:
        return bad
    value_mask = (np.uint64(1) << np.uint64(slot_bits - CHECK_BITS)) - np.uint64(1)
    for i in range(keys.size):
        values[i] = ABSENT
        slot = slots[i]
        if slot < 0 or slot >= slot_count:
            continue
        bit = slot * slot_bits
        start, end = slots_at + (bit >> 3), slots_at + ((bit + slot_bits + 7) >> 3)
        if is_new(seen, start, end):
            bad = touch(words, checks, seen, start, end)
            if bad != SOUND:
                return bad
        word, shift = (slots_at >> 3) + (bit >> 6), np.uint64(bit & 63)
        item = words[word] >> shift
        if (bit & 63) + slot_bits > 64:
            item |= words[word + 1] << (np.uint64(64) - shift)
        if item & _CHECK_MASK == mix(keys[i] ^ _CHECK) & _CHECK_MASK:
            values[i] = signed((item >> np.uint64(CHECK_BITS)) & value_mask)
    return SOUND


@compiled
def _number(
    data: NDArray[np.uint8],
    words: NDArray[np.uint64],
    checks: NDArray[np.uint32],
    seen: NDArray[np.uint8],
    at: int,
    end: int,
) -> tuple[int, int, int]:
    """Return the LEB128 number at a byte, where the next one begins, and the first damaged page."""
    number = shift = 0
    while at < end and shift < 63:
        bad = touch(words, checks, seen, at, at + 1)
        if bad != SOUND:
            return 0, at, bad
        byte = signed(data[at])
        at += 1
        number |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            break
    return number, at, SOUND


@njit(
    "int64(Array(uint8, 1, 'C', readonly=True), Array(uint64, 1, 'C', readonly=True),"
    " Array(uint32, 1, 'C', readonly=True), uint8[::1], int64, int64, int64, int64,"
    " Array(int64, 1, 'C', readonly=True), Array(int64, 1, 'C', readonly=True), int64[::1], int64[::1],"
    " int64[::1])",
    nogil=True,
    cache=True,
)
def expand_posts(
    data: NDArray[np.uint8],
    words: NDArray[np.uint64],
    checks: NDArray[np.uint32],
    seen: NDArray[np.uint8],
    posts_at: int,
    posts_bytes: int,
    page_count: int,
    most_posts: int,
    values: NDArray[np.int64],
    queries: NDArray[np.int64],
    found: NDArray[np.int64],
    found_for: NDArray[np.int64],
    counts: NDArray[np.int64],
) -> int:
    """Write each page that a value names, and the query that its key belongs to.

    `counts` becomes the number of pages written, and the number of lists of which only a sample is stored.
    """
    count = sampled = 0
    end = posts_at + posts_bytes
    for i in range(values.size):
        value = values[i]
        if value == ABSENT:
            continue
        if value & 1 == 0:
            if value >> 1 < page_count:
                found[count], found_for[count] = value >> 1, queries[i]
                count += 1
            continue
        total, at, bad = _number(data, words, checks, seen, posts_at + (value >> 1), end)
        row = 0
        for _ in range(min(total, most_posts)):
            if bad != SOUND:
                return bad
            gap, at, bad = _number(data, words, checks, seen, at, end)
            row += gap
            if 0 <= row < page_count:
                found[count], found_for[count] = row, queries[i]
                count += 1
        if bad != SOUND:
            return bad
        sampled += total > most_posts
    counts[0], counts[1] = count, sampled
    return SOUND
