"""Answers that hold no page are skipped by their status, whatever the settings say."""

import msgspec
import pytest

from neardup_stream.errors import BadPage
from neardup_stream.message import Partition, Position, Record, Skipped
from neardup_stream.page import Page
from neardup_stream.wire.pages import PageDecoder


def decoded(status: int, wanted: set[int], **fields: object) -> Page | Skipped:
    value = msgspec.json.encode({"url": "https://example.com/a", "text": "words", "status": status, **fields})
    record = Record(position=Position(Partition("pages", 0), 0), key=None, value=value)
    return PageDecoder(statuses=wanted).decode(record)


@pytest.mark.parametrize("status", [100, 199, 204, 205, 304])
def test_an_answer_without_a_page_is_skipped_also_where_its_status_is_wanted(status: int) -> None:
    assert decoded(status, set()) == Skipped("status")
    assert decoded(status, {200, status}) == Skipped("status")


@pytest.mark.parametrize("status", [99, 200, 203, 206, 303, 305, 404])
def test_other_answers_are_pages(status: int) -> None:
    assert isinstance(decoded(status, set()), Page)
    assert isinstance(decoded(status, {status}), Page)


@pytest.mark.parametrize(("status", "wanted"), [(204, set()), (304, {304}), (304, {200}), (404, {200})])
def test_an_answer_without_a_page_needs_no_body(status: int, wanted: set[int]) -> None:
    assert decoded(status, wanted, text=None) == Skipped("status")


def test_a_page_that_is_processed_needs_one_body_and_none_has_two() -> None:
    with pytest.raises(BadPage, match="none of html, text and body"):
        decoded(404, set(), text=None)
    with pytest.raises(BadPage, match="html and text"):
        decoded(304, set(), html="<p>words")
