"""Generate a site whose pages are mostly frame: a long navigation sidebar around short articles.

At least three quarters of the words of every page are the same on all pages of the site. Its articles are
different pages; three of them have a near-duplicate: a copy, an edited copy, and the article on another site.
"""

from typing import NamedTuple

from neardup_daemon.demo.sample_crawl.articles import write_article, write_sentence
from neardup_daemon.demo.sample_crawl.dice import Dice
from neardup_daemon.demo.sample_crawl.lexicon import Lexicon
from neardup_daemon.demo.sample_crawl.sites import WORDS_FOR_NAMES, Site, article_html, links
from neardup_daemon.demo.sample_crawl.truth import FramedPages, text_of_markup
from neardup_daemon.demo.sample_crawl.variants import VARIANTS, Original, Published
from neardup_daemon.demo.sample_crawl.world import World

__all__ = ["ARTICLE_COUNT", "FRAMED_KINDS", "FramedSite", "build_framed_site", "publish_framed_site"]

ARTICLE_COUNT = 12
FRAMED_KINDS = ("exact copy", "edited re-post (5 words)", "syndicated copy")
"""Relations of the near-duplicates, one page each, each of another article."""

ARTICLE_WORDS = (120, 260)
SITE_NUMBER = 98
"""Above the number of any site of the world, which keeps its host apart."""

MENU_LINKS = 8
SECTIONS = 12
SECTION_LINKS, SECTION_LINK_WORDS = 16, 4
FOOTER_LINKS, FOOTER_LINK_WORDS = 20, 2
NOTICE_SENTENCES, NOTICE_WORDS = 8, 14


class FramedSite(NamedTuple):
    """The pages of the site, and of one near-duplicate elsewhere.

    Attributes:
        site: the site itself.
        originals: different articles.
        near_duplicates: for each, its relation, its original and the page.
    """

    site: Site
    originals: tuple[Original, ...]
    near_duplicates: tuple[tuple[str, Original, Published], ...]

    def truth(self) -> FramedPages:
        """Return what the demo judges a run by."""
        frame = text_of_markup(f"{self.site.before} {self.site.after}")
        return FramedPages(
            host=self.site.host,
            frame_word_count=len(frame.split()),
            articles=tuple(original.page.url for original in self.originals),
            near_duplicates=tuple(page.url for _, _, page in self.near_duplicates),
        )


def publish_framed_site(world: World) -> FramedSite:
    """Write the articles of a new site, and their near-duplicates. Cost: about 5 ms."""
    dice = world.dice
    site = build_framed_site(world.names, dice)
    articles = [write_article(site.lexicon, dice, ARTICLE_WORDS) for _ in range(ARTICLE_COUNT)]
    originals = tuple(
        Original(Published(world.new_url(site), article_html(article, site), site), article)
        for article in articles
    )
    variants = [variant for variant in VARIANTS if variant.kind in FRAMED_KINDS]
    copied = [originals[place] for place in dice.places(ARTICLE_COUNT, len(variants))]
    near_duplicates = tuple(
        (variant.kind, original, variant.make(original, world))
        for variant, original in zip(variants, copied, strict=True)
    )
    return FramedSite(site, originals, near_duplicates)


def build_framed_site(lexicon: Lexicon, dice: Dice) -> Site:
    """Generate the frame: header and footer in landmarks, the navigation sidebar in plain `div` elements.

    Args:
        lexicon: the language of the site, in plain ASCII letters, for the host.
        dice: decides the words.
    """
    label = dice.pick(lexicon.words[WORDS_FOR_NAMES])
    name = f"{label.capitalize()} Reference"
    menu = _items(links(lexicon, MENU_LINKS, 1, dice))
    sections = "".join(_section(lexicon, dice) for _ in range(SECTIONS))
    related = _items(links(lexicon, FOOTER_LINKS, FOOTER_LINK_WORDS, dice))
    notice = "".join(
        f"<p>{write_sentence(tuple(dice.picks(lexicon.words, NOTICE_WORDS)), lexicon.grammar).rstrip()}</p>\n"
        for _ in range(NOTICE_SENTENCES)
    )
    before = (
        f'<body>\n<header><a href="/">{name}</a>\n<nav><ul>{menu}</ul></nav></header>\n'
        f'<div class="columns">\n<div class="left">\n{sections}</div>\n<div class="right">\n'
    )
    footer = f"<footer><ul>{related}</ul>\n{notice}<p>© 2026 {name}</p></footer>"
    after = f"\n</div>\n</div>\n{footer}\n</body></html>\n"
    return Site(f"{label}-reference{SITE_NUMBER}.example", name, lexicon, before, after)


def _section(lexicon: Lexicon, dice: Dice) -> str:
    title = dice.pick(lexicon.words).capitalize()
    items = _items(links(lexicon, SECTION_LINKS, SECTION_LINK_WORDS, dice))
    return f'<div class="group"><div class="group-title">{title}</div><ul>{items}</ul></div>\n'


def _items(texts: list[str]) -> str:
    return "".join(f"<li>{text}</li>" for text in texts)
