"""Generate hosts, each with a frame of its own, and pages in it, as HTML.

A frame is lines: a menu, a list at the side and a footer, with the lengths such lines have. Every word is of
the made-up language of `benchmarks.quality.edits`. One host in three marks its frame with nothing but <div>.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

import numpy as np

from benchmarks.quality.edits import Vocabulary

__all__ = ["Host", "generate_host", "render_page"]

MENU_WORDS, SIDE_WORDS, FOOTER_WORDS = (1, 4), (2, 8), (6, 25)
"""Length of a line of each part, from and to before."""

PART_SHARES = (0.25, 0.45, 0.30)
"""Of the words of a frame, by part."""

HEADING_WORDS = 5
PARAGRAPH_WORDS = (25, 70)

_STYLES = (
    (
        "<header><nav><ul>{menu}</ul></nav></header><aside><ul>{side}</ul></aside>",
        "<footer>{footer}</footer>",
    ),
    (
        '<div id="top" role="navigation"><ul>{menu}</ul></div>',
        '<div id="side">{side}</div><footer>{footer}</footer>',
    ),
    ('<div class="a1"><ul>{menu}</ul></div><div class="a2">{side}</div>', '<div class="a3">{footer}</div>'),
)
"""The HTML before the article and after it: in elements that name their role, in a mix, in <div>."""


@dataclass(frozen=True)
class Host:
    """A host and the lines of its frame, as the HTML before and after the article.

    Attributes:
        name: as in its addresses.
        frame_words: how many words both have together.
        before: the HTML before the article.
        after: the HTML after it.
    """

    name: str
    frame_words: int
    before: str
    after: str


def generate_host(number: int, frame_words: int, vocabulary: Vocabulary, rng: np.random.Generator) -> Host:
    """Draw a frame of so many words; hosts take turns with the style of their markup."""
    counts = [int(frame_words * share) for share in PART_SHARES[:2]]
    menu, side = (
        "".join(f'<li><a href="/{place}">{line}</a></li>' for place, line in enumerate(lines))
        for lines in (
            _draw_lines(counts[0], MENU_WORDS, vocabulary, rng),
            _draw_lines(counts[1], SIDE_WORDS, vocabulary, rng),
        )
    )
    lines = _draw_lines(frame_words - sum(counts), FOOTER_WORDS, vocabulary, rng)
    footer = "".join(f"<p>{line}</p>" for line in lines)
    before, after = (
        part.format(menu=menu, side=side, footer=footer) for part in _STYLES[number % len(_STYLES)]
    )
    return Host(f"host{number}.example", frame_words, before, after)


def render_page(host: Host, words: Sequence[str]) -> str:
    """Return a page of a host around the words of an article: a heading, then paragraphs.

    The length of paragraphs depends on the article's length alone, so an edited word moves no line end.
    """
    heading, text = " ".join(words[:HEADING_WORDS]), words[HEADING_WORDS:]
    lengths = _draw_lengths(len(text), PARAGRAPH_WORDS, np.random.default_rng(len(text)))
    ends = accumulate(lengths, initial=0)
    paragraphs = "".join(f"<p>{' '.join(text[first:end])}</p>" for first, end in pairwise(ends))
    body = f"{host.before}<div><h1>{heading}</h1>{paragraphs}</div>{host.after}"
    return f"<!doctype html><html><head><title>{heading}</title></head><body>{body}</body></html>"


def _draw_lines(
    word_count: int, line_words: tuple[int, int], vocabulary: Vocabulary, rng: np.random.Generator
) -> Iterator[str]:
    words = vocabulary.words[vocabulary.draw(rng, word_count)]
    first = 0
    for length in _draw_lengths(word_count, line_words, rng):
        yield " ".join(words[first : first + length])
        first += length


def _draw_lengths(total: int, bounds: tuple[int, int], rng: np.random.Generator) -> list[int]:
    """Draw lengths within the bounds whose sum is `total`; the last one may be shorter."""
    lengths: list[int] = []
    while total:
        lengths.append(min(total, int(rng.integers(*bounds))))
        total -= lengths[-1]
    return lengths
