"""Generate sites: the navigation and boilerplate around an article, the same on every page.

Two styles of markup: elements that say what they are (`nav`, `article`, `footer`), and the older kind that is
all `div` with class names. Chrome is modest, some twenty words, as on a site of letters rather than a portal.
"""

from dataclasses import dataclass

from neardup_daemon.demo.sample_crawl.articles import Article, headline, paragraphs, write_sentence
from neardup_daemon.demo.sample_crawl.dice import Dice
from neardup_daemon.demo.sample_crawl.lexicon import Lexicon

__all__ = ["WORDS_FOR_NAMES", "Site", "article_html", "build_site", "links", "print_html", "site_html"]

MENU_LINKS = 4
SIDEBAR_LINKS = 2
SIDEBAR_LINK_WORDS = 2
COOKIE_WORDS = 6
FOOTER_WORDS = 3
SITE_KINDS = ("letters", "times", "gazette", "journal", "notes", "review")


@dataclass(frozen=True, slots=True)
class Site:
    """One host and what it puts around every page.

    Attributes:
        host: under `.example`, so that it can never be real.
        name: as its header says it.
        lexicon: its language.
        before: markup from `<body>` to where the page's own content begins.
        after: markup from there to `</html>`.
    """

    host: str
    name: str
    lexicon: Lexicon
    before: str
    after: str


def build_site(lexicon: Lexicon, names: Lexicon, number: int, dice: Dice) -> Site:
    """Invent a site.

    Args:
        lexicon: its language.
        names: a language in plain ASCII letters, for the host.
        number: different for every site, which keeps their hosts apart.
        dice: decides its words and its style of markup.
    """
    label, kind = dice.pick(names.words[WORDS_FOR_NAMES]), dice.pick(SITE_KINDS)
    name = f"{label.capitalize()} {kind.capitalize()}"
    menu = links(lexicon, MENU_LINKS, 1, dice)
    sidebar = links(lexicon, SIDEBAR_LINKS, SIDEBAR_LINK_WORDS, dice)
    cookie = write_sentence(tuple(dice.picks(lexicon.words, COOKIE_WORDS)), lexicon.grammar)
    footer = f"© 2026 {name} · " + lexicon.grammar.space.join(dice.picks(lexicon.words, FOOTER_WORDS))
    style = dice.pick((_plain_style, _div_style))
    before, after = style(name, menu, sidebar, cookie, footer)
    return Site(f"{label}-{kind}{number}.example", name, lexicon, before, after)


WORDS_FOR_NAMES = slice(500, 1_200)
"""Ranks of two or three syllables: long enough to be a name."""


def article_html(article: Article, site: Site) -> str:
    """Return the article as this site publishes it."""
    body = "\n".join(f"<p>{paragraph}</p>" for paragraph in paragraphs(article))
    title = headline(article)
    date = f'<p class="date"><time datetime="{article.published}">{article.published}</time></p>'
    return site_html(title, f"<h1>{title}</h1>\n{date}\n{body}", site)


def print_html(article: Article, site: Site) -> str:
    """Return the print version of the article: the site's name, and none of its navigation."""
    title = headline(article)
    body = "\n".join(f"<p>{paragraph}</p>" for paragraph in paragraphs(article))
    return (
        f"{_head(title, site)}<body onload='print()'>\n<h1>{title}</h1>\n"
        f"<p>{site.name}, {article.published}</p>\n{body}\n</body></html>\n"
    )


def site_html(title: str, content: str, site: Site) -> str:
    """Any content in the site's chrome."""
    return f"{_head(title, site)}{site.before}{content}{site.after}"


def _head(title: str, site: Site) -> str:
    return (
        f'<!doctype html>\n<html lang="{site.lexicon.grammar.language}"><head><meta charset="utf-8">'
        f"<title>{title} | {site.name}</title></head>\n"
    )


def links(lexicon: Lexicon, count: int, words_each: int, dice: Dice) -> list[str]:
    """Return links whose texts are random words."""
    space = lexicon.grammar.space
    texts = [space.join(dice.picks(lexicon.words, words_each)) for _ in range(count)]
    return [f'<a href="/section/{number}">{text}</a>' for number, text in enumerate(texts)]


def _plain_style(name: str, menu: list[str], sidebar: list[str], cookie: str, footer: str) -> tuple[str, str]:
    items = "".join(f"<li>{link}</li>" for link in menu)
    related = "".join(f"<li>{link}</li>" for link in sidebar)
    before = (
        f'<body>\n<header><a href="/">{name}</a></header>\n<nav><ul>{items}</ul></nav>\n<main><article>\n'
    )
    after = (
        f"\n</article></main>\n<aside><ul>{related}</ul></aside>\n<footer><p>{footer}</p></footer>\n"
        f'<section class="cookie-notice" role="dialog"><p>{cookie}</p></section>\n</body></html>\n'
    )
    return before, after


def _div_style(name: str, menu: list[str], sidebar: list[str], cookie: str, footer: str) -> tuple[str, str]:
    before = (
        f'<body>\n<div class="cookie-banner"><p>{cookie}</p></div>\n'
        f'<div id="header" class="site-header">{name}</div>\n'
        f'<div class="navigation menu">{" ".join(menu)}</div>\n'
        '<div id="content" class="main post">\n'
    )
    after = (
        f'\n</div>\n<div class="sidebar related">{" ".join(sidebar)}</div>\n'
        f'<div id="footer" class="site-footer">{footer}</div>\n</body></html>\n'
    )
    return before, after
