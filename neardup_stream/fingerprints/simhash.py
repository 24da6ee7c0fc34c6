"""Fingerprint whole batches of pages: simhash, token count, text fingerprint, sketch and bands.

The compiled kernel does the work; this module passes it bytes and an alphabet. Most pages are passed as they
are: the kernel folds case and skips white space itself. A page with characters whose canonical form depends
on their neighbors is canonicalized here and passed again.
"""

import functools
import secrets
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from neardup_stream.fingerprints.sketch import SketchConfig
from neardup_stream.hashing.stable import HASH_NAME
from neardup_stream.kernel_cache import holds_kernel, load_compiled, prepare_kernel_cache
from neardup_stream.text.alphabet import canonical_alphabet, raw_alphabet
from neardup_stream.text.arguments import require_text, whole_number_in
from neardup_stream.text.canonical import fold_characters
from neardup_stream.text.tokens import MAX_TOKEN_CHARACTERS
from neardup_stream.text.unicode_version import UNICODE_VERSION

__all__ = [
    "DEFAULT_WINDOW_TOKENS",
    "MAX_WINDOW_TOKENS",
    "RECENT_WINDOWS",
    "TEXT_MULTIPLIER",
    "Fingerprints",
    "PageLines",
    "SimhashConfig",
    "Views",
    "fingerprint_lines",
    "fingerprint_texts",
    "is_kernel_compiled",
    "line_token_counts",
    "load_kernel",
    "schema_fields",
    "view_lines",
]

MAX_WINDOW_TOKENS = 32
"""The cyclic hash rotates a token's 64 bits by one for each later token: far below 64 they stay distinct."""

DEFAULT_WINDOW_TOKENS = 2
"""Windows of two tokens detect a changed order, and lose little if a word changes."""

RECENT_WINDOWS = 32
"""A window votes unless one of this many windows before it equals it. See docs/decisions/0003."""

TEXT_MULTIPLIER = 0xD1342543DE82EF95
"""Multiplier of the text fingerprint. Odd, and 5 modulo 8, so that its powers have the longest period
(2**62).
"""

_TABLE_KEY = np.uint64(secrets.randbits(64) | 1)
"""Another one in each process that is started, so that no page can be written to fill tables slowly."""

_KERNEL_MODULE = "neardup_stream.fingerprints.kernel"
_KERNEL_SOURCES = (Path(__file__).with_name("kernel.py"),)
_NO_SKETCH = (0, 0, 0, 0)  # tokens to a shingle, bins, bits of a code, bins to a band


@dataclass(frozen=True, slots=True)
class SimhashConfig:
    """Parameters of a fingerprint. Any change gives other fingerprints.

    Attributes:
        window_tokens: consecutive tokens to a feature, 1 to MAX_WINDOW_TOKENS. Larger windows detect a
            changed order and separate templates, and lose more if a word changes.
        min_tokens: a page with fewer is undecided: its fingerprint is not used.

    Raises:
        ConfigError: a number is out of its range.
        TypeError: it is no whole number.
    """

    window_tokens: int = DEFAULT_WINDOW_TOKENS
    min_tokens: int = 10

    def __post_init__(self) -> None:
        whole_number_in("window_tokens", self.window_tokens, 1, MAX_WINDOW_TOKENS)
        whole_number_in("min_tokens", self.min_tokens, 1)


_DEFAULTS = SimhashConfig()


