"""Fingerprint a batch of pages with compiled code: UTF-8 in, fingerprints and sketches out, in one pass.

A second entry point, `view_pages`, sketches pages without some of their lines.

    bytes ──► letters ──► tokens ──► MurmurHash3 ──► cyclic windows ──► votes ──► 64 bits
    └──────────── _hash_tokens ────────────────┘    _hash_windows   _select   _majority

                                                ┌──► minima of bins ──► codes
    tokens ──► cyclic windows ──► shingles ─────┤      _minimize       _encode_minima
               _hash_windows   _label_repeats   └──► minima of coarse bins ──► none empty ──► band words
                                                       _minimize              _densify      _hash_bands

`tests/reference.py` is the plain definition that the results must equal bit for bit.

More than 350 lines, because it is one compiled unit: the compiler's cache detects changes of this file only,
so it has all compiled code for pages, and imports no other module of the package. Small functions that other
kernels need too, as `_mix`, are copies.

Every number that is hashed is a uint64 from the start: combined with an int64, the compiler would make it a
float.
"""

from collections.abc import Callable
from typing import ParamSpec, TypeVar, cast

import numpy as np
from numba import njit
from numpy.typing import NDArray

__all__ = ["UNSETTLED_PAGE", "fingerprint_pages", "view_pages"]

UNSETTLED_PAGE = -1
"""The token count of a page whose raw text must be canonicalized first."""

_IGNORED = -1  # entries of an alphabet and their flags, see text/alphabet.py
_SOLO = 1 << 24
_UNSETTLED = 1 << 25
_POINT = _SOLO - 1

_C1 = np.uint64(0x87C37B91114253D5)  # MurmurHash3 x64 128
_C2 = np.uint64(0x4CF5AD432745937F)
_ADD1 = np.uint64(0x52DCE729)
_ADD2 = np.uint64(0x38495AB5)
_MIX1 = np.uint64(0xFF51AFD7ED558CCD)
_MIX2 = np.uint64(0xC4CEB9FE1A85EC53)

_LOW_BIT_OF_EACH_BYTE = np.uint64(0x0101010101010101)
_BYTE = np.uint64(0xFF)
_BYTE_BITS = np.uint64(8)
_SLOTS = 256  # of a table that avoids comparisons of windows; does not affect the result
_LAST_SLOT = np.uint64(_SLOTS - 1)
_BYTE_LIMIT = 255
_LINE_FEED = 10

_HIGH_BIT_OF_EACH_BYTE = _LOW_BIT_OF_EACH_BYTE << np.uint64(7)
_LOW_BITS_OF_EACH_BYTE = ~_HIGH_BIT_OF_EACH_BYTE
_BYTE_NUMBERS = np.uint64(0x0001020304050607)  # number k is in byte 7 - k
_UNCLEAR = np.uint8(0x80)
_WORD_BYTES = 8
_READ_AHEAD_BYTES = 24  # behind a page: two words from its last byte on, each read across a boundary
_SAMPLED_BYTE = 16

_NOTHING = np.uint64(0xFFFFFFFFFFFFFFFF)  # in place of a shingle's hash, which is even
_EVEN = _NOTHING - np.uint64(1)
_HALF_BITS = np.uint64(32)

_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")


def _compiled(function: Callable[_Arguments, _Result]) -> Callable[_Arguments, _Result]:
    return cast("Callable[_Arguments, _Result]", njit(function))


def _inlined(function: Callable[_Arguments, _Result]) -> Callable[_Arguments, _Result]:
    return cast("Callable[_Arguments, _Result]", njit(inline="always")(function))


@_inlined
def _rotate(word: np.uint64, bits: int) -> np.uint64:
    return (word << np.uint64(bits)) | (word >> np.uint64(-bits & 63))


@_inlined
def _mix(word: np.uint64) -> np.uint64:
    word = (word ^ (word >> np.uint64(33))) * _MIX1
    word = (word ^ (word >> np.uint64(33))) * _MIX2
    return word ^ (word >> np.uint64(33))


@_inlined
def _scramble_low(low: np.uint64) -> np.uint64:
    return _rotate(low * _C1, 31) * _C2


