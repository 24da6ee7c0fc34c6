"""Generate variants of an article: copies, mirrors, print versions, edited re-posts.

One table, a row a relation. To add a relation, write its function and its row; the share is in variants per
thousand pages of the crawl.
"""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from neardup_daemon.demo.sample_crawl.articles import Article, edit_article
from neardup_daemon.demo.sample_crawl.sites import Site, article_html, print_html
from neardup_daemon.demo.sample_crawl.world import World

__all__ = ["VARIANTS", "Original", "Published", "Variant"]


class Published(NamedTuple):
    """A published page; the URL is also its id."""

    url: str
    html: str
    site: Site


class Original(NamedTuple):
    """A published article, and the article itself to make variants of."""

    page: Published
    article: Article


class Variant(NamedTuple):
    """One kind of relation: its name, how frequent it is, and how such a page is made."""

    kind: str
    per_thousand: int
    make: Callable[[Original, World], Published]


def _exact_copy(original: Original, world: World) -> Published:
    return original.page._replace(url=world.new_url(original.page.site))


def _tracking_link(original: Original, world: World) -> Published:
    campaign = world.dice.between(1_000, 999_999)
    return original.page._replace(url=f"{original.page.url}?utm_source=letter&utm_campaign={campaign}")


def _mirror(original: Original, world: World) -> Published:
    """Return the unchanged page, chrome and all, on another host that names its source."""
    page, host = original.page, world.another_site(original.page.site)
    banner = f'<div class="mirror-notice">Mirror: {page.site.name}</div>'
    return Published(world.new_url(host), page.html.replace("<body>", f"<body>\n{banner}", 1), page.site)


def _syndicated_copy(original: Original, world: World) -> Published:
    """Return the same article in the chrome of another site."""
    site = world.another_site(original.page.site)
    return Published(world.new_url(site), article_html(original.article, site), site)


def _print_version(original: Original, world: World) -> Published:
    sheet = world.dice.between(1_000, 999_999)
    site = original.page.site
    return Published(f"{original.page.url}/print?sheet={sheet}", print_html(original.article, site), site)


def _edited_repost(original: Original, world: World, word_count: int) -> Published:
    site = original.page.site
    edited = edit_article(original.article, word_count, world.dice)
    return Published(world.new_url(site), article_html(edited, site), site)


VARIANTS = (
    Variant("exact copy", 40, _exact_copy),
    Variant("tracking link", 40, _tracking_link),
    Variant("mirror", 40, _mirror),
    Variant("syndicated copy", 40, _syndicated_copy),
    Variant("print version", 40, _print_version),
    Variant("edited re-post (1 word)", 30, partial(_edited_repost, word_count=1)),
    Variant("edited re-post (2 words)", 30, partial(_edited_repost, word_count=2)),
    Variant("edited re-post (5 words)", 30, partial(_edited_repost, word_count=5)),
    Variant("edited re-post (20 words)", 30, partial(_edited_repost, word_count=20)),
)
