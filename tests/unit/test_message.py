import pytest
from hypothesis import given
from hypothesis import strategies as st

from neardup_stream.errors import BadPage
from neardup_stream.message import Partition, Position, Record, input_id, topic_of
from neardup_stream.wire.dead_letters import dead_letter

TOPICS = st.from_regex(r"[A-Za-z0-9._-]{1,20}", fullmatch=True)


@given(TOPICS, st.integers(0, 1 << 31))
def test_an_input_id_contains_its_topic_whatever_the_epoch(topic: str, epoch: int) -> None:
    assert topic_of(input_id(topic, epoch)) == topic


@given(TOPICS, st.integers(0, 1 << 31), st.integers(0, 1 << 31))
def test_another_epoch_is_another_input(topic: str, epoch: int, other: int) -> None:
    assert (input_id(topic, epoch) == input_id(topic, other)) == (epoch == other)


def test_the_first_epoch_is_the_topic_itself() -> None:
    assert input_id("pages", 0) == "pages"


@pytest.mark.parametrize("of_a_file", ["file:0123@4", "pipe:/dev/fd/3@1", "a/b@2", "pages@", "pages@x"])
def test_what_no_topic_can_be_called_is_left_alone(of_a_file: str) -> None:
    assert topic_of(of_a_file) == of_a_file


def test_a_dead_letter_names_the_topic_where_its_record_is_found() -> None:
    position = Position(Partition(input_id("pages", 3), 1), 7)

    letter = dead_letter(Record(position=position, key=None, value=b"x"), BadPage("not_json", "x"), None)

    assert dict(letter.headers)["neardup.error.topic"] == b"pages"


def test_all_that_a_record_holds_counts_as_its_bytes() -> None:
    position = Position(Partition("pages", 0), 0)
    headers = (("name", b"x" * 1_000_000), ("", b""))

    assert Record(position=position, key=b"key", value=b"value", headers=headers).size_bytes == 1_000_012
    assert Record(position=position, key=None, value=None).size_bytes == 0
