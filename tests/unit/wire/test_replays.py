import pytest
from hypothesis import given
from hypothesis import strategies as st

from neardup_stream.errors import BadPage, CorruptData
from neardup_stream.message import Message, Partition, Position, Record
from neardup_stream.wire.dead_letters import dead_letter, to_json_line
from neardup_stream.wire.replays import Fate, attempt_count, fate, from_json_line, reason_of, replayed

RECORD = Record(
    position=Position(Partition("pages", 3), 41),
    key=b"https://example.com/",
    value=b"{",
    headers=(("traceparent", b"00-1"),),
    timestamp_ms=5,
)
LETTER = dead_letter(RECORD, BadPage("not_json", "truncated"), None)
NOW_MS = 1_000


def refused_again(letter: Message, times: int) -> Message:
    """Return the dead letter of a record that was put back so often."""
    for _ in range(times):
        back = replayed(letter, NOW_MS, "pages")
        record = Record(
            position=RECORD.position, key=back.key, value=back.value, headers=back.headers, timestamp_ms=7
        )
        letter = dead_letter(record, BadPage("not_json", "still"), None)
    return letter


def test_a_record_is_put_back_as_it_first_came_and_counts_its_attempts() -> None:
    back = replayed(LETTER, NOW_MS, "pages")

    assert (back.key, back.value) == (RECORD.key, RECORD.value)
    assert back.headers == (("traceparent", b"00-1"), ("neardup.attempts", b"1"))
    assert back.timestamp_ms == NOW_MS


@pytest.mark.parametrize(("topic", "partition"), [("pages", 3), ("others", None), (None, None)])
def test_a_record_is_replayed_to_the_partition_that_it_came_from(
    topic: str | None, partition: int | None
) -> None:
    assert replayed(LETTER, NOW_MS, topic).partition == partition


@pytest.mark.parametrize("number", [None, b"", b"-1", b"three", b"9" * 5_000])
def test_a_partition_that_is_no_number_is_none(number: bytes | None) -> None:
    headers = (("neardup.error.topic", b"pages"), ("neardup.error.partition", number))

    assert replayed(Message(key=b"k", value=b"", headers=headers), NOW_MS, "pages").partition is None


@pytest.mark.parametrize("times", [0, 1, 2, 11])
def test_attempts_are_counted_through_dead_letters(times: int) -> None:
    letter = refused_again(LETTER, times)

    assert attempt_count(letter) == times
    assert [name for name, _ in letter.headers].count("neardup.attempts") == min(times, 1)


def test_a_count_that_another_process_spoilt_begins_anew() -> None:
    spoilt = Message(key=None, value=b"", headers=(("neardup.attempts", b"many"),))

    assert attempt_count(spoilt) == 0


@pytest.mark.parametrize("digits", [10, 5_000, 100_000])
def test_a_count_of_any_length_is_a_count(digits: int) -> None:
    spoilt = Message(key=None, value=b"", headers=(("neardup.attempts", b"9" * digits),))
    padded = Message(key=None, value=b"", headers=(("neardup.attempts", b"2".zfill(digits)),))

    assert fate(spoilt, frozenset(), 1_000) == "exhausted"
    assert attempt_count(padded) == 2


@pytest.mark.parametrize("depth", [5_000, 1_000_000])
def test_a_line_that_is_nested_too_deeply_is_no_dead_letter(depth: int) -> None:
    with pytest.raises(CorruptData, match="this is not a dead letter"):
        from_json_line(b'{"unknown": ' + b"[" * depth + b"]" * depth + b', "headers": []}')


@pytest.mark.parametrize(
    ("times", "expected"), [(1, "replayed"), (2, "exhausted"), (3, "exhausted")], ids=["below", "at", "above"]
)
def test_a_record_that_was_put_back_often_enough_stays(times: int, expected: Fate) -> None:
    assert fate(refused_again(LETTER, times), frozenset(), 2) == expected


@pytest.mark.parametrize(
    ("reasons", "expected"),
    [(frozenset(), "replayed"), ({"not_json", "bad_url"}, "replayed"), ({"bad_url"}, "other_reason")],
    ids=["all", "asked-for", "not-asked-for"],
)
def test_only_letters_of_the_reasons_asked_for_are_put_back(reasons: frozenset[str], expected: Fate) -> None:
    assert reason_of(LETTER) == "not_json"
    assert fate(LETTER, frozenset(reasons), 3) == expected


def test_a_header_without_a_value_says_no_reason() -> None:
    assert reason_of(Message(key=None, value=b"", headers=(("neardup.error.reason", None),))) == ""


def test_a_letter_of_which_only_the_beginning_is_left_stays() -> None:
    record = Record(position=RECORD.position, key=b"k", value=b"x" * 200_000, timestamp_ms=5)
    cut = dead_letter(record, BadPage("not_json", "truncated"), 100_000)

    assert fate(cut, frozenset(), 3) == "truncated"


@given(
    key=st.none() | st.binary(max_size=8),
    value=st.none() | st.binary(max_size=8),
    header=st.none() | st.binary(max_size=4),
)
def test_a_letter_survives_a_file_unchanged(
    key: bytes | None, value: bytes | None, header: bytes | None
) -> None:
    letter = Message(key=key, value=value, headers=(("a", header),), timestamp_ms=3)

    assert from_json_line(to_json_line(letter)) == letter


@pytest.mark.parametrize("line", [b"{", b"[]", b'{"headers":[]}', b"\xff"])
def test_a_line_that_is_no_dead_letter_is_refused(line: bytes) -> None:
    with pytest.raises(CorruptData, match="this is not a dead letter"):
        from_json_line(line)
