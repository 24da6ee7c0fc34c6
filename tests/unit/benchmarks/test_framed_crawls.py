from collections import Counter, defaultdict

import numpy as np
import pytest

from benchmarks.quality.dedup import Duplicate, InputPage
from benchmarks.quality.edits import Vocabulary
from benchmarks.quality.frames.generated_crawls import (
    ARTICLE_WORDS,
    EDITED_WORDS,
    frame_words_of,
    generate_articles,
    generate_unrelated,
    page_of,
)
from benchmarks.quality.frames.generated_figures import ArticleTally
from benchmarks.quality.frames.generated_hosts import generate_host, render_page
from benchmarks.quality.similarity import page_tokens

HOSTS, ARTICLES = 4, 6


@pytest.fixture(scope="module")
def vocabulary() -> Vocabulary:
    return Vocabulary.make(np.random.default_rng(1))


@pytest.fixture(scope="module")
def crawl(vocabulary: Vocabulary) -> list[InputPage]:
    return list(generate_articles(HOSTS, ARTICLES, 0.8, vocabulary))


def host_of(page: InputPage) -> str:
    return page.url.split("/")[2]


@pytest.mark.parametrize("frame_share", [0.0, 0.5, 0.8, 0.9])
def test_a_page_has_the_frame_share_that_was_asked_for(vocabulary: Vocabulary, frame_share: float) -> None:
    frame_words = frame_words_of(ARTICLE_WORDS, frame_share)
    assert frame_words / (frame_words + ARTICLE_WORDS) == pytest.approx(frame_share)
    words = ["word"] * ARTICLE_WORDS
    for number in range(3):
        host = generate_host(number, frame_words, vocabulary, np.random.default_rng(number))
        assert len(page_tokens(render_page(host, words))) == ARTICLE_WORDS + frame_words


def test_some_hosts_mark_their_frame_with_nothing_but_div(crawl: list[InputPage]) -> None:
    is_plain = {
        host_of(page): all(tag not in page.html for tag in ("<nav", "<footer", "<aside", "role="))
        for page in crawl
    }
    assert {*is_plain.values()} == {True, False}


def test_copies_follow_their_originals_on_the_same_host_and_on_another(crawl: list[InputPage]) -> None:
    homes: dict[int, str] = {}
    for page in crawl:
        copy = page_of(page.id)
        if copy.placement == "original":
            homes[copy.article] = host_of(page)
        else:
            assert (host_of(page) == homes[copy.article]) is (copy.placement == "same")
    placements = Counter(page_of(page.id).placement for page in crawl)
    assert placements == dict.fromkeys(("original", "same", "other"), HOSTS * ARTICLES)


def test_a_copy_differs_in_as_many_words_as_its_id_says(crawl: list[InputPage]) -> None:
    pages = {page.id: page for page in crawl}
    edits = defaultdict(list)
    for page in crawl:
        copy = page_of(page.id)
        if copy.placement == "same":
            both = (page_tokens(each.html) for each in (page, pages[f"{copy.article}/original/0"]))
            edits[copy.edited_words].append(sum(one != other for one, other in zip(*both, strict=True)))
    assert edits == {count: [count] * HOSTS for count in EDITED_WORDS}


def test_the_same_seed_generates_the_same_pages(vocabulary: Vocabulary, crawl: list[InputPage]) -> None:
    assert list(generate_articles(HOSTS, ARTICLES, 0.8, vocabulary)) == crawl
    assert len({page.id for page in crawl}) == len({page.url for page in crawl}) == len(crawl)


def test_unrelated_pages_of_a_host_share_its_frame_and_no_line_else(vocabulary: Vocabulary) -> None:
    lines = defaultdict(list)
    for page in generate_unrelated(60, 3, 0.8, vocabulary):
        lines[host_of(page)].append({*page.html.replace("><", ">\n<").splitlines()})
    assert len(lines) == 3
    for of_pages in lines.values():
        frame = set.intersection(*of_pages)
        assert len(frame) > 10
        own = Counter(line for each in of_pages for line in each - frame)
        assert {*own.values()} == {1}


def test_matches_are_counted_by_host_and_edited_words() -> None:
    tally = ArticleTally()
    tally.take(Duplicate("7/same/1", ["7/original/0", "8/original/0"], 2))
    tally.take(Duplicate("7/other/1", ["7/original/0", "7/same/1"], 2))
    figures = tally.figures(len(EDITED_WORDS))
    assert figures.recalls == {copy: [0, 1, 0, 0, 0, 0] for copy in ("same", "other")}
    assert (figures.false_count, figures.precision) == (1, 2 / 3)
    assert figures.recall == 2 / (2 * len(EDITED_WORDS))


def test_an_event_must_name_all_its_matches() -> None:
    with pytest.raises(AssertionError, match="does not name"):
        ArticleTally().take(Duplicate("7/same/1", ["7/original/0"], 2))