@_inlined
def _scramble_high(high: np.uint64) -> np.uint64:
    return _rotate(high * _C2, 33) * _C1


@_inlined
def _absorb(h1: np.uint64, h2: np.uint64, low: np.uint64, high: np.uint64) -> tuple[np.uint64, np.uint64]:
    """Return the hash state after one full block of 16 bytes."""
    h1 = (_rotate(h1 ^ _scramble_low(low), 27) + h2) * np.uint64(5) + _ADD1
    h2 = (_rotate(h2 ^ _scramble_high(high), 31) + h1) * np.uint64(5) + _ADD2
    return h1, h2


@_inlined
def _push(
    h1: np.uint64, h2: np.uint64, low: np.uint64, high: np.uint64, length_bytes: int, byte: np.uint64
) -> tuple[np.uint64, np.uint64, np.uint64, np.uint64]:
    """Append a byte after the `length_bytes` before it; hashes the block when it is full."""
    shifted = byte << np.uint64(8 * (length_bytes & 7))
    if length_bytes & 8:
        high |= shifted
    else:
        low |= shifted
    if length_bytes & 15 == 15:
        h1, h2 = _absorb(h1, h2, low, high)
        low = high = np.uint64(0)
    return h1, h2, low, high


@_inlined
def _finish(h1: np.uint64, h2: np.uint64, low: np.uint64, high: np.uint64, length_bytes: int) -> np.uint64:
    """Return the hash after the last block, which is not full, and the length."""
    h1 = h1 ^ _scramble_low(low) ^ np.uint64(length_bytes)
    h2 = h2 ^ _scramble_high(high) ^ np.uint64(length_bytes)
    h1 += h2
    h2 += h1
    return _mix(h1) + _mix(h2)


@_inlined
def _decode(buffer: NDArray[np.uint8], at: int) -> tuple[np.int64, int]:
    """Return the code point whose UTF-8 begins here with a byte above 0x7f, and its length in bytes."""
    lead = np.int64(buffer[at])
    if lead < 0xE0:
        return (lead & 0x1F) << 6 | (buffer[at + 1] & 0x3F), 2
    if lead < 0xF0:
        return (lead & 0x0F) << 12 | np.int64(buffer[at + 1] & 0x3F) << 6 | (buffer[at + 2] & 0x3F), 3
    high = (lead & 0x07) << 18 | np.int64(buffer[at + 1] & 0x3F) << 12
    return high | np.int64(buffer[at + 2] & 0x3F) << 6 | (buffer[at + 3] & 0x3F), 4


@_inlined
def _encode(point: np.int64) -> tuple[np.uint64, int]:
    """Return the UTF-8 of a code point, its first byte lowest, and its length in bytes."""
    if point < 0x80:
        return np.uint64(point), 1
    last = 0x80 | (point & 0x3F)
    if point < 0x800:
        return np.uint64(0xC0 | point >> 6 | last << 8), 2
    middle = 0x80 | (point >> 6 & 0x3F)
    if point < 0x10000:
        return np.uint64(0xE0 | point >> 12 | middle << 8 | last << 16), 3
    second = 0x80 | (point >> 12 & 0x3F)
    return np.uint64(0xF0 | point >> 18 | second << 8 | middle << 16 | last << 24), 4


@_compiled
def _classify_ascii(alphabet: NDArray[np.int32], classes: NDArray[np.uint8]) -> None:
    """Write as what each byte is hashed; 0 if it separates tokens, _UNCLEAR if it alone does not decide."""
    classes[:] = _UNCLEAR
    for byte in range(0x80):
        if 0 <= alphabet[byte] < 0x80:
            classes[byte] = np.uint8(alphabet[byte])


@_compiled
def _classify(page: NDArray[np.uint8], classes: NDArray[np.uint8], letters: NDArray[np.uint8]) -> bool:
    """Write the classes of all bytes, unless a sample of them says that too few are ASCII for it to pay."""
    others = 0
    for i in range(0, page.size, _SAMPLED_BYTE):
        others += page[i] > 0x7F
    if 2 * others * _SAMPLED_BYTE >= page.size:
        return False
    for i in range(page.size):
        letters[i] = classes[page[i]]
    letters[page.size : page.size + _READ_AHEAD_BYTES] = 0
    return True


