"""Write and edit articles: words about one topic, cut into sentences and paragraphs.

An article keeps its words apart from its layout (the lengths of its sentences), so that an edit is the
exchange of some words and nothing else: an edit of five words differs in exactly five.
"""

from dataclasses import dataclass, replace

from neardup_daemon.demo.sample_crawl.dice import Dice
from neardup_daemon.demo.sample_crawl.grammars import Grammar
from neardup_daemon.demo.sample_crawl.lexicon import Lexicon

__all__ = ["Article", "edit_article", "headline", "paragraphs", "write_article", "write_sentence"]

SHORTEST_WORDS, LONGEST_WORDS = 400, 800
SHORTEST_SENTENCE_WORDS, LONGEST_SENTENCE_WORDS = 6, 18
SENTENCES_A_PARAGRAPH = (3, 6)
TOPIC_WORDS = 120
TOPIC_REPEATS = 30
"""With 120 words 30 times each beside some 3,700 common draws, half of an article is its own topic's."""
NUMBERS_PER_HUNDRED_WORDS = 2
COMMA_FROM_WORDS = 10


@dataclass(frozen=True, slots=True)
class Article:
    """One text, before any site dresses it.

    Attributes:
        lexicon: its language.
        title: the headline's words.
        words: every word of the body, in order, without punctuation.
        layout: for each paragraph the number of words of each sentence; they sum to len(words).
        published: ISO date.
    """

    lexicon: Lexicon
    title: tuple[str, ...]
    words: tuple[str, ...]
    layout: tuple[tuple[int, ...], ...]
    published: str


def write_article(
    lexicon: Lexicon, dice: Dice, word_counts: tuple[int, int] = (SHORTEST_WORDS, LONGEST_WORDS)
) -> Article:
    """Return a new article, unrelated to any other but for its language's common words.

    Args:
        lexicon: its language.
        dice: decides its words.
        word_counts: fewest and most words of the body.
    """
    pool = lexicon.urn + tuple(dice.picks(lexicon.words, TOPIC_WORDS)) * TOPIC_REPEATS
    word_count = dice.between(*word_counts)
    words = dice.picks(pool, word_count)
    for place in dice.places(word_count, word_count * NUMBERS_PER_HUNDRED_WORDS // 100):
        words[place] = str(dice.between(2, 2_000))
    title = tuple(dice.picks(pool, dice.between(4, 7)))
    published = f"2026-{dice.between(1, 3):02}-{dice.between(1, 28):02}"
    return Article(lexicon, title, tuple(words), _layout(word_count, dice), published)


def edit_article(article: Article, word_count: int, dice: Dice) -> Article:
    """Return the same article with exactly so many words exchanged for others."""
    words = list(article.words)
    for place in dice.places(len(words), word_count):
        words[place] = _another_word(words[place], article.lexicon, dice)
    return replace(article, words=tuple(words))


def headline(article: Article) -> str:
    """Return the title as a reader sees it."""
    return _capitalized(article.lexicon.grammar.space.join(article.title))


def paragraphs(article: Article) -> list[str]:
    """Return the body as a reader sees it: capitals, commas, full stops."""
    grammar, start, written = article.lexicon.grammar, 0, []
    for sentence_lengths in article.layout:
        sentences = []
        for length in sentence_lengths:
            sentences.append(write_sentence(article.words[start : start + length], grammar))
            start += length
        written.append("".join(sentences).rstrip())
    return written


def write_sentence(words: tuple[str, ...], grammar: Grammar) -> str:
    """Return words with a capital, a comma halfway if there are many, and a full stop with a space."""
    space = grammar.space
    if len(words) < COMMA_FROM_WORDS:
        return _capitalized(space.join(words)) + grammar.stop
    middle = len(words) // 2
    return (
        _capitalized(space.join(words[:middle]) + grammar.comma + space.join(words[middle:])) + grammar.stop
    )


def _layout(word_count: int, dice: Dice) -> tuple[tuple[int, ...], ...]:
    """Sentence lengths by paragraph; the last sentence takes what is left."""
    lengths, left = [], word_count
    while left >= LONGEST_SENTENCE_WORDS + SHORTEST_SENTENCE_WORDS:
        lengths.append(dice.between(SHORTEST_SENTENCE_WORDS, LONGEST_SENTENCE_WORDS))
        left -= lengths[-1]
    lengths.append(left)
    layout, start = [], 0
    while start < len(lengths):
        end = start + dice.between(*SENTENCES_A_PARAGRAPH)
        layout.append(tuple(lengths[start:end]))
        start = end
    return tuple(layout)


def _another_word(word: str, lexicon: Lexicon, dice: Dice) -> str:
    while (other := dice.pick(lexicon.words)) == word:
        pass
    return other


def _capitalized(text: str) -> str:
    return text[:1].upper() + text[1:]
