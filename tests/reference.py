"""Fingerprint and sketch of a page in plain Python: what the compiled kernel is held to, bit for bit.

Read this to know what a fingerprint is:

    tokens     runs of letters of the canonical text
    features   each window of w consecutive tokens, hashed so that it can roll: the tokens' 64-bit hashes,
               each turned left by one bit for every token after it in the window, and XORed
    votes      one for each window, unless an equal one is among the RECENT_WINDOWS before it: what is
               frequent weighs more, but a word or phrase repeated without end votes once
    bits       those that more than half of the votes have

and what a sketch is:

    shingles   the windows of some more tokens, each window's hash mixed into 63 evenly spread bits; a window
               that occurs again counts again, as a shingle of its own for each further occurrence
    bins       equal shares of the range of hashes; a page's sample in each is the least shingle there
    codes      4 or 8 bits of a sample, mixed anew so that they depend on neither the bin nor the size;
               0 where a bin is empty
    bands      words of the samples of other, coarser bins: shares of the hashes with their halves swapped,
               an empty one filled from the next that is not. A band's bins are far apart, because neighbors
               often hold the same sample. How far a sample was brought need not be stored: which bin it is
               from is in it.

and what lines and views are:

    lines      the tokens between line feeds; a line without tokens is no line. A line's hash is the upper
               half of the fingerprint of its tokens as a text
    view       what is left of a page when some of its lines are taken out: those of its windows that have no
               token in such a line. What occurs again counts again, but only within what is left

A Rabin fingerprint is what `hashing.rabin` says, computed from the definition.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from neardup_stream.fingerprints.simhash import RECENT_WINDOWS, TEXT_MULTIPLIER, SimhashConfig
from neardup_stream.fingerprints.sketch import SketchConfig
from neardup_stream.fingerprints.token_sequence import SequenceDigest, seal, windows
from neardup_stream.hashing.polynomials import remainder
from neardup_stream.hashing.rabin import POLYNOMIAL
from neardup_stream.hashing.stable import MASK64, mix, rotate, token_hash
from neardup_stream.text.canonical import canonicalize, fold_characters
from neardup_stream.text.tokens import split_tokens

__all__ = [
    "Sketch",
    "View",
    "fingerprint_page",
    "hash_line",
    "majority",
    "rabin_fingerprint",
    "sketch_page",
    "split_lines",
    "view_page",
    "votes",
]

_NOTHING = MASK64  # in place of a shingle's hash, which is even


class Sketch(NamedTuple):
    """What is sampled of one page's bag of shingles.

    Attributes:
        codes: of the bins; two codes of 4 bits share a byte, the first one lowest.
        shingle_count: shingles, repeats included, from 0.
        bands: words in [0, 2**32), by the number of the band.
    """

    codes: bytes
    shingle_count: int
    bands: list[int]


class View(NamedTuple):
    """What is left of a page when some of its lines are taken out.

    Attributes:
        token_count: tokens of the lines that stay, from 0.
        sketch: of the windows that are left.
        is_kept_sample: for each bin of the whole page's sketch whether its sample is one of what is left.
    """

    token_count: int
    sketch: Sketch
    is_kept_sample: list[bool]


def fingerprint_page(text: str, config: SimhashConfig) -> SequenceDigest:
    """Return the digest of one visible text. Cost: milliseconds."""
    tokens = _token_hashes(text)
    fingerprint = majority(votes(windows(tokens, config.window_tokens)))
    return SequenceDigest(fingerprint, len(tokens), _hash_sequence(tokens))


def sketch_page(text: str, config: SketchConfig) -> Sketch:
    """Return the sketch of one visible text. Cost: milliseconds."""
    return _sketch(set(_labelled(windows(_token_hashes(text), config.shingle_tokens))), config)


def split_lines(text: str) -> list[list[int]]:
    """Return the token hashes of each line of a visible text that has tokens."""
    lines = [
        [token_hash(token) for token in split_tokens(line)] for line in fold_characters(text).split("\n")
    ]
    return [line for line in lines if line]


def hash_line(tokens: Sequence[int]) -> int:
    """32 bits over the sequence of tokens of a line."""
    return _hash_sequence(tokens) >> 32


def view_page(text: str, is_kept: Sequence[bool], config: SketchConfig) -> View:
    """What is left of one visible text; `is_kept` says for each of its `split_lines` whether it stays."""
    lines = split_lines(text)
    tokens = [token for line in lines for token in line]
    stays = [kept for line, kept in zip(lines, is_kept, strict=True) for _ in line]
    occurring = windows(tokens, config.shingle_tokens)
    left = [
        window for start, window in enumerate(occurring) if all(stays[start : start + config.shingle_tokens])
    ]
    whole, content = set(_labelled(occurring)), set(_labelled(left))
    samples = zip(_minima(whole, config.bins), _minima(content, config.bins), strict=True)
    return View(
        token_count=sum(stays),
        sketch=_sketch(content, config),
        is_kept_sample=[sample == kept != _NOTHING for sample, kept in samples],
    )


def rabin_fingerprint(tokens: Sequence[int], polynomial: int = POLYNOMIAL) -> int:
    """Return the fingerprint of one sequence of token hashes, computed from the definition, in [0, 2**64).

    Leading tokens whose hash is 0 do not change the result.

    Args:
        tokens: in [0, 2**64).
        polynomial: irreducible, of degree 64.

    Cost: microseconds a token.
    """
    bits = 0
    for token in tokens:
        bits = bits << 64 | token
    return remainder(bits, polynomial)


def votes(features: Sequence[int]) -> Iterator[int]:
    """Yield the features that have no equal among the RECENT_WINDOWS before them."""
    for place, feature in enumerate(features):
        if feature not in features[max(0, place - RECENT_WINDOWS) : place]:
            yield feature


def majority(features: Iterator[int]) -> int:
    """Return the bits that more than half of the features have; 0 when there is none."""
    balance = [0] * 64
    for feature in features:
        for bit in range(64):
            balance[bit] += 1 if feature >> bit & 1 else -1
    return sum(1 << bit for bit in range(64) if balance[bit] > 0)


def _hash_sequence(tokens: Iterable[int]) -> int:
    total = count = 0
    for token in tokens:
        total = (total * TEXT_MULTIPLIER + token) & MASK64
        count += 1
    return seal(total, count)


def _sketch(shingles: set[int], config: SketchConfig) -> Sketch:
    codes = [_code(sample, config.code_bits) for sample in _minima(shingles, config.bins)]
    return Sketch(_packed(codes, config.code_bits), len(shingles), _band_words(shingles, config))


def _token_hashes(text: str) -> list[int]:
    return [token_hash(token) for token in split_tokens(canonicalize(text))]


def _labelled(occurring: Sequence[int]) -> Iterator[int]:
    """Yield the shingle of each window, with a hash of its own for each further occurrence."""
    repeats: Counter[int] = Counter()
    for window in occurring:
        shingle = mix(window) & ~1
        yield mix(shingle + repeats[shingle]) & ~1 if repeats[shingle] else shingle
        repeats[shingle] += 1


def _share(word: int, shares: int) -> int:
    """In which of so many equal shares of the range of words it is, by its upper half."""
    return (word >> 32) * shares >> 32


def _minima(words: set[int], shares: int) -> list[int]:
    """Return the least word in each share of the range, or _NOTHING."""
    minima = [_NOTHING] * shares
    for word in words:
        share = _share(word, shares)
        minima[share] = min(minima[share], word)
    return minima


def _code(sample: int, code_bits: int) -> int:
    return 0 if sample == _NOTHING else 1 + _share(mix(sample), (1 << code_bits) - 1)


def _packed(codes: Sequence[int], code_bits: int) -> bytes:
    if code_bits == 8:
        return bytes(codes)
    return bytes(first | second << 4 for first, second in zip(codes[::2], codes[1::2], strict=True))


def _densified(minima: Sequence[int]) -> list[int]:
    """Return each minimum that is _NOTHING replaced by the next that is not, the first following the last."""
    return [
        next((minimum for minimum in [*minima[bin_:], *minima[:bin_]] if minimum != _NOTHING), _NOTHING)
        for bin_ in range(len(minima))
    ]


def _band_words(shingles: set[int], config: SketchConfig) -> list[int]:
    if config.bands == 0:
        return []
    turned = {rotate(shingle, 32) for shingle in shingles}
    minima = _densified(_minima(turned, config.bands * config.band_bins))
    return [_band_word(band, minima[band :: config.bands]) for band in range(config.bands)]


def _band_word(band: int, minima: Sequence[int]) -> int:
    word = mix(band + 1)
    for minimum in minima:
        word = mix(word ^ minimum)
    return word >> 32
