"""A report and its variants: eight records with every outcome that a page can have.

The report and its revision differ in their first and in their last paragraphs, too much to belong together. A
page that has one beginning and the other end is like both, and so connects what was apart. The story is the
same in every crawl.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from neardup_daemon.demo.sample_crawl.articles import Article, edit_article, write_article
from neardup_daemon.demo.sample_crawl.dice import Dice
from neardup_daemon.demo.sample_crawl.grammars import GRAMMARS
from neardup_daemon.demo.sample_crawl.lexicon import build_lexicon
from neardup_daemon.demo.sample_crawl.sites import Site, article_html, build_site
from neardup_daemon.demo.sample_crawl.variants import Published

__all__ = ["EARLIER_PAGES", "STORY_OUTCOMES", "STORY_RECORDS", "StoryRecord", "earlier_pages", "story_pages"]

STORY_SEED = 130
"""Pages whose sketches estimate their true shares well, so that no outcome is close to a threshold."""
SITE_NUMBER = 99
"""Above the number of any other site, which keeps its host apart."""

PARAGRAPHS_REWRITTEN = 2
"""At either end."""
WORDS_EDITED = 2

EARLIER_PAGES = 8
"""Articles that the site has when the story begins. A frame is learned from a site's different pages: on a
site of fewer pages, the paragraphs that report and revision share would be taken for frame."""

STORY_RECORDS = 8
STORY_OUTCOMES = {"unique": 4, "duplicate": 3, "forgotten": 1}


class StoryRecord(NamedTuple):
    """One record of the story.

    Attributes:
        page: as crawled.
        what: the record in a few words.
        is_forgotten: whether it asks to forget the page.
        is_kin: whether the page says what the report says, so that to match it is right.
        is_clustered: whether the page belongs to the one cluster that is left at the end.
    """

    page: Published
    what: str
    is_forgotten: bool = False
    is_kin: bool = True
    is_clustered: bool = False


def story_pages() -> tuple[StoryRecord, ...]:
    """Return the records, in order. Cost: about 15 ms."""
    dice, site = _setting()
    lexicon = site.lexicon
    report, beginning, end, other = (write_article(lexicon, dice) for _ in range(4))
    half_revised = _with_words_of(beginning, report, _first_words(report))
    revision = _with_words_of(end, half_revised, _last_words(report))
    report_page = _page("/report", report, site)
    return (
        StoryRecord(report_page, "a new page"),
        StoryRecord(_page("/report-copy", _edited(report, dice), site), "the report, two words changed"),
        StoryRecord(
            _page("/revision", revision, site),
            "the report, its beginning and its end rewritten",
            is_clustered=True,
        ),
        StoryRecord(
            _page("/revision-copy", _edited(revision, dice), site),
            "the revision, two words changed",
            is_clustered=True,
        ),
        StoryRecord(
            _page("/half-revised", half_revised, site),
            "the revision's beginning, the report's end",
            is_clustered=True,
        ),
        StoryRecord(
            _page("/excerpt", _middle(report), site), "the middle of the report, alone", is_kin=False
        ),
        StoryRecord(_page("/report-copy", other, site), "crawled again, with other content"),
        StoryRecord(report_page, "to be forgotten (a null record)", is_forgotten=True),
    )


def earlier_pages() -> tuple[Published, ...]:
    """Return other articles of the story's site, crawled before the story. Cost: about 10 ms."""
    _, site = _setting()
    dice = Dice(STORY_SEED + 1)
    return tuple(
        _page(f"/earlier-{number}", write_article(site.lexicon, dice), site)
        for number in range(1, EARLIER_PAGES + 1)
    )


def _setting() -> tuple[Dice, Site]:
    """Return the story's site, and the dice that generate the rest of it."""
    dice = Dice(STORY_SEED)
    lexicon = build_lexicon(GRAMMARS[0], dice)
    return dice, build_site(lexicon, lexicon, SITE_NUMBER, dice)


def _page(path: str, article: Article, site: Site) -> Published:
    return Published(f"https://{site.host}{path}", article_html(article, site), site)


def _edited(article: Article, dice: Dice) -> Article:
    return edit_article(article, WORDS_EDITED, dice)


def _with_words_of(source: Article, article: Article, places: slice) -> Article:
    """Return the article with the words at these places replaced by the first ones of another."""
    words = list(article.words)
    words[places] = source.words[: places.stop - places.start]
    return replace(article, words=tuple(words))


def _first_words(article: Article) -> slice:
    return slice(0, _word_count(article.layout[:PARAGRAPHS_REWRITTEN]))


def _last_words(article: Article) -> slice:
    return slice(_word_count(article.layout[:-PARAGRAPHS_REWRITTEN]), len(article.words))


def _middle(article: Article) -> Article:
    """Half of the paragraphs, of those that no revision touches."""
    before = article.layout[:PARAGRAPHS_REWRITTEN]
    layout = article.layout[PARAGRAPHS_REWRITTEN : PARAGRAPHS_REWRITTEN + len(article.layout) // 2]
    start = _word_count(before)
    return replace(article, words=article.words[start : start + _word_count(layout)], layout=layout)


def _word_count(layout: Sequence[Sequence[int]]) -> int:
    return sum(map(sum, layout))
