"""Generate a crawl of several sites in which every near-duplicate is known.

Articles first; then for each relation its share of variants, made of those articles; then what a crawl has
beside: a site whose pages are mostly frame, look-alike templates, re-crawls, pages too short to judge, a
broken record and one that asks to forget a page. Every page gets a moment, a variant's later than its
original's, and the records come out in that order. A story of a few pages ends it. The truth is the list of
variants and the story's: every other pair of pages is unrelated.
"""

import json
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from itertools import count as count_from
from typing import NamedTuple

from neardup_daemon.demo.sample_crawl.articles import write_article
from neardup_daemon.demo.sample_crawl.dice import Dice
from neardup_daemon.demo.sample_crawl.framed_site import (
    ARTICLE_COUNT,
    FRAMED_KINDS,
    FramedSite,
    publish_framed_site,
)
from neardup_daemon.demo.sample_crawl.lookalikes import build_template, event_list_html, product_html
from neardup_daemon.demo.sample_crawl.sites import article_html
from neardup_daemon.demo.sample_crawl.story import (
    EARLIER_PAGES,
    STORY_OUTCOMES,
    STORY_RECORDS,
    StoryRecord,
    earlier_pages,
    story_pages,
)
from neardup_daemon.demo.sample_crawl.truth import (
    BROKEN_VALUE,
    CrawlRecord,
    Relation,
    SampleCrawl,
    Story,
    StoryStep,
)
from neardup_daemon.demo.sample_crawl.variants import VARIANTS, Original, Published
from neardup_daemon.demo.sample_crawl.world import World, build_world
from neardup_stream.errors import ConfigError

__all__ = ["MIN_PAGES", "generate_crawl"]

MIN_PAGES = 80
"""Room for every kind of page once, and for a few articles to make the variants of."""

LOOKALIKES_PER_THOUSAND = 200
RECRAWLS_PER_THOUSAND = 20
SHORT_PAGES_PER_THOUSAND = 10
FORGET_RECORDS = BROKEN_RECORDS = 1
LOOKALIKE_SITES = 6
SHORT_PAGE_WORDS = 2
SHORT_PAGE_RANKS = 50
"""Frequent words are short in every language, also where each character is a token."""
FIRST_FETCH = datetime(2026, 4, 1, 6, tzinfo=UTC)
SECONDS_BETWEEN_FETCHES = 7


class _Crawled(NamedTuple):
    """A page and when it is crawled: a moment in [0, 1)."""

    moment: float
    page: Published


class _Counts(NamedTuple):
    """How many pages of each kind a crawl has; the originals fill the room the others leave."""

    variants: tuple[int, ...]
    lookalikes: int
    recrawls: int
    short_pages: int
    originals: int


def generate_crawl(page_count: int, seed: int = 1) -> SampleCrawl:
    """Invent a crawl.

    Args:
        page_count: records in all, at least 80.
        seed: any int; the same one gives the same bytes on every Python.

    Raises:
        ConfigError: too few pages to hold every kind once.

    Cost: some 0.2 ms and 6 KB a page.
    """
    if page_count < MIN_PAGES:
        raise ConfigError(f"a sample crawl has at least {MIN_PAGES} pages, not {page_count}")
    world, counts = build_world(Dice(seed)), _count_kinds(page_count)
    originals = [_publish_original(world) for _ in range(counts.originals)]
    moments = {original.page.url: world.dice.random() for original in originals}
    (forgotten, *kept) = originals
    variants, relations = _make_variants(kept, counts.variants, world)
    framed = publish_framed_site(world)

    crawled = [_Crawled(moments[original.page.url], original.page) for original in originals]
    crawled += [_later(moments[relations[page.url].base_id], page, world) for page in variants]
    crawled += [_Crawled(world.dice.random(), page) for page in _lookalikes(counts.lookalikes, world)]
    crawled += [_Crawled(world.dice.random(), _short_page(world)) for _ in range(counts.short_pages)]
    crawled += [_later(moments[page.url], page, world) for page in _again(kept, counts.recrawls, world)]
    crawled += [_Crawled(world.dice.random(), page) for page in earlier_pages()]
    crawled += _spread(framed, world)
    relations |= {
        page.url: Relation(original.page.url, kind) for kind, original, page in framed.near_duplicates
    }
    story = story_pages()
    records = _records(crawled, forgotten.page, story, world)
    return SampleCrawl(records, relations, _expected_outcomes(counts), _story(story, records), framed.truth())


def _count_kinds(page_count: int) -> _Counts:
    variants = tuple(_share(page_count, variant.per_thousand) for variant in VARIANTS)
    lookalikes = _share(page_count, LOOKALIKES_PER_THOUSAND)
    recrawls = _share(page_count, RECRAWLS_PER_THOUSAND)
    short_pages = _share(page_count, SHORT_PAGES_PER_THOUSAND)
    others = sum(variants) + lookalikes + recrawls + short_pages + FORGET_RECORDS + BROKEN_RECORDS
    others += STORY_RECORDS + EARLIER_PAGES + ARTICLE_COUNT + len(FRAMED_KINDS)
    return _Counts(variants, lookalikes, recrawls, short_pages, originals=page_count - others)


