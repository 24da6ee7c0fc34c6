"""The compiled lists of passages: sorted (hash, page) entries in blocks of 4 KiB, each found by one look.

    word 0: entries, words of marks │ marks │ items, packed

Entry i of a block has a mark, the bit `high - first high + i`, where `high` are the leading bits of its hash;
the other bits and its page are item i. docs/archive-format.md says it to the last bit.
"""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from neardup_stream.archive.kernel_pages import SOUND, compiled, inlined, popcount, signed, touch
from neardup_stream.archive.units import PAGE_BITS, PAGE_WORDS

__all__ = ["BLOCK_WORDS", "find_entries", "pack_blocks", "read_entries", "unpack_block"]

BLOCK_WORDS = PAGE_WORDS
"""A block is a page of the file."""

_COUNT_MASK = np.uint64(0xFFFF)
_ONE = np.uint64(1)


@inlined
def _item(words: NDArray[np.uint64], begin: int, item_bits: int, number: int) -> np.uint64:
    """Return a packed item; `begin` is the word where the items of the block begin."""
    bit = number * item_bits
    word, shift = begin + (bit >> 6), np.uint64(bit & 63)
    item = words[word] >> shift
    if (bit & 63) + item_bits > 64:
        item |= words[word + 1] << (np.uint64(64) - shift)
    return np.uint64(item & ((_ONE << np.uint64(item_bits)) - _ONE))


@compiled
def _words_needed(entries: int, mark_bits: int, item_bits: int) -> int:
    return 1 + ((mark_bits + 63) >> 6) + ((entries * item_bits + 63) >> 6)


@njit(
    "UniTuple(int64, 2)(Array(uint64, 1, 'C', readonly=True), int64, int64, boolean, uint64[:, ::1],"
    " uint64[::1])",
    nogil=True,
    cache=True,
)
def pack_blocks(
    keys: NDArray[np.uint64],
    page_bits: int,
    low_bits: int,
    is_last: bool,  # noqa: FBT001 - compiled code takes no names
    blocks: NDArray[np.uint64],
    firsts: NDArray[np.uint64],
) -> tuple[int, int]:
    """Write as many blocks as these entries fill, or there is room for; return how many entries and blocks.

    Args:
        keys: of each entry, hash and page: `hash << page_bits | page`; ascending.
        page_bits: of a key.
        low_bits: of a hash, kept in the item.
        is_last: whether the last block may be short.
        blocks: out, zeros.
        firsts: out, the first hash of each block; as many as blocks.
    """
    item_bits = low_bits + page_bits
    start = count = 0
    shift, low_shift = np.uint64(page_bits), np.uint64(page_bits + low_bits)
    item_mask = (_ONE << low_shift) - _ONE
    while start < keys.size and count < blocks.shape[0]:
        first_high = keys[start] >> low_shift
        end, mark_bits = start, 0
        while end < keys.size:
            needed = signed((keys[end] >> low_shift) - first_high) + end - start + 1
            if needed > 64 * BLOCK_WORDS or _words_needed(end - start + 1, needed, item_bits) > BLOCK_WORDS:
                break
            mark_bits = needed
            end += 1
        if end == keys.size and not is_last:
            break
        block = blocks[count]
        mark_words = (mark_bits + 63) >> 6
        block[0] = np.uint64(end - start) | np.uint64(mark_words << 16)
        for i in range(end - start):
            key = keys[start + i]
            mark = signed((key >> low_shift) - first_high) + i
            block[1 + (mark >> 6)] |= _ONE << np.uint64(mark & 63)
            bit = i * item_bits
            word = 1 + mark_words + (bit >> 6)
            block[word] |= (key & item_mask) << np.uint64(bit & 63)
            if (bit & 63) + item_bits > 64:
                block[word + 1] |= (key & item_mask) >> np.uint64(64 - (bit & 63))
        firsts[count] = keys[start] >> shift
        count += 1
        start = end
    return start, count


