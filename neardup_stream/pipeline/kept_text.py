"""Compute what an archive may keep of a page's text, where the page is prepared. Pure."""

from collections.abc import Callable
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from neardup_stream.archive.passage_lists import PASSAGES
from neardup_stream.archive.search_tiles import SEARCH
from neardup_stream.archive.texts import TEXTS
from neardup_stream.fingerprints.fuzzy import count_prefixes
from neardup_stream.fingerprints.selective import STORED_SHINGLES, choose_shingles

__all__ = ["NOTHING_KEPT", "PREFIXES", "KeptText", "TextParts", "keep_text"]

PREFIXES: Final = "prefixes"
"""What fuzzy keys of the part `archive` are made of."""

TextParts = frozenset[str]
"""Parts of an archive that are made of texts, as `freeze --with` names them, and PREFIXES."""


class KeptText(NamedTuple):
    """What is kept of a page's text; empty what no part asks for.

    Attributes:
        text: visible, UTF-8, lone surrogates encoded like other code points.
        terms: hashes of its distinct tokens, ascending, uint64 little-endian.
        token_count: tokens of it.
        passages: distinct hashes of its selective fingerprint, uint64 little-endian.
        prefixes: its words by prefix, `PREFIX_COUNT` items.
    """

    text: bytes = b""
    terms: bytes = b""
    token_count: int = 0
    passages: bytes = b""
    prefixes: bytes = b""

    @property
    def decoded(self) -> str:
        """The text, with its lone surrogates."""
        return self.text.decode("utf-8", "surrogatepass")


NOTHING_KEPT = KeptText()

_Keep = Callable[[KeptText, str, NDArray[np.uint64]], KeptText]


def _keep_text(kept: KeptText, text: str, _tokens: NDArray[np.uint64]) -> KeptText:
    return kept._replace(text=text.encode("utf-8", "surrogatepass"))


def _keep_terms(kept: KeptText, _text: str, tokens: NDArray[np.uint64]) -> KeptText:
    return kept._replace(terms=np.unique(tokens).tobytes())


def _keep_passages(kept: KeptText, _text: str, tokens: NDArray[np.uint64]) -> KeptText:
    hashes = np.unique(choose_shingles(tokens, STORED_SHINGLES).hashes)
    return kept._replace(passages=hashes.astype("<u8").tobytes())


def _keep_prefixes(kept: KeptText, text: str, _tokens: NDArray[np.uint64]) -> KeptText:
    return kept._replace(prefixes=count_prefixes(text).tobytes())


_KEEP: dict[str, _Keep] = {
    TEXTS: _keep_text,
    PASSAGES: _keep_passages,
    SEARCH: _keep_terms,
    PREFIXES: _keep_prefixes,
}
"""What a part adds, by its name."""


def keep_text(text: str, tokens: NDArray[np.uint64], parts: TextParts) -> KeptText:
    """Return what these parts keep of a page.

    Args:
        text: visible.
        tokens: hashes of its tokens, uint64.
        parts: asked for; those that are not made of texts keep nothing.
    """
    kept = KeptText(token_count=tokens.size)
    for part, keep in _KEEP.items():
        if part in parts:
            kept = keep(kept, text, tokens)
    return kept