def _share(page_count: int, per_thousand: int) -> int:
    """Return so many per thousand, but at least one."""
    return max(1, page_count * per_thousand // 1_000)


def _expected_outcomes(counts: _Counts) -> dict[str, int]:
    story = STORY_OUTCOMES
    return {
        "unique": counts.originals + counts.lookalikes + ARTICLE_COUNT + EARLIER_PAGES + story["unique"],
        "duplicate": sum(counts.variants) + len(FRAMED_KINDS) + story["duplicate"],
        "unchanged": counts.recrawls,
        "undecided": counts.short_pages,
        "forgotten": FORGET_RECORDS + story["forgotten"],
        "dead_letter": BROKEN_RECORDS,
    }


def _publish_original(world: World) -> Original:
    site = world.dice.pick(world.sites)
    article = write_article(site.lexicon, world.dice)
    return Original(Published(world.new_url(site), article_html(article, site), site), article)


def _make_variants(
    originals: Sequence[Original], counts: tuple[int, ...], world: World
) -> tuple[list[Published], dict[str, Relation]]:
    pages, relations = [], {}
    for variant, count in zip(VARIANTS, counts, strict=True):
        for _ in range(count):
            original = world.dice.pick(originals)
            page = variant.make(original, world)
            pages.append(page)
            relations[page.url] = Relation(original.page.url, variant.kind)
    return pages, relations


def _lookalikes(count: int, world: World) -> Iterator[Published]:
    """Products on one half of the template sites, lists of events on the other."""
    sites = [world.sites[place] for place in world.dice.places(len(world.sites), LOOKALIKE_SITES)]
    templates = [build_template(site, world.dice) for site in sites]
    for number in range(count):
        template = templates[number % LOOKALIKE_SITES]
        make = product_html if number % 2 else event_list_html
        yield Published(world.new_url(template.site), make(template, world.dice), template.site)


def _short_page(world: World) -> Published:
    """Almost nothing, and no chrome around it, as servers answer for a page that has moved."""
    site = world.dice.pick(world.sites)
    words = site.lexicon.grammar.space.join(
        world.dice.picks(site.lexicon.words[:SHORT_PAGE_RANKS], SHORT_PAGE_WORDS)
    )
    return Published(world.new_url(site), f"<html><body><h1>{words}</h1></body></html>\n", site)


def _again(originals: Sequence[Original], count: int, world: World) -> Iterator[Published]:
    return (world.dice.pick(originals).page for _ in range(count))


def _spread(framed: FramedSite, world: World) -> Iterator[_Crawled]:
    """Give every page of the site a moment, a near-duplicate one after its original's."""
    moments = {original.page.url: world.dice.random() for original in framed.originals}
    for original in framed.originals:
        yield _Crawled(moments[original.page.url], original.page)
    for _, original, page in framed.near_duplicates:
        yield _later(moments[original.page.url], page, world)


def _later(moment: float, page: Published, world: World) -> _Crawled:
    return _Crawled(moment + (1 - moment) * world.dice.random(), page)


def _records(
    crawled: list[_Crawled], forgotten: Published, story: Sequence[StoryRecord], world: World
) -> tuple[CrawlRecord, ...]:
    """Return the pages in order of their moments; a broken record is among them, the forget at the end."""
    crawled.sort(key=lambda one: one.moment)
    clock = _clock()
    records = [_record(page, next(clock)) for _, page in crawled[: len(crawled) // 2]]
    records.append(CrawlRecord(world.new_url(world.sites[0]).encode(), BROKEN_VALUE, _epoch_ms(next(clock))))
    records += [_record(page, next(clock)) for _, page in crawled[len(crawled) // 2 :]]
    records.append(_forget(forgotten, next(clock)))
    for one in story:
        records.append((_forget if one.is_forgotten else _record)(one.page, next(clock)))
    return tuple(records)


def _story(story: Sequence[StoryRecord], records: Sequence[CrawlRecord]) -> Story:
    """Return what the last records are about."""
    steps = [
        StoryStep(one.page.url, one.what, record.time_ms)
        for one, record in zip(story, records[-len(story) :], strict=True)
    ]
    return Story(
        steps=tuple(steps),
        kin=frozenset(one.page.url for one in story if one.is_kin),
        cluster=frozenset(one.page.url for one in story if one.is_clustered),
    )


def _clock() -> Iterator[datetime]:
    return (FIRST_FETCH + timedelta(seconds=place * SECONDS_BETWEEN_FETCHES) for place in count_from(0))


def _record(page: Published, fetched_at: datetime) -> CrawlRecord:
    value = {
        "id": page.url,
        "url": page.url,
        "html": page.html,
        "fetched_at": fetched_at.isoformat(),
        "language": page.site.lexicon.grammar.language,
        "meta": {"site": page.site.name},
    }
    return CrawlRecord(
        page.url.encode(), json.dumps(value, ensure_ascii=False).encode(), _epoch_ms(fetched_at)
    )


def _forget(page: Published, at: datetime) -> CrawlRecord:
    return CrawlRecord(page.url.encode(), None, _epoch_ms(at))


def _epoch_ms(moment: datetime) -> int:
    return int(moment.timestamp()) * 1000
