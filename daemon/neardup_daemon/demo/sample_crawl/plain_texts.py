"""Generate plain pages by the hundred thousand, for benchmarks: one language, one size, no markup.

Words are drawn as an array of numbers, a block of pages at a time, and looked up in one array of strings, so
that making the load costs less than carrying it.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from neardup_daemon.demo.sample_crawl.dice import Dice
from neardup_daemon.demo.sample_crawl.grammars import GRAMMARS
from neardup_daemon.demo.sample_crawl.lexicon import build_lexicon

__all__ = ["TextPage", "generate_texts"]

BLOCK_PAGES = 4_096
"""Near-duplicates copy a page of their own block, so they follow it at any distance up to this."""

EDITED_WORDS = 2
SENTENCE_ENDS_PER_HUNDRED_WORDS = 8

WordNumbers = NDArray[np.int64]


class TextPage(NamedTuple):
    """A page of plain text; `near_duplicate_of` is the id of the page it was edited from, or None."""

    id: str
    url: str
    text: str
    near_duplicate_of: str | None


def generate_texts(
    page_count: int, words: int = 560, seed: int = 1, near_duplicate_share: float = 0.2
) -> Iterator[TextPage]:
    """Yield pages of one size, some of them an earlier page with two of its words drawn anew.

    All other pairs of pages share nothing but their language's common words.

    Args:
        page_count: pages in all.
        words: of each page; 560 are about 3.5 KB.
        seed: any int; the same one gives the same pages.
        near_duplicate_share: expected share of near-duplicates, in [0, 1).

    Cost: some 25 µs a page of 560 words, and 20 MB.
    """
    vocabulary = _vocabulary(seed)
    random = np.random.default_rng(seed)
    for first in range(0, page_count, BLOCK_PAGES):
        size = min(BLOCK_PAGES, page_count - first)
        numbers = random.integers(len(vocabulary), size=(size, words))
        copies, sources = _choose_copies(size, near_duplicate_share, random)
        numbers[copies] = numbers[sources]
        edited = random.integers(words, size=(len(copies), EDITED_WORDS))
        numbers[copies[:, None], edited] = random.integers(len(vocabulary), size=edited.shape)
        source_of = dict(zip(copies.tolist(), sources.tolist(), strict=True))
        for place in range(size):
            source = source_of.get(place)
            yield TextPage(
                id=_page_id(first + place),
                url=f"https://load.example/{first + place}",
                text=" ".join(vocabulary[numbers[place]]),
                near_duplicate_of=None if source is None else _page_id(first + source),
            )


def _vocabulary(seed: int) -> NDArray[np.object_]:
    """Return the words to draw from; some have the full stop that ends a sentence."""
    dice = Dice(seed)
    urn = build_lexicon(GRAMMARS[0], dice).urn
    ends = dice.places(len(urn), len(urn) * SENTENCE_ENDS_PER_HUNDRED_WORDS // 100)
    written = list(urn)
    for place in ends:
        written[place] += "."
    return np.array(written, dtype=np.object_)


def _choose_copies(size: int, share: float, random: np.random.Generator) -> tuple[WordNumbers, WordNumbers]:
    """Return the rows that become near-duplicates, and for each an original row before it."""
    is_copy = random.random(size) < share
    is_copy[0] = False
    originals, copies = np.flatnonzero(~is_copy), np.flatnonzero(is_copy)
    originals_before = np.searchsorted(originals, copies)
    sources = originals[(random.random(len(copies)) * originals_before).astype(np.int64)]
    return copies, sources


def _page_id(number: int) -> str:
    return f"page-{number:07}"