class PageLines(NamedTuple):
    """The tokens of one page and the lines that contain them; lines without tokens are omitted.

    Attributes:
        tokens: hashes, uint64[tokens].
        ends: number of tokens up to the end of each line, int64[lines], ascending.
        hashes: 32 bits over the sequence of tokens of each line, uint32[lines].
    """

    tokens: NDArray[np.uint64]
    ends: NDArray[np.int64]
    hashes: NDArray[np.uint32]

    @property
    def token_counts(self) -> NDArray[np.int64]:
        """Return the number of tokens of each line, int64[lines], from 1."""
        counts = self.ends.copy()
        counts[1:] -= self.ends[:-1]
        return counts

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle as one string of bytes, in a fourth of the time of three arrays."""
        packed = b"".join((self.tokens.tobytes(), self.ends.tobytes(), self.hashes.tobytes()))
        return _unpack_lines, (packed, self.tokens.size, self.ends.size)


def _unpack_lines(packed: bytes, token_count: int, line_count: int) -> PageLines:
    ends_at = token_count * 8
    return PageLines(
        np.frombuffer(packed, np.uint64, token_count),
        np.frombuffer(packed, np.int64, line_count, ends_at),
        np.frombuffer(packed, np.uint32, line_count, ends_at + line_count * 8),
    )


class Fingerprints(NamedTuple):
    """One entry a page, in the order of the pages.

    Attributes:
        fingerprints: simhashes, uint64; not to be used for pages with fewer than `min_tokens` tokens.
        token_counts: int64, from 0.
        text_fingerprints: uint64; equal for equal sequences of tokens, and otherwise only by chance
            (2**-64; not a cryptographic hash, so collisions can be constructed).
        sketches: uint8[pages, sketch_bytes], see `estimate_resemblances`; sketch_bytes is 0 without a sketch.
        shingle_counts: shingles, repeats included, int64; 0 without a sketch.
        bands: uint32[pages, bands], the words that make resembling pages candidates; where a page has no
            shingle they are those of every such page. bands is 0 without a sketch.
    """

    fingerprints: NDArray[np.uint64]
    token_counts: NDArray[np.int64]
    text_fingerprints: NDArray[np.uint64]
    sketches: NDArray[np.uint8]
    shingle_counts: NDArray[np.int64]
    bands: NDArray[np.uint32]


class Views(NamedTuple):
    """Sketches of pages without some of their lines; one entry a page.

    Attributes:
        token_counts: int64, from 0.
        sketches: uint8[pages, sketch_bytes].
        shingle_counts: shingles, repeats included, int64, from 0.
        bands: uint32[pages, bands].
        is_kept_sample: uint8[pages, bins]; 1 where the sample of the whole page's bin is a shingle that is
            left.
    """

    token_counts: NDArray[np.int64]
    sketches: NDArray[np.uint8]
    shingle_counts: NDArray[np.int64]
    bands: NDArray[np.uint32]
    is_kept_sample: NDArray[np.uint8]


def fingerprint_texts(
    texts: Iterable[str], config: SimhashConfig, sketch: SketchConfig | None = None
) -> Fingerprints:
    """Return the fingerprints of visible texts, canonical or not; also sketches and bands if `sketch` is set.

    Two texts with one canonical form have the same fingerprints. The first call of a process loads the
    kernel: 0.3 s, or some 8 s if it must be compiled.

    Cost: 12 µs a page of 3.5 KB, 4 µs more with a sketch, and some 80 µs more if it must be canonicalized
    first. The GIL is released except for that. Scratch memory: up to 33 bytes per byte of the longest page,
    81 with a sketch.

    Raises:
        TypeError: one is no string, or they are one text, not several.
    """
    return _fingerprint(texts, config, sketch, with_lines=False)[0]


def fingerprint_lines(
    texts: Iterable[str], config: SimhashConfig = _DEFAULTS, sketch: SketchConfig | None = None
) -> tuple[Fingerprints, list[PageLines]]:
    """Return also the tokens and lines of each page, which no setting changes. Cost: 3 µs more a page."""
    return _fingerprint(texts, config, sketch, with_lines=True)


def line_token_counts(pages: Sequence[PageLines]) -> NDArray[np.int64]:
    """Return how many tokens each line of these pages has, int64[all lines], from 1; each page has a line."""
    ends = np.concatenate([page.ends for page in pages])
    counts = np.diff(ends, prepend=0)
    line_counts = np.array([page.ends.size for page in pages])
    starts = np.cumsum(line_counts) - line_counts
    counts[starts] = ends[starts]
    return counts


def view_lines(
    pages: Sequence[PageLines], is_kept: Sequence[NDArray[np.bool_]], sketch: SketchConfig
) -> Views:
    """Sketch pages without some lines; bool[lines] a page says which lines stay.

    Cost: 8 µs a page of 500 tokens, and 40 µs a call. The GIL is released.
    """
    views = Views(
        np.empty(len(pages), np.int64),
        np.empty((len(pages), sketch.sketch_bytes), np.uint8),
        np.empty(len(pages), np.int64),
        np.empty((len(pages), sketch.bands), np.uint32),
        np.empty((len(pages), sketch.bins), np.uint8),
    )
    if pages:
        load_kernel().view_pages(
            np.concatenate([page.tokens for page in pages]),
            _offsets([page.tokens.size for page in pages]),
            np.concatenate([page.ends for page in pages]),
            _offsets([page.ends.size for page in pages]),
            np.concatenate(is_kept).view(np.uint8),
            sketch.shingle_tokens,
            sketch.code_bits,
            sketch.band_bins,
            _TABLE_KEY,
            *views,
        )
    return views


def _fingerprint(
    texts: Iterable[str], config: SimhashConfig, sketch: SketchConfig | None, *, with_lines: bool
) -> tuple[Fingerprints, list[PageLines]]:
    texts = _checked(texts)
    result, lines = _run_kernel(texts, raw_alphabet(), config, sketch, with_lines=with_lines)
    unsettled = np.flatnonzero(result.token_counts == load_kernel().UNSETTLED_PAGE)
    if unsettled.size:
        folded = [fold_characters(texts[page]) for page in unsettled.tolist()]
        settled, settled_lines = _run_kernel(
            folded, canonical_alphabet(), config, sketch, with_lines=with_lines
        )
        for field in Fingerprints._fields:
            getattr(result, field)[unsettled] = getattr(settled, field)
        for page, page_lines in zip(unsettled.tolist(), settled_lines, strict=False):
            lines[page] = page_lines
    return result, lines


def _checked(texts: Iterable[str]) -> list[str]:
    if isinstance(texts, str):
        raise TypeError(f"give several texts: [{texts[:20]!r}]")
    checked = list(texts)
    for text in checked:
        require_text(text)
    return checked


def schema_fields(config: SimhashConfig) -> dict[str, str | int]:
    """Return everything that changes a page's fingerprints: part of the identity of stored bytes."""
    return {
        "scheme": "simhash64",
        "token_hash": HASH_NAME,
        "window_tokens": config.window_tokens,
        "min_tokens": config.min_tokens,
        "recent_windows": RECENT_WINDOWS,
        "max_token_characters": MAX_TOKEN_CHARACTERS,
        "unicode": UNICODE_VERSION,
    }


