"""The shares that the story's plot needs, exact: with room to every threshold that is set."""

import re
from itertools import combinations

import pytest
from neardup_daemon.demo.sample_crawl.story import STORY_OUTCOMES, STORY_RECORDS, story_pages
from neardup_daemon.demo.sample_crawl.truth import TAG

SHINGLE_TOKENS = 3
STORY = story_pages()


def shingles(html: str) -> set[tuple[str, ...]]:
    words = re.findall(r"\w+", TAG.sub(" ", html).lower())
    return {tuple(words[place : place + SHINGLE_TOKENS]) for place in range(len(words) - SHINGLE_TOKENS + 1)}


SHINGLES_OF = {
    record.page.url.rpartition("/")[2]: shingles(record.page.html.partition("</head>")[2])
    for record in STORY[:6]
}


def inside(one: str, other: str) -> float:
    return len(SHINGLES_OF[one] & SHINGLES_OF[other]) / len(SHINGLES_OF[one])


def mutually_inside(one: str, other: str) -> float:
    return min(inside(one, other), inside(other, one))


def test_the_story_is_the_same_each_time() -> None:
    assert story_pages() == STORY


def test_the_storys_outcomes_are_those_of_its_records() -> None:
    assert sum(STORY_OUTCOMES.values()) == len(STORY) == STORY_RECORDS


@pytest.mark.parametrize("name", ["report", "revision"])
def test_a_copy_is_all_but_its_page(name: str) -> None:
    assert mutually_inside(name, f"{name}-copy") > 0.97


def test_report_and_revision_are_too_far_apart_to_match() -> None:
    assert mutually_inside("report", "revision") < 0.69


@pytest.mark.parametrize("name", ["report", "revision"])
def test_the_page_between_is_like_either(name: str) -> None:
    assert mutually_inside("half-revised", name) > 0.82


@pytest.mark.parametrize("name", ["report", "revision", "half-revised"])
def test_the_excerpt_is_inside_all_and_like_none(name: str) -> None:
    assert inside("excerpt", name) > 0.97
    assert inside(name, "excerpt") < 0.55


def test_the_changed_page_is_like_no_other_of_the_story() -> None:
    changed = shingles(STORY[6].page.html.partition("</head>")[2])

    assert STORY[6].page.url == STORY[1].page.url
    assert all(len(changed & known) / len(changed) < 0.2 for known in SHINGLES_OF.values())


def test_the_last_record_forgets_the_report() -> None:
    assert STORY[-1].is_forgotten
    assert STORY[-1].page.url == STORY[0].page.url


def test_the_cluster_that_is_left_is_kin() -> None:
    assert all(record.is_kin for record in STORY if record.is_clustered)
    assert len({one.page.url for one, other in combinations(STORY, 2)}) == len(SHINGLES_OF)
