"""Compute the keys of frozen pages: 64 bits each, of text, bands and fuzzy codes."""

from collections.abc import Sequence
from typing import Final, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from neardup_stream.archive.kernels import load_archive_kernel

__all__ = ["BANDS_ONLY", "KeyKind", "KeyedPage", "fuzzy_keys", "page_keys"]

KeyKind = Literal["bands", "fuzzy"]
"""What a page is found by beside its text: bands of its sketch, or fuzzy codes of its words."""

BANDS_ONLY: Final[frozenset[KeyKind]] = frozenset({"bands"})

_KIND_SHIFT: Final = 32
_TEXT: Final = 1 << _KIND_SHIFT
_BAND: Final = 2 << _KIND_SHIFT
_FUZZY: Final = 3 << _KIND_SHIFT
"""What a key stands for; the number of a band, or of a scheme, is added."""

_WORD_BYTES: Final = 4
_LOW_32_BITS: Final = (1 << 32) - 1


class KeyedPage(NamedTuple):
    """What the keys of a page are made of.

    Attributes:
        text_fingerprint: of its sequence of tokens, 64 bits.
        views: the band words of each view of it that is indexed, 4 bytes each, big-endian.
        scope: 64 bits of the scope within which it is compared; 0 for everything.
        prefixes: its words by prefix, for fuzzy keys; empty where they are not known.
    """

    text_fingerprint: int
    views: Sequence[bytes]
    scope: int = 0
    prefixes: bytes = b""


def page_keys(pages: Sequence[KeyedPage | None]) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    """Return the keys of pages, those of each page distinct, and the place of the page that each one is of.

    Args:
        pages: of a batch; None for a page that is too short to be judged: it has no keys.

    Cost: 1 µs a page.
    """
    keyed = [(place, page) for place, page in enumerate(pages) if page is not None]
    owners = np.array([place for place, _ in keyed], np.int64)
    scopes = np.array([page.scope for _, page in keyed], np.uint64)
    texts = np.array([page.text_fingerprint for _, page in keyed], np.uint64) ^ scopes
    of_band, numbers, words = _bands([page.views for _, page in keyed])
    words ^= scopes[of_band] & np.uint64(_LOW_32_BITS)
    # The text of a page stands before its bands.
    text_at = np.searchsorted(of_band, np.arange(owners.size)) + np.arange(owners.size)
    is_band = np.ones(owners.size + words.size, np.bool_)
    is_band[text_at] = False
    salts, values = np.full(is_band.size, _TEXT, np.uint64), np.empty(is_band.size, np.uint64)
    salts[is_band], values[is_band], values[~is_band] = numbers + np.uint64(_BAND), words, texts
    keys = np.empty(values.size, np.uint64)
    load_archive_kernel().hash_keys(salts, values, keys)
    places = np.empty(values.size, np.int64)
    places[is_band], places[~is_band] = owners[of_band], owners
    return keys, places


def _bands(
    pages: Sequence[Sequence[bytes]],
) -> tuple[NDArray[np.int64], NDArray[np.uint64], NDArray[np.uint64]]:
    """Return the page, the number and the word of each band; what two views of a page share comes once."""
    counts = np.array([len(view) // _WORD_BYTES for views in pages for view in views], np.int64)
    owners = np.repeat(
        np.repeat(np.arange(len(pages)), np.array([len(views) for views in pages], np.int64)), counts
    )
    words = np.frombuffer(b"".join([view for views in pages for view in views]), ">u4").astype(np.uint64)
    starts = np.repeat(np.cumsum(counts) - counts, counts)
    numbers = (np.arange(words.size) - starts).astype(np.uint64)
    several = np.array([len(views) > 1 for views in pages], np.bool_)[owners]
    if several.any():
        at = np.flatnonzero(several)
        pairs = np.empty((at.size, 2), np.uint64)
        pairs[:, 0], pairs[:, 1] = owners[at], numbers[at] << np.uint64(32) | words[at]
        is_kept = ~several
        is_kept[at[np.unique(pairs, axis=0, return_index=True)[1]]] = True
        owners, numbers, words = owners[is_kept], numbers[is_kept], words[is_kept]
    return owners, numbers, words


def fuzzy_keys(codes: NDArray[np.uint64], scopes: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return the keys of fuzzy codes, uint64[pages, schemes].

    Args:
        codes: uint64[pages, schemes].
        scopes: of the pages, 0 for everything.
    """
    salts = np.broadcast_to(np.arange(codes.shape[1], dtype=np.uint64) + np.uint64(_FUZZY), codes.shape)
    keys = np.empty(codes.size, np.uint64)
    values = (codes ^ scopes[:, np.newaxis]).reshape(-1)
    load_archive_kernel().hash_keys(np.ascontiguousarray(salts).reshape(-1), values, keys)
    return keys.reshape(codes.shape)