@njit(
    "int64(Array(uint64, 1, 'C', readonly=True), int64, uint64, int64, int64, uint64[::1])",
    nogil=True,
    cache=True,
)
def unpack_block(
    words: NDArray[np.uint64],
    begin: int,
    first: np.uint64,
    page_bits: int,
    low_bits: int,
    keys: NDArray[np.uint64],
) -> int:
    """Write the keys of all entries of the block that begins at a word; return how many, -1 if it is none."""
    entries, mark_words = (
        signed(words[begin] & _COUNT_MASK),
        signed((words[begin] >> np.uint64(16)) & _COUNT_MASK),
    )
    item_bits = page_bits + low_bits
    if 1 + mark_words + ((entries * item_bits + 63) >> 6) > BLOCK_WORDS:
        return -1
    first_high = first >> np.uint64(low_bits)
    count = 0
    for bit in range(64 * mark_words):
        if count < entries and (words[begin + 1 + (bit >> 6)] >> np.uint64(bit & 63)) & _ONE:
            high = first_high + np.uint64(bit - count)
            item = _item(words, begin + 1 + mark_words, item_bits, count)
            keys[count] = high << np.uint64(item_bits) | item
            count += 1
    return count if count == entries else -1


@compiled
def _first_hash(words: NDArray[np.uint64], firsts_at: int, is_wide: bool, block: int) -> np.uint64:  # noqa: FBT001 - the same
    if is_wide:
        return np.uint64(words[(firsts_at >> 3) + block])
    pair = words[(firsts_at >> 3) + (block >> 1)]
    return np.uint64((pair >> np.uint64(32 * (block & 1))) & np.uint64(0xFFFFFFFF))


@compiled
def _block_before(
    words: NDArray[np.uint64],
    checks: NDArray[np.uint32],
    seen: NDArray[np.uint8],
    firsts_at: int,
    is_wide: bool,  # noqa: FBT001 - the same
    block_count: int,
    wanted: np.uint64,
) -> tuple[int, int]:
    """Return the last block that begins below a hash, or the first one; and the first damaged page."""
    low, high = 0, block_count
    while low < high:
        middle = (low + high) >> 1
        at = firsts_at + (middle << 3 if is_wide else middle << 2)
        bad = touch(words, checks, seen, at, at + 1)
        if bad != SOUND:
            return 0, bad
        if _first_hash(words, firsts_at, is_wide, middle) < wanted:
            low = middle + 1
        else:
            high = middle
    return max(low - 1, 0), SOUND


@compiled
def _run_in_block(
    words: NDArray[np.uint64], begin: int, first: np.uint64, wanted: np.uint64, page_bits: int, low_bits: int
) -> tuple[int, int]:
    """Return the first entry of a block with a hash, and how many have it; -1 if it is no block."""
    entries, mark_words = (
        signed(words[begin] & _COUNT_MASK),
        signed((words[begin] >> np.uint64(16)) & _COUNT_MASK),
    )
    item_bits = page_bits + low_bits
    if 1 + mark_words + ((entries * item_bits + 63) >> 6) > BLOCK_WORDS:
        return 0, -1
    high = signed((wanted >> np.uint64(low_bits)) - (first >> np.uint64(low_bits)))
    if high > 64 * mark_words:
        return 0, 0
    # Behind `high` zeros stand the marks of the entries that have these leading bits.
    zeros = word = 0
    while word < mark_words:
        more = 64 - signed(popcount(words[begin + 1 + word]))
        if zeros + more >= high:
            break
        zeros += more
        word += 1
    bit = 64 * word
    while zeros < high and bit < 64 * mark_words:
        zeros += 1 - signed((words[begin + 1 + (bit >> 6)] >> np.uint64(bit & 63)) & _ONE)
        bit += 1
    low = wanted & ((_ONE << np.uint64(low_bits)) - _ONE)
    number, start, count = bit - high, 0, 0
    while number < entries and bit < 64 * mark_words:
        if not (words[begin + 1 + (bit >> 6)] >> np.uint64(bit & 63)) & _ONE:
            break
        if _item(words, begin + 1 + mark_words, item_bits, number) >> np.uint64(page_bits) == low:
            if count == 0:
                start = number
            count += 1
        number += 1
        bit += 1
    return start, count


