"""What an archive may keep of a page's text, computed where the page is prepared. Pure."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from neardup_stream.archive.search_tiles import SEARCH
from neardup_stream.archive.texts import TEXTS

__all__ = ["NOTHING_KEPT", "KeptText", "TextParts", "keep_text"]

TextParts = frozenset[str]
"""Parts of an archive that are made of texts, as `freeze --with` names them."""


class KeptText(NamedTuple):
    """What is kept of a page's text; empty what no part asks for.

    Attributes:
        text: visible, UTF-8, lone surrogates encoded like other code points.
        terms: hashes of its distinct tokens, ascending, uint64 little-endian.
    """

    text: bytes = b""
    terms: bytes = b""


NOTHING_KEPT = KeptText()

_Keep = Callable[[str, NDArray[np.uint64]], bytes]


def _whole_text(text: str, _tokens: NDArray[np.uint64]) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _distinct_terms(_text: str, tokens: NDArray[np.uint64]) -> bytes:
    return np.unique(tokens).tobytes()


_KEEP: dict[str, tuple[str, _Keep]] = {
    TEXTS: ("text", _whole_text),
    SEARCH: ("terms", _distinct_terms),
}
"""By the name of a part, the field of `KeptText` that it needs, and what makes that."""


def keep_text(text: str, tokens: NDArray[np.uint64], parts: TextParts) -> KeptText:
    """What these parts keep of a page.

    Args:
        text: visible.
        tokens: hashes of its tokens, uint64.
        parts: asked for; those that are not made of texts keep nothing.
    """
    made = {field: keep(text, tokens) for part, (field, keep) in _KEEP.items() if part in parts}
    return KeptText(**made)