@functools.cache
def load_kernel() -> ModuleType:
    """Return the kernel's module, with its cache directory set before the compiler is first imported.

    Call it at start-up, so that compiling, and its announcement, come before the first page.
    """
    return load_compiled("page", _KERNEL_MODULE, _KERNEL_SOURCES)


def is_kernel_compiled() -> bool:
    """Return whether loading the kernel will not compile it. The choice of its cache directory is made."""
    return holds_kernel(prepare_kernel_cache(_KERNEL_SOURCES))


def _run_kernel(
    texts: Sequence[str],
    alphabet: NDArray[np.int32],
    config: SimhashConfig,
    sketch: SketchConfig | None,
    *,
    with_lines: bool,
) -> tuple[Fingerprints, list[PageLines]]:
    pages = [text.encode("utf-8", "surrogatepass") for text in texts]
    offsets = _offsets([len(page) for page in pages])
    result = _room(len(pages), sketch)
    room = int(offsets[-1]) + len(pages) if with_lines else 0
    tokens, line_counts = np.empty(room, np.uint64), np.empty(len(pages), np.int64)
    line_ends, line_hashes = np.empty(room, np.int64), np.empty(room, np.uint32)
    load_kernel().fingerprint_pages(
        np.frombuffer(b"".join(pages), np.uint8),
        offsets,
        alphabet,
        MAX_TOKEN_CHARACTERS,
        config.window_tokens,
        RECENT_WINDOWS,
        np.uint64(TEXT_MULTIPLIER),
        *(sketch.shingle_tokens, sketch.bins, sketch.code_bits, sketch.band_bins) if sketch else _NO_SKETCH,
        _TABLE_KEY,
        *result,
        tokens,
        line_counts,
        line_ends,
        line_hashes,
    )
    if not with_lines:
        return result, []
    token_offsets = _offsets(np.maximum(result.token_counts, 0)).tolist()
    line_offsets = _offsets(line_counts).tolist()
    return result, [
        PageLines(
            tokens[token_offsets[page] : token_offsets[page + 1]].copy(),
            line_ends[line_offsets[page] : line_offsets[page + 1]].copy(),
            line_hashes[line_offsets[page] : line_offsets[page + 1]].copy(),
        )
        for page in range(len(pages))
    ]


def _offsets(sizes: Sequence[int] | NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the offset of each part, and the end of the last one."""
    offsets = np.zeros(len(sizes) + 1, np.int64)
    np.cumsum(sizes, out=offsets[1:])
    return offsets


def _room(pages: int, sketch: SketchConfig | None) -> Fingerprints:
    """Return empty arrays for the kernel's results."""
    return Fingerprints(
        np.empty(pages, np.uint64),
        np.empty(pages, np.int64),
        np.empty(pages, np.uint64),
        np.empty((pages, sketch.sketch_bytes if sketch else 0), np.uint8),
        np.zeros(pages, np.int64),
        np.empty((pages, sketch.bands if sketch else 0), np.uint32),
    )
