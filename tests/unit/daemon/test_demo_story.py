import io
from itertools import pairwise

import pytest
from msgspec.structs import replace
from neardup_daemon.demo.facts import DemoRun
from neardup_daemon.demo.sample_crawl.truth import SampleCrawl, Story, StoryStep
from neardup_daemon.demo.story import build_story, print_story
from rich.console import Console

from neardup_stream.events import EventData
from tests.events import (
    At,
    archived,
    contained,
    delivered,
    duplicate,
    gone,
    merge,
    representative_changed,
    undecided,
    unique,
)

CRAWL = SampleCrawl(
    records=(),
    relations={},
    expected_outcomes={},
    story=Story(
        steps=(
            StoryStep("https://a.example/one", "crawled", 0),
            StoryStep("https://a.example/two", "too", 7),
        ),
        kin=frozenset(),
        cluster=frozenset(),
    ),
)
"""Events of these tests happen at 0."""


def run_of(*published: EventData) -> DemoRun:
    return DemoRun(tuple(map(delivered, published)), {}, (), seconds=1)


@pytest.mark.parametrize(
    ("data", "name", "words"),
    [
        pytest.param(
            duplicate("https://a.example/p", At("1", 1, "https://a.example/q")),
            "duplicate",
            "/q represents the cluster",
            id="duplicate",
        ),
        pytest.param(
            duplicate("https://a.example/p", None), "duplicate", "clusters are off", id="without-clusters"
        ),
        pytest.param(unique("p", "1", version=2), "unique", "version 2", id="unique"),
        pytest.param(undecided("p"), "undecided", "too short", id="undecided"),
        pytest.param(gone("p", 2, ("1", 2)), "gone", "for good", id="gone"),
        pytest.param(archived("p"), "archived", "like /old of old.nda", id="archived"),
        pytest.param(contained("p"), "contained", "of it is inside", id="contained"),
        pytest.param(
            merge(At("1", 2, "https://a.example/p"), At("2", 1, "https://a.example/q")),
            "cluster-merge",
            "the cluster of /q becomes part of that of /p",
            id="merge",
        ),
        pytest.param(
            representative_changed(At("1", 2, "https://a.example/q"), ("p", 1)),
            "representative-changed",
            "/q represents",
            id="representative-change",
        ),
    ],
)
def test_every_event_is_published_under_its_record_in_plain_words(
    data: EventData, name: str, words: str
) -> None:
    first, second = build_story(CRAWL, run_of(data), frozenset()).scenes

    ((event_name, event_words),) = first.published
    assert event_name == name
    assert words in event_words
    assert second.published == ()


def test_a_page_that_holds_another_one_is_reported_the_other_way_round() -> None:
    one = contained("p")
    (container,) = one.containers
    holds = replace(one, containers=(replace(container, containment=0.4, contained_in=0.97),))

    (first, _) = build_story(CRAWL, run_of(holds), frozenset()).scenes

    assert "it holds 97%" in first.published[0][1]


def test_matches_beyond_the_first_two_are_counted() -> None:
    one = duplicate("p", At("1", 1, "q"))
    many = replace(one, matches=one.matches * 3, matches_total=5)

    (first, _) = build_story(CRAWL, run_of(many), frozenset()).scenes

    assert "and 3 more" in first.published[0][1]


def test_pages_of_the_story_end_deleted_kept_or_gone() -> None:
    one, two = (step.page_id for step in CRAWL.story.steps)

    declared = build_story(CRAWL, run_of(), frozenset({two}))
    forgotten = build_story(CRAWL, run_of(gone(two, 2, ("1", 2))), frozenset())

    assert (declared.deleted, declared.kept) == ((two,), (one,))
    assert (forgotten.deleted, forgotten.kept) == ((), (one,))


def test_the_timeline_is_printed_in_order_with_a_word_where_no_event_is_published() -> None:
    output = io.StringIO()

    print_story(build_story(CRAWL, run_of(unique("p", "1")), frozenset()), Console(file=output, width=80))

    places = [
        output.getvalue().index(words) for words in ("/one", "unique", "/two", "(no event)", "In the end")
    ]
    assert all(earlier < later for earlier, later in pairwise(places))