@_inlined
def _read_word(words: NDArray[np.uint64], at: np.uint64) -> np.uint64:
    """Return the eight bytes from there, the first one lowest."""
    index, shift = at >> np.uint64(3), (at & np.uint64(7)) << np.uint64(3)
    low, high = words[index], words[index + np.uint64(1)]
    return np.uint64((low >> shift) | (high << np.uint64(1) << (np.uint64(63) - shift)))


@_inlined
def _leading_letters(letters: np.uint64) -> tuple[np.uint64, np.uint64, bool]:
    """Return the letters before the first byte that is none, how many, and whether that byte is clear.

    Of eight letters there are eight, and it is clear.
    """
    stops = (~(letters + _LOW_BITS_OF_EACH_BYTE) | letters) & _HIGH_BIT_OF_EACH_BYTE
    if stops == np.uint64(0):
        return letters, np.uint64(_WORD_BYTES), True
    stop = stops & (~stops + np.uint64(1))
    first_bit = stop >> np.uint64(7)
    count = (first_bit * _BYTE_NUMBERS) >> np.uint64(56)
    return letters & (first_bit - np.uint64(1)), count, bool(letters & stop == np.uint64(0))


@_inlined
def _read_token(words: NDArray[np.uint64], at: int) -> tuple[np.uint64, np.uint64, int]:
    """Return the letters of a token as two words, and how many; none of a longer token, or one not clear."""
    first, length, is_clear = _leading_letters(_read_word(words, np.uint64(at)))
    if length < np.uint64(_WORD_BYTES):
        return first, np.uint64(0), int(np.int64(length)) if is_clear else 0
    rest, rest_length, is_clear = _leading_letters(_read_word(words, np.uint64(at + _WORD_BYTES)))
    is_whole = is_clear and rest_length < np.uint64(_WORD_BYTES)
    return first, rest, int(np.int64(length + rest_length)) if is_whole else 0


@_compiled
def _hash_tokens(  # noqa: C901, PLR0912, PLR0915 - one thought: the state of a token is a handful of registers
    page: NDArray[np.uint8],
    alphabet: NDArray[np.int32],
    classes: NDArray[np.uint8],
    max_token_characters: int,
    words: NDArray[np.uint64],
    hashes: NDArray[np.uint64],
    line_ends: NDArray[np.int64],
) -> tuple[int, int]:
    """Write the hash of each token, and for each line the number of tokens up to its end; return both counts.

    A line without tokens does not count. The token count is UNSETTLED_PAGE if the alphabet does not decide.

    The state stays in registers: the current token is (h1, h2) of its full blocks of 16 bytes, the bytes
    since then in `low` and `high`, and its length. A token of up to 15 letters of ASCII, which most are, is
    read as two words of eight.
    """
    letters = words.view(np.uint8)
    reads_words = _classify(page, classes, letters)
    nothing = np.uint64(0)
    past_end = np.int64(alphabet.size - 1)
    h1 = h2 = low = high = nothing
    count = length_bytes = characters = at = line_count = line_start = 0
    while at < page.size:
        if reads_words and characters == 0 and 0 < letters[at] < _UNCLEAR:
            first, rest, length = _read_token(words, at)
            if 0 < length <= max_token_characters:
                hashes[count] = _finish(nothing, nothing, first, rest, length)
                count += 1
                at += length
                continue
        point, size = np.int64(page[at]), 1
        if point > 0x7F:
            point, size = _decode(page, at)
            point = min(point, past_end)
        at += size
        letter = np.int64(alphabet[point])
        if 0 < letter < _SOLO:
            if characters == max_token_characters:
                continue
            characters += 1
            if letter <= 0x7F:
                h1, h2, low, high = _push(h1, h2, low, high, length_bytes, np.uint64(letter))
                length_bytes += 1
                continue
            utf8, size = _encode(letter)
            for _ in range(size):
                h1, h2, low, high = _push(h1, h2, low, high, length_bytes, utf8 & _BYTE)
                utf8 >>= _BYTE_BITS
                length_bytes += 1
            continue
        if letter == _IGNORED:
            continue
        if characters:
            hashes[count] = _finish(h1, h2, low, high, length_bytes)
            count += 1
            h1 = h2 = low = high = nothing
            length_bytes = characters = 0
        if letter >= _UNSETTLED:
            return UNSETTLED_PAGE, 0
        if point == _LINE_FEED and count > line_start:
            line_ends[line_count] = line_start = count
            line_count += 1
        if letter >= _SOLO:
            utf8, size = _encode(letter & _POINT)
            hashes[count] = _finish(nothing, nothing, utf8, nothing, size)
            count += 1
    if characters:
        hashes[count] = _finish(h1, h2, low, high, length_bytes)
        count += 1
    if count > line_start:
        line_ends[line_count] = count
        line_count += 1
    return count, line_count


