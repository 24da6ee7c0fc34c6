"""Generate crawls of many hosts: articles with edited copies, and unrelated pages. Nothing is kept in memory.

Every page is made from a seed of its own, so a crawl is the same however it is read.
"""

from collections.abc import Iterator
from typing import Literal, NamedTuple, cast, get_args

import numpy as np

from benchmarks.quality.dedup import InputPage
from benchmarks.quality.edits import Vocabulary
from benchmarks.quality.frames.generated_hosts import Host, generate_host, render_page

__all__ = [
    "ARTICLE_WORDS",
    "EDITED_WORDS",
    "ArticlePage",
    "Placement",
    "frame_words_of",
    "generate_articles",
    "generate_unrelated",
    "page_of",
]

ARTICLE_WORDS = 200
EDITED_WORDS = (0, 1, 2, 5, 10, 15)
"""Of the words of an article. Fifteen of 200 is a similarity of .925: all copies are positive."""

UNRELATED_WORDS = (100, 300)
"""Length of unrelated articles, by host, from and to before."""

Placement = Literal["original", "same", "other"]
"""`original`, or where a copy is: `same` host, or `other` host."""

PLACEMENTS: tuple[Placement, ...] = get_args(Placement)

_HOSTS, _ARTICLES, _ORDER = range(3)
"""First numbers of seeds."""


class ArticlePage(NamedTuple):
    """What an id says: which article a page holds, where, and how many of its words are edited."""

    article: int
    placement: Placement
    edited_words: int

    @property
    def id(self) -> str:
        """The id of the page."""
        return f"{self.article}/{self.placement}/{self.edited_words}"


def page_of(page_id: str) -> ArticlePage:
    """Read an id."""
    article, placement, edited_words = page_id.split("/")
    return ArticlePage(int(article), cast("Placement", placement), int(edited_words))


def frame_words_of(article_words: int, frame_share: float) -> int:
    """Return how many words a frame has that is this share of its pages."""
    return round(article_words * frame_share / (1 - frame_share))


def generate_articles(
    host_count: int, articles_per_host: int, frame_share: float, vocabulary: Vocabulary
) -> Iterator[InputPage]:
    """Yield articles, each with a copy on its own host and one on another; a copy follows its original.

    The numbers of edited words take turns on every host. Every other page differs in all but its frame.
    """
    rng = np.random.default_rng(_ORDER)
    hosts = _generate_hosts(host_count, frame_share, vocabulary)
    article_count = host_count * articles_per_host
    times = rng.random((article_count, len(PLACEMENTS)))
    times[:, 1:] = times[:, :1] + times[:, 1:] * (1 - times[:, :1])
    for place in np.argsort(times, axis=None).tolist():
        number, copy = divmod(place, len(PLACEMENTS))
        page = ArticlePage(number, PLACEMENTS[copy], _edited_words(number // host_count) if copy else 0)
        host = hosts[_other_host(number, host_count) if page.placement == "other" else number % host_count]
        yield _rendered(page.id, host, _draw_article(number, copy, page.edited_words, vocabulary))


def generate_unrelated(
    page_count: int, host_count: int, frame_share: float, vocabulary: Vocabulary
) -> Iterator[InputPage]:
    """Yield pages that share nothing but their language and the frames of their hosts, hosts interleaved."""
    rng = np.random.default_rng(_ORDER)
    lengths = rng.integers(*UNRELATED_WORDS, host_count).tolist()
    hosts = [
        generate_host(number, frame_words_of(length, frame_share), vocabulary, _seeded(_HOSTS, number))
        for number, length in enumerate(lengths)
    ]
    for number in range(page_count):
        place = int(rng.integers(host_count))
        words = vocabulary.words[vocabulary.draw(_seeded(_ARTICLES, number), lengths[place])]
        yield _rendered(str(number), hosts[place], words.tolist())


def _generate_hosts(count: int, frame_share: float, vocabulary: Vocabulary) -> list[Host]:
    words = frame_words_of(ARTICLE_WORDS, frame_share)
    return [generate_host(number, words, vocabulary, _seeded(_HOSTS, number)) for number in range(count)]


def _edited_words(place_on_host: int) -> int:
    return EDITED_WORDS[place_on_host % len(EDITED_WORDS)]


def _other_host(article: int, host_count: int) -> int:
    """The host of an article's copy elsewhere: any but its own, and not the same one for all of a host."""
    return (article % host_count + 1 + article // host_count % (host_count - 1)) % host_count


def _draw_article(number: int, copy: int, edited_words: int, vocabulary: Vocabulary) -> list[str]:
    words = vocabulary.draw(_seeded(_ARTICLES, number), ARTICLE_WORDS)
    rng = _seeded(_ARTICLES, number, copy)
    places = rng.permutation(ARTICLE_WORDS)[:edited_words]
    drawn = vocabulary.draw(rng, edited_words)
    words[places] = np.where(drawn == words[places], (drawn + 1) % len(vocabulary.words), drawn)
    written: list[str] = vocabulary.words[words].tolist()
    return written


def _rendered(page_id: str, host: Host, words: list[str]) -> InputPage:
    return InputPage(page_id, f"https://{host.name}/{page_id}", render_page(host, words))


def _seeded(*numbers: int) -> np.random.Generator:
    return np.random.default_rng(numbers)
