"""`demo`: a crawl whose truth is known, judged before one's eyes."""

import re
from itertools import pairwise
from pathlib import Path

import pytest

from tests.system.conftest import call

MOST_LINES = 110


@pytest.fixture(scope="module")
def crawl(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("demo") / "crawl.jsonl"


@pytest.fixture(scope="module")
def said(crawl: Path) -> str:
    """What the demo prints on a pipe, its lines joined where they only wrap."""
    run = call("demo", "--pages", "300", "--write", str(crawl))
    assert run.returncode == 0, run.stderr
    text = run.stdout.decode()
    assert len(text.splitlines()) < MOST_LINES
    return re.sub(r"\s*\n {10,}", " ", text)


def timeline_of(said: str, path: str, what: str) -> str:
    """Return the part of the timeline that is about one record."""
    start = re.search(rf"^\d {path} +{re.escape(what)}", said, re.MULTILINE)
    assert start, said
    return re.split(r"^\d |^In the end", said[start.end() :], maxsplit=1, flags=re.MULTILINE)[0]


def test_most_near_duplicates_are_found_and_nothing_else(said: str) -> None:
    (recall,) = re.findall(r"│ all +│ +\d+ │ +\d+ │ +(\d+) % │", said)

    assert int(recall) >= 98
    assert "edited re-post (20 words)" in said
    assert "False pairs: 0" in said


def test_articles_in_one_frame_stay_apart_and_their_near_duplicates_are_found(said: str) -> None:
    site = said.partition("A site with a frame: ")[2].partition("Clusters:")[0]

    assert re.search(r"frame +8\d% of all words", site)
    assert re.search(r"taken out +8\d% of the text, from every page", site)
    assert re.search(r"12; any two share at least 7\d% of their words", site)
    assert re.search(r"false pairs +0 of 66", site)
    assert site.count("found, alike: ") == 3


def test_outcomes_are_those_of_the_truth(said: str) -> None:
    counts = re.findall(
        r"│ (?:unique|duplicate|unchanged|undecided|forgotten|dead_letter) +│ +(\d+) │ +(\d+) │", said
    )

    assert len(counts) == 6
    assert sum(int(expected) != int(counted) for expected, counted in counts) <= 2  # a miss moves one over


def test_clusters_are_counted_against_the_truth_and_one_is_drawn(said: str) -> None:
    ((found, right, expected),) = re.findall(
        r"Clusters: (\d+) found, (\d+) of them exactly as the truth has them; there are (\d+)", said
    )

    assert int(right) >= 0.95 * int(expected)
    assert int(found) >= int(right)
    assert re.search(r"[├└]── \d\.\d\d https://\S+", said)


def test_a_page_between_two_clusters_merges_them(said: str) -> None:
    between = timeline_of(said, "/half-revised", "the revision's beginning, the report's end")

    assert between.index("cluster-merge") < between.index("duplicate")
    assert "the cluster of /revision becomes part of that of /report" in between
    assert "/report represents the cluster of 5" in between


def test_an_excerpt_is_contained_and_no_duplicate(said: str) -> None:
    excerpt = timeline_of(said, "/excerpt", "the middle of the report, alone")

    assert re.search(r"contained +\d+% of it is inside /", excerpt)
    assert "  duplicate" not in excerpt


def test_a_changed_page_is_out_of_its_cluster(said: str) -> None:
    changed = timeline_of(said, "/report-copy", "crawled again, with other content")

    assert re.search(r"unique +version 2 is out of its cluster", changed)


def test_the_next_page_is_the_representative_when_the_representative_is_forgotten(said: str) -> None:
    forgotten = timeline_of(said, "/report", "to be forgotten")

    assert "/revision represents the 3 left" in forgotten
    assert forgotten.index("representative-changed") < forgotten.index("gone ")


def test_the_events_add_up_to_what_the_store_says(said: str) -> None:
    end = " ".join(said.partition("In the end")[2].split())

    assert "duplicates: /revision-copy, /half-revised; to keep: /report-copy, /revision, /excerpt" in end
    assert "the store says: the same" in end


def test_the_one_dead_letter_is_explained(said: str) -> None:
    assert "One record of the crawl is no JSON, on purpose" in " ".join(said.split())


def test_all_parts_come_in_order_as_plain_text(said: str) -> None:
    parts = (
        *("Near-duplicates found", "A site with a frame", "Clusters"),
        *("The life of a page", "Outcome of each record", "What to type next"),
    )

    assert "\x1b" not in said
    assert all(said.index(earlier) < said.index(later) for earlier, later in pairwise(parts))


def test_the_pages_that_were_written_can_be_deduplicated(crawl: Path, said: str) -> None:
    assert said
    assert call("dedup", str(crawl)).stdout.count(b"io.neardup.duplicate.v1") > 90


def test_a_crawl_too_small_to_hold_its_truth_is_refused() -> None:
    run = call("demo", "--pages", "3")

    assert (run.returncode, run.stdout) == (2, b"")
    assert b"3 is not in the range 80<=x<=1000000" in run.stderr


def test_without_clusters_there_is_nothing_to_show() -> None:
    run = call("demo", "--set", "clusters.rule=off")

    assert run.returncode == 2
    assert b"clusters.rule is off" in run.stderr