@_compiled
def _hash_sequence(tokens: NDArray[np.uint64], multiplier: np.uint64) -> np.uint64:
    """Return one word for all tokens in order: a polynomial in the multiplier, combined with the length."""
    total = np.uint64(0)
    for token in tokens:
        total = total * multiplier + token
    return _mix(total ^ _mix(np.uint64(tokens.size)))


@_compiled
def _hash_windows(tokens: NDArray[np.uint64], window: int, windows: NDArray[np.uint64]) -> int:
    """Write the cyclic hash of each window; return how many. Fewer tokens than a window form one window."""
    state = np.uint64(0)
    count = 0
    for i in range(tokens.size):
        state = _rotate(state, 1) ^ tokens[i]
        if i >= window:
            state ^= _rotate(tokens[i - window], window)
        if i >= window - 1:
            windows[count] = state
            count += 1
    if count == 0 and tokens.size > 0:
        windows[0] = state
        return 1
    return count


@_compiled
def _select(windows: NDArray[np.uint64], recent_windows: int, votes: NDArray[np.uint64]) -> int:
    """Write the windows that have no equal among the few before them; return how many."""
    last_seen = np.full(_SLOTS, -recent_windows - 1, np.int64)  # index of the last window in the slot
    count = 0
    for i in range(windows.size):
        window = windows[i]
        slot = window & _LAST_SLOT
        is_new = True
        if i - last_seen[slot] <= recent_windows:
            for j in range(max(0, i - recent_windows), i):
                if windows[j] == window:
                    is_new = False
        last_seen[slot] = i
        votes[count] = window
        count += is_new
    return count


@_compiled
def _majority(votes: NDArray[np.uint64]) -> np.uint64:
    """Return the bits that more than half of the votes have.

    Bits are counted eight at a time: lane i is a word whose bytes count the bits i, i + 8, ... i + 56,
    emptied before a byte can overflow.
    """
    ones = np.zeros(64, np.int64)
    lanes = np.zeros(8, np.uint64)
    for start in range(0, votes.size, _BYTE_LIMIT):
        lanes[:] = 0
        for i in range(start, min(start + _BYTE_LIMIT, votes.size)):
            for lane in range(8):
                lanes[lane] += (votes[i] >> np.uint64(lane)) & _LOW_BIT_OF_EACH_BYTE
        for bit in range(64):
            ones[bit] += np.int64((lanes[bit & 7] >> np.uint64(bit & 56)) & _BYTE)
    fingerprint = np.uint64(0)
    for bit in range(64):
        fingerprint |= np.uint64(2 * ones[bit] > votes.size) << np.uint64(bit)
    return fingerprint


@_inlined
def _share(word: np.uint64, shares: int) -> np.uint64:
    """Return the index of the equal share of the range of words that contains this word."""
    return ((word >> _HALF_BITS) * np.uint64(shares)) >> _HALF_BITS