@njit(
    "int64(Array(uint64, 1, 'C', readonly=True), Array(uint32, 1, 'C', readonly=True), uint8[::1],"
    " int64, boolean, int64, int64, int64, int64, Array(uint64, 1, 'C', readonly=True), int64[::1],"
    " int64[::1])",
    nogil=True,
    cache=True,
)
def find_entries(
    words: NDArray[np.uint64],
    checks: NDArray[np.uint32],
    seen: NDArray[np.uint8],
    firsts_at: int,
    is_wide: bool,  # noqa: FBT001 - the same
    blocks_at: int,
    block_count: int,
    page_bits: int,
    low_bits: int,
    hashes: NDArray[np.uint64],
    starts: NDArray[np.int64],
    counts: NDArray[np.int64],
) -> int:
    """Write for each hash how many entries have it, and where they begin: block * 65536 + entry.

    Returns the first damaged page, or SOUND.
    """
    for i in range(hashes.size):
        starts[i] = counts[i] = 0
        block, bad = _block_before(words, checks, seen, firsts_at, is_wide, block_count, hashes[i])
        if bad != SOUND:
            return bad
        while block < block_count:
            at = firsts_at + (block << 3 if is_wide else block << 2)
            bad = touch(words, checks, seen, at, at + 1)
            if bad != SOUND:
                return bad
            first = _first_hash(words, firsts_at, is_wide, block)
            if first > hashes[i]:
                break
            at = blocks_at + (block << PAGE_BITS)
            bad = touch(words, checks, seen, at, at + 1)
            if bad != SOUND:
                return bad
            start, count = _run_in_block(words, at >> 3, first, hashes[i], page_bits, low_bits)
            if count < 0:
                return at >> PAGE_BITS
            if count:
                if counts[i] == 0:
                    starts[i] = block << 16 | start
                counts[i] += count
            block += 1
    return SOUND


@njit(
    "int64(Array(uint64, 1, 'C', readonly=True), Array(uint32, 1, 'C', readonly=True), uint8[::1],"
    " int64, int64, int64, Array(int64, 1, 'C', readonly=True), Array(int64, 1, 'C', readonly=True),"
    " int64[::1])",
    nogil=True,
    cache=True,
)
def read_entries(
    words: NDArray[np.uint64],
    checks: NDArray[np.uint32],
    seen: NDArray[np.uint8],
    blocks_at: int,
    page_bits: int,
    low_bits: int,
    starts: NDArray[np.int64],
    counts: NDArray[np.int64],
    pages: NDArray[np.int64],
) -> int:
    """Write the pages of the entries that `find_entries` found; return the first damaged page, or SOUND."""
    item_bits = page_bits + low_bits
    page_mask = (_ONE << np.uint64(page_bits)) - _ONE
    written = 0
    for i in range(starts.size):
        block, number = starts[i] >> 16, starts[i] & 0xFFFF
        left = counts[i]
        while left > 0:
            at = blocks_at + (block << PAGE_BITS)
            bad = touch(words, checks, seen, at, at + 1)
            if bad != SOUND:
                return bad
            begin = at >> 3
            entries = signed(words[begin] & _COUNT_MASK)
            items = begin + 1 + signed((words[begin] >> np.uint64(16)) & _COUNT_MASK)
            while left > 0 and number < entries:
                pages[written] = signed(_item(words, items, item_bits, number) & page_mask)
                written += 1
                number += 1
                left -= 1
            block += 1
            number = 0
    return SOUND
