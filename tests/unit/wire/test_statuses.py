"""Answers that hold no page are skipped by their status, whatever the settings say."""

import pytest

from neardup_stream.message import Partition, Position, Record, Skipped
from neardup_stream.page import Page
from neardup_stream.wire.pages import PageDecoder
from tests.pipelines import page_json


def decoded(status: int, wanted: set[int]) -> Page | Skipped:
    value = page_json("a", "words", status=status)
    record = Record(position=Position(Partition("pages", 0), 0), key=None, value=value)
    return PageDecoder(statuses=wanted).decode(record)


@pytest.mark.parametrize("status", [100, 199, 304])
def test_an_answer_without_a_page_is_skipped_also_where_its_status_is_wanted(status: int) -> None:
    assert decoded(status, set()) == Skipped("status")
    assert decoded(status, {200, status}) == Skipped("status")


@pytest.mark.parametrize("status", [99, 200, 206, 303, 305, 404])
def test_other_answers_are_pages(status: int) -> None:
    assert isinstance(decoded(status, set()), Page)
    assert isinstance(decoded(status, {status}), Page)