@_compiled
def _label_repeats(
    windows: NDArray[np.uint64], table: NDArray[np.uint64], repeats: NDArray[np.uint32], table_key: np.uint64
) -> None:
    """Convert windows to shingles, in place; each further occurrence of one gets a hash of its own.

    Only the part of the open-addressing table that these windows need is cleared and used. The key, an odd
    number that no author of pages knows, keeps a page from being written whose shingles all want one slot.
    """
    size, shift = 1, np.uint64(64)
    while size < 2 * windows.size:
        size *= 2
        shift -= np.uint64(1)
    table[:size] = _NOTHING
    last_slot = np.uint64(size - 1)
    for i in range(windows.size):
        shingle = _mix(windows[i]) & _EVEN
        slot = (shingle * table_key) >> shift
        while table[slot] != _NOTHING and table[slot] != shingle:
            slot = (slot + np.uint64(1)) & last_slot
        if table[slot] == _NOTHING:
            table[slot] = shingle
            repeats[slot] = 0
            windows[i] = shingle
        else:
            repeats[slot] += np.uint32(1)
            windows[i] = _mix(shingle + np.uint64(repeats[slot])) & _EVEN


@_compiled
def _minimize(shingles: NDArray[np.uint64], turn_bits: int, minima: NDArray[np.uint64]) -> None:
    """Write the least rotated shingle in each share of the range, or _NOTHING."""
    minima[:] = _NOTHING
    for shingle in shingles:
        turned = _rotate(shingle, turn_bits)
        share = _share(turned, minima.size)
        minima[share] = min(minima[share], turned)


@_compiled
def _encode_minima(minima: NDArray[np.uint64], code_bits: int, sketch: NDArray[np.uint8]) -> None:
    """Write the codes; a byte of a sketch holds one code, or two, the first one lowest."""
    sketch[:] = 0
    for i in range(minima.size):
        if minima[i] != _NOTHING:
            code = np.uint64(1) + _share(_mix(minima[i]), (1 << code_bits) - 1)
            at_bit = i * code_bits
            sketch[at_bit >> 3] |= np.uint8(code << np.uint64(at_bit & 7))


@_compiled
def _densify(minima: NDArray[np.uint64]) -> None:
    """Fill each empty bin with the minimum of the next bin that is not empty, cyclically."""
    following = _NOTHING
    for i in range(2 * minima.size - 1, -1, -1):
        bin_ = i % minima.size
        if minima[bin_] == _NOTHING:
            minima[bin_] = following
        following = minima[bin_]


@_compiled
def _hash_bands(minima: NDArray[np.uint64], bands: NDArray[np.uint32]) -> None:
    """Write the word of each band. Its bins are far apart, because neighbors often hold the same minimum."""
    for band in range(bands.size):
        word = _mix(np.uint64(band + 1))
        for i in range(band, minima.size, bands.size):
            word = _mix(word ^ minima[i])
        bands[band] = np.uint32(word >> _HALF_BITS)


@_compiled
def _band(shingles: NDArray[np.uint64], minima: NDArray[np.uint64], bands: NDArray[np.uint32]) -> None:
    """Write the word of each band; `minima` is scratch, one for each bin of all bands."""
    if minima.size:
        _minimize(shingles, 32, minima)
        _densify(minima)
        _hash_bands(minima, bands)


