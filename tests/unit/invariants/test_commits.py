"""6: the committed offset never passes an unfinished position."""

import dataclasses

import pytest

from tests.page_histories import page_url
from tests.sound_history import (
    PARTITION,
    RECORDS,
    blame,
    sound_expectations,
    sound_history,
    with_record,
)

END = len(RECORDS)


def test_a_committed_page_that_was_never_decided_is_found() -> None:
    assert blame(with_record(sound_history(), 5, rank=0))[6] == [
        f"pages-0@5 is committed, and page {page_url(5)} is not decided"
    ]


def test_a_committed_forget_that_was_never_decided_is_found() -> None:
    assert blame(with_record(sound_history(), 7, rank=0))[6] == [
        f"pages-0@9 is committed, and its forget of page {page_url(7)} is not decided"
    ]


@pytest.mark.parametrize("page", [5, 7], ids=["a page", "a forget"])
def test_without_clusters_nothing_has_a_rank(page: int) -> None:
    unclustered = dataclasses.replace(sound_expectations(), keeps_clusters=False)

    assert 6 not in blame(with_record(sound_history(), page, rank=0), unclustered)


@pytest.mark.parametrize(("committed", "is_found"), [(5, False), (6, True)], ids=["not yet", "committed"])
def test_a_page_above_the_committed_offset_may_wait(committed: int, *, is_found: bool) -> None:
    history = with_record(sound_history(), 5, rank=0)

    assert (6 in blame(history._replace(committed={PARTITION: committed}))) is is_found


@pytest.mark.parametrize("state", ["expiring", "gone"])
def test_a_page_that_has_expired_lost_its_rank_with_it(state: str) -> None:
    assert 6 not in blame(with_record(sound_history(), 5, rank=0, state=state))


def test_a_version_made_elsewhere_is_not_decided_here() -> None:
    assert 6 not in blame(with_record(sound_history(), 5, rank=0, made_by=("pages", 1, 0)))


@pytest.mark.parametrize(
    ("end", "details"),
    [
        (END - 1, [f"pages-0: committed {END}, the end is {END - 1}"]),
        (END, []),
        (END + 1, []),
    ],
    ids=["behind the end", "the end", "before the end"],
)
def test_an_offset_behind_the_end_of_the_topic_is_found(end: int, details: list[str]) -> None:
    assert blame(sound_history()._replace(ends={PARTITION: end})).get(6, []) == details
