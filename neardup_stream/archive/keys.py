"""Compute the keys of frozen pages: 64 bits each, of text, bands and fuzzy codes."""

from collections.abc import Sequence
from typing import Final, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from neardup_stream.archive.kernels import load_archive_kernel

__all__ = ["BANDS_ONLY", "KeyKind", "KeyedPage", "PageKeys", "fuzzy_keys", "page_keys"]

KeyKind = Literal["bands", "fuzzy"]
"""What a page is found by beside its text: bands of its sketch, or fuzzy codes of its words."""

BANDS_ONLY: Final[frozenset[KeyKind]] = frozenset({"bands"})

_FUZZY: Final = 3 << 32
"""What a fuzzy key stands for; the number of a scheme is added. See the kernel for the others."""

_WORD_BYTES: Final = 4


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


class PageKeys(NamedTuple):
    """Keys of the pages of a batch.

    Attributes:
        keys: page by page.
        places: of the page that each key is of, ascending.
    """

    keys: NDArray[np.uint64]
    places: NDArray[np.int64]


def page_keys(pages: Sequence[KeyedPage | None]) -> PageKeys:
    """Return the keys of pages, those of each page distinct.

    The text of a page comes before its bands, and its first view before the others.

    Args:
        pages: of a batch; None for a page that is too short to be judged: it has no keys.

    Cost: 0.5 µs a page.
    """
    keyed = [page for page in pages if page is not None]
    views = [view for page in keyed for view in page.views]
    words = np.frombuffer(b"".join(views), ">u4").astype(np.uint32)
    room = len(keyed) + words.size
    keys, places = np.empty(room, np.uint64), np.empty(room, np.int64)
    count = load_archive_kernel().page_keys(
        np.array([page.text_fingerprint for page in keyed], np.uint64),
        np.array([page.scope for page in keyed], np.uint64),
        np.array([len(page.views) for page in keyed], np.int64),
        np.array([len(view) // _WORD_BYTES for view in views], np.int64),
        words,
        np.array([place for place, page in enumerate(pages) if page is not None], np.int64),
        keys,
        places,
    )
    return PageKeys(keys[:count], places[:count])


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