@njit(
    "void(Array(uint8, 1, 'C', readonly=True), int64[::1], Array(int32, 1, 'C', readonly=True),"
    " int64, int64, int64, uint64, int64, int64, int64, int64, uint64, uint64[::1], int64[::1], uint64[::1],"
    " uint8[:, ::1], int64[::1], uint32[:, ::1], uint64[::1], int64[::1], int64[::1], uint32[::1])",
    nogil=True,
    cache=True,
)
def fingerprint_pages(
    utf8: NDArray[np.uint8],
    offsets: NDArray[np.int64],
    alphabet: NDArray[np.int32],
    max_token_characters: int,
    window: int,
    recent_windows: int,
    multiplier: np.uint64,
    shingle: int,
    bins: int,
    code_bits: int,
    band_bins: int,
    table_key: np.uint64,
    fingerprints: NDArray[np.uint64],
    token_counts: NDArray[np.int64],
    text_fingerprints: NDArray[np.uint64],
    sketches: NDArray[np.uint8],
    shingle_counts: NDArray[np.int64],
    bands: NDArray[np.uint32],
    token_hashes: NDArray[np.uint64],
    line_counts: NDArray[np.int64],
    line_ends: NDArray[np.int64],
    line_hashes: NDArray[np.uint32],
) -> None:
    """Fingerprint a batch of pages, with the GIL released.

    Args:
        utf8: the pages' valid UTF-8, one after the other.
        offsets: where each page begins, and where the last one ends; int64[pages + 1].
        alphabet: the class of each code point, see text/alphabet.py.
        max_token_characters: letters of a token that count, from 1.
        window: tokens to a window, 1 to 63.
        recent_windows: a window votes unless one of this many before it equals it.
        multiplier: of the text fingerprint, odd.
        shingle: tokens to a shingle, 1 to 63; 0 for no sketch.
        bins: of a sketch; ignored without a sketch, like the next two.
        code_bits: 4 or 8.
        band_bins: bins to a band.
        table_key: odd, and unknown to those who write pages; of no effect on results.
        fingerprints: out, uint64[pages]; 0 for a page without tokens.
        token_counts: out, int64[pages]; UNSETTLED_PAGE where the alphabet does not decide: the other
            values are then not written.
        text_fingerprints: out, uint64[pages].
        sketches: out, uint8[pages, bins * code_bits / 8]; not written without a sketch, like the next two.
        shingle_counts: out, int64[pages]; repeats count.
        bands: out, uint32[pages, bands].
        token_hashes: out, of all pages, one page behind the other; uint64[at least a byte each and one a
            page], or of length 0 when neither they nor the lines are wanted.
        line_counts: out, int64[pages]; lines that have a token.
        line_ends: out, of all pages: behind which of its page's tokens each line ends; room like
            `token_hashes`.
        line_hashes: out, 32 bits over the sequence of tokens of each line; room like `token_hashes`.

    Cost: 11 µs for a page of 3.5 KB of ASCII, 16 of other text, and 4 µs more with a sketch. Scratch memory
    of 33 bytes, or 81 with a sketch, per byte of the longest page, of which only what its tokens need is
    touched.
    """
    longest = 0
    for page in range(offsets.size - 1):
        longest = max(longest, offsets[page + 1] - offsets[page])
    tokens = np.empty(longest + 1, np.uint64)
    windows = np.empty(longest + 1, np.uint64)
    votes = np.empty(longest + 1, np.uint64)
    table = np.empty(4 * (longest + 1) if shingle else 0, np.uint64)
    repeats = np.empty(table.size, np.uint32)
    minima = np.empty(bins, np.uint64)
    band_minima = np.empty(bands.shape[1] * band_bins, np.uint64)
    ends = np.empty(longest + 1, np.int64)
    words = np.empty((longest + _READ_AHEAD_BYTES) // _WORD_BYTES + 1, np.uint64)
    classes = np.empty(256, np.uint8)
    _classify_ascii(alphabet, classes)
    token_start = line_start = 0
    for page in range(offsets.size - 1):
        text = utf8[offsets[page] : offsets[page + 1]]
        token_count, line_count = _hash_tokens(
            text, alphabet, classes, max_token_characters, words, tokens, ends
        )
        token_counts[page] = token_count
        line_counts[page] = line_count
        if token_count != UNSETTLED_PAGE:
            text_fingerprints[page] = _hash_sequence(tokens[:token_count], multiplier)
            window_count = _hash_windows(tokens[:token_count], window, windows)
            vote_count = _select(windows[:window_count], recent_windows, votes)
            fingerprints[page] = _majority(votes[:vote_count])
            if shingle:
                shingle_count = _hash_windows(tokens[:token_count], shingle, windows)
                _label_repeats(windows[:shingle_count], table, repeats, table_key)
                shingle_counts[page] = shingle_count
                _minimize(windows[:shingle_count], 0, minima)
                _encode_minima(minima, code_bits, sketches[page])
                _band(windows[:shingle_count], band_minima, bands[page])
            if token_hashes.size:
                token_hashes[token_start : token_start + token_count] = tokens[:token_count]
                line_ends[line_start : line_start + line_count] = ends[:line_count]
                begin = 0
                for line in range(line_count):
                    whole = _hash_sequence(tokens[begin : ends[line]], multiplier)
                    line_hashes[line_start + line] = np.uint32(whole >> _HALF_BITS)
                    begin = ends[line]
                token_start += token_count
                line_start += line_count


@njit(
    "void(Array(uint64, 1, 'C', readonly=True), int64[::1], Array(int64, 1, 'C', readonly=True), int64[::1],"
    " Array(uint8, 1, 'C', readonly=True), int64, int64, int64, uint64,"
    " int64[::1], uint8[:, ::1], int64[::1], uint32[:, ::1], uint8[:, ::1])",
    nogil=True,
    cache=True,
)
def view_pages(
    token_hashes: NDArray[np.uint64],
    token_offsets: NDArray[np.int64],
    line_ends: NDArray[np.int64],
    line_offsets: NDArray[np.int64],
    is_kept: NDArray[np.uint8],
    shingle: int,
    code_bits: int,
    band_bins: int,
    table_key: np.uint64,
    token_counts: NDArray[np.int64],
    sketches: NDArray[np.uint8],
    shingle_counts: NDArray[np.int64],
    bands: NDArray[np.uint32],
    is_kept_sample: NDArray[np.uint8],
) -> None:
    """Sketch what is left of pages when lines are taken out, with the GIL released.

    What is left has those shingles of the page none of whose tokens is in a line that was taken out.

    Args:
        token_hashes: of all pages, as `fingerprint_pages` writes them.
        token_offsets: where each page's tokens begin, and where the last one's end; int64[pages + 1].
        line_ends: of all pages, as `fingerprint_pages` writes them.
        line_offsets: where each page's lines begin, and where the last one's end; int64[pages + 1].
        is_kept: of all lines, 1 for those that stay.
        shingle: tokens to a shingle, 1 to 63.
        code_bits: 4 or 8.
        band_bins: bins to a band.
        table_key: as for `fingerprint_pages`.
        token_counts: out, int64[pages]; tokens that are left.
        sketches: out, uint8[pages, bins * code_bits / 8].
        shingle_counts: out, int64[pages]; how many are left, repeats count.
        bands: out, uint32[pages, bands].
        is_kept_sample: out, uint8[pages, bins]; 1 for each bin of the whole page's sketch whose sample is one
            of the shingles that are left.

    Cost: 8 µs for a page of 500 tokens.
    """
    most_tokens = 0
    for page in range(token_offsets.size - 1):
        most_tokens = max(most_tokens, token_offsets[page + 1] - token_offsets[page])
    windows = np.empty(most_tokens + 1, np.uint64)
    table = np.empty(4 * (most_tokens + 1), np.uint64)
    repeats = np.empty(table.size, np.uint32)
    bins = is_kept_sample.shape[1]
    minima = np.empty(bins, np.uint64)
    whole_minima = np.empty(bins, np.uint64)
    band_minima = np.empty(bands.shape[1] * band_bins, np.uint64)
    for page in range(token_offsets.size - 1):
        tokens = token_hashes[token_offsets[page] : token_offsets[page + 1]]
        whole_count = _hash_windows(tokens, shingle, windows)
        _label_repeats(windows[:whole_count], table, repeats, table_key)
        _minimize(windows[:whole_count], 0, whole_minima)
        token_count = count = begin = run_start = 0
        for line in range(line_offsets[page], line_offsets[page + 1]):
            end = line_ends[line]
            if is_kept[line]:
                token_count += end - begin
            if not is_kept[line] or line + 1 == line_offsets[page + 1]:
                run_end = end if is_kept[line] else begin
                if run_end - run_start >= min(shingle, tokens.size):
                    count += _hash_windows(tokens[run_start:run_end], shingle, windows[count:])
                run_start = end
            begin = end
        token_counts[page] = token_count
        _label_repeats(windows[:count], table, repeats, table_key)
        shingle_counts[page] = count
        _minimize(windows[:count], 0, minima)
        _encode_minima(minima, code_bits, sketches[page])
        for bin_ in range(bins):
            is_kept_sample[page, bin_] = minima[bin_] == whole_minima[bin_] and minima[bin_] != _NOTHING
        _band(windows[:count], band_minima, bands[page])
