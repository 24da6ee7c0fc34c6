"""What an answer of the query API says about a page."""

from typing import Any

import pytest

from neardup_stream.subscriber.scrapy_pipeline import duplicate_of

PAGE = "https://example.com/a"
OTHER = "https://example.com/b"
STORED = {"id": PAGE, "is_stored": True}
DUPLICATE = "io.neardup.duplicate.v1"


def cluster(page_id: str, url: str, size: int = 2) -> dict[str, Any]:
    return {
        "id": "1.1",
        "epoch": 1,
        "size": size,
        "representative": {"id": page_id, "url": url, "version": 1},
    }


def event(data: dict[str, Any]) -> dict[str, Any]:
    return {"type": DUPLICATE, "data": {"page": {"id": PAGE}, "matches": [{"url": OTHER}], **data}}


@pytest.mark.parametrize("spelling", ["https://example.com/a#top", "HTTPS://Example.com:443/a"])
def test_a_page_is_no_duplicate_of_itself_in_another_spelling(spelling: str) -> None:
    itself = cluster(PAGE, spelling)

    assert duplicate_of({"id": PAGE, "events": [], "cluster": itself}) is None
    assert duplicate_of({"id": PAGE, "events": [event({"cluster": itself})]}) is None
    assert duplicate_of({"page": STORED, "verdict": "near", "cluster": itself}) is None


def test_a_page_alone_in_its_cluster_is_no_duplicate() -> None:
    assert duplicate_of({"id": PAGE, "events": [], "cluster": cluster("former", OTHER, size=1)}) is None


def test_a_page_with_another_representative_is_its_duplicate() -> None:
    other = cluster("b", OTHER)

    assert duplicate_of({"id": PAGE, "events": [], "cluster": other}) == OTHER
    assert duplicate_of({"id": PAGE, "events": [event({"cluster": other})]}) == OTHER
    assert duplicate_of({"page": STORED, "verdict": "near", "cluster": other}) == OTHER


def test_a_changed_page_is_judged_by_its_new_text() -> None:
    """The cluster is that of its stored text."""
    changed = {"id": PAGE, "is_stored": False}
    unique = {"page": changed, "verdict": "unique", "matches": [], "cluster": cluster("b", OTHER)}
    duplicate = {"page": changed, "verdict": "near", "matches": [{"url": OTHER}], "cluster": None}

    assert duplicate_of(unique) is None
    assert duplicate_of({**duplicate, "cluster": cluster(PAGE, PAGE, size=1)}) == OTHER
    assert duplicate_of({**duplicate, "cluster": cluster(PAGE, PAGE)}) == OTHER


def test_without_clusters_a_page_is_a_duplicate_of_its_best_match() -> None:
    assert duplicate_of({"id": PAGE, "events": [event({})]}) == OTHER
    assert duplicate_of({"verdict": "exact", "cluster": None, "matches": [{"url": OTHER}]}) == OTHER


def test_a_page_without_cluster_and_events_is_no_duplicate() -> None:
    assert duplicate_of({"id": PAGE, "events": []}) is None
    assert duplicate_of({"id": PAGE, "events": [], "cluster": None}) is None


def test_a_page_that_is_left_to_archives_is_no_duplicate() -> None:
    given = {"id": PAGE, "is_stored": False}
    archived = {"type": "io.neardup.archived.v1", "data": {"page": {"id": PAGE}, "matches": [{"url": OTHER}]}}

    assert duplicate_of({"page": given, "verdict": "archived", "matches": [{"url": OTHER}]}) is None
    assert duplicate_of({"id": PAGE, "outcome": "archived", "events": [archived]}) is None
