from collections.abc import Mapping

import msgspec
import pytest

from neardup_stream.errors import BadPage
from neardup_stream.message import Headers, Message, Record
from neardup_stream.wire.dead_letters import (
    ENVELOPE_BYTES,
    MAX_ERROR_HEADERS,
    TRUNCATED_BYTES,
    dead_letter,
    is_truncated,
    to_json_line,
)
from tests.unit.wire.records import record

ERROR = BadPage("not_json", "invalid character (byte 0)")
ERROR_HEADERS = {
    "neardup.error.reason": b"not_json",
    "neardup.error.detail": b"invalid character (byte 0)",
    "neardup.error.topic": b"pages",
    "neardup.error.partition": b"3",
    "neardup.error.offset": b"1234567",
    "neardup.error.timestamp_ms": b"1700000000123",
}
ONE_MIB = 1024 * 1024


def whole_bytes(bad: Record) -> int:
    return dead_letter(bad, ERROR, None).size_bytes


def test_a_dead_letter_is_the_record_with_the_reason_added() -> None:
    bad = record(b"json failed to parse", key=b"k", headers=(("a", b"1"), ("a", b"2")))

    letter = dead_letter(bad, ERROR, ONE_MIB)

    assert (letter.key, letter.value, letter.timestamp_ms) == (bad.key, bad.value, bad.timestamp_ms)
    assert letter.headers == (("a", b"1"), ("a", b"2"), *ERROR_HEADERS.items())


def test_a_record_without_key_and_value_keeps_having_none() -> None:
    letter = dead_letter(record(None), ERROR, ONE_MIB)

    assert (letter.key, letter.value) == (None, None)


def test_reasons_of_an_earlier_dead_letter_are_replaced() -> None:
    first = dead_letter(record(b"x", headers=(("a", b"1"),)), BadPage("bad_url", "old"), ONE_MIB)

    again = dead_letter(record(b"x", headers=first.headers), ERROR, ONE_MIB)

    assert again.headers == (("a", b"1"), *ERROR_HEADERS.items())


def test_too_many_headers_are_left_out() -> None:
    bad = record(b"x", headers=(("a", b"1"),) * 3)

    letter = dead_letter(bad, BadPage("over_limit", "3 headers", "max_headers"), ONE_MIB)

    assert letter.value == b"x"
    assert [name for name, _ in letter.headers] == list(ERROR_HEADERS)


def test_a_letter_has_no_more_headers_beside_its_records_than_a_reader_expects() -> None:
    smallest = dead_letter(record(b"x" * ONE_MIB, key=b"k" * ONE_MIB), ERROR, ENVELOPE_BYTES)

    assert len(smallest.headers) <= MAX_ERROR_HEADERS


@pytest.mark.parametrize("spare_bytes", [0, 1])
def test_a_letter_up_to_the_limit_is_whole(spare_bytes: int) -> None:
    bad = record(b"x" * 200_000, key=b"k", headers=(("a", b"1"),))

    letter = dead_letter(bad, ERROR, whole_bytes(bad) + spare_bytes)

    assert letter.value == bad.value
    assert not is_truncated(letter)


def test_a_letter_over_the_limit_carries_the_beginning_of_its_value() -> None:
    bad = record(b"begin" + b"x" * 200_000, key=b"k", headers=(("a", b"1"),))

    letter = dead_letter(bad, ERROR, whole_bytes(bad) - 1)

    assert letter.value == (bad.value or b"")[:TRUNCATED_BYTES]
    assert is_truncated(letter)
    assert letter.key == b"k"
    assert dict(letter.headers) == {
        "a": b"1",
        **ERROR_HEADERS,
        "neardup.error.truncated_from_bytes": b"200005",
    }


def test_headers_that_are_too_large_are_dropped_and_counted() -> None:
    bad = record(b"x" * 10, key=b"k", headers=(("a", b"1" * ONE_MIB), ("b", b"2")))

    letter = dead_letter(bad, ERROR, ONE_MIB)

    assert (letter.key, letter.value) == (b"k", bad.value)
    assert dict(letter.headers) == {**ERROR_HEADERS, "neardup.error.headers_dropped": b"2"}


LASTING = (("neardup.fields", b"own"), ("neardup.attempts", b"3"))


@pytest.mark.parametrize(
    ("others", "error", "said"),
    [
        ((("a", b"1" * ONE_MIB),), ERROR, {"neardup.error.headers_dropped": b"1"}),
        ((("a", b"1"),) * 3, BadPage("over_limit", "5 headers", "max_headers"), {}),
    ],
    ids=["too large", "too many"],
)
def test_headers_that_decide_how_a_record_is_read_and_replayed_are_kept(
    others: Headers, error: BadPage, said: Mapping[str, bytes]
) -> None:
    bad = record(b"x" * 10, key=b"k", headers=(*others, *LASTING))

    letter = dead_letter(bad, error, ONE_MIB)

    names = [name for name, _ in letter.headers if not name.startswith("neardup.error.")]
    assert names == ["neardup.fields", "neardup.attempts"]
    assert dict(LASTING).items() <= dict(letter.headers).items()
    assert said.items() <= dict(letter.headers).items()


@pytest.mark.parametrize("digits", [20, 21])
def test_a_count_of_attempts_that_no_replay_wrote_is_dropped_with_the_other_headers(digits: int) -> None:
    bad = record(b"x", headers=(("a", b"1" * ONE_MIB), ("neardup.attempts", b"1" * digits)))

    letter = dead_letter(bad, ERROR, ENVELOPE_BYTES)

    assert ("neardup.attempts" in dict(letter.headers)) is (digits == 20)


def test_a_key_that_is_too_large_is_cut() -> None:
    bad = record(b"x" * 10, key=b"k" * ONE_MIB)

    letter = dead_letter(bad, ERROR, ONE_MIB)

    assert letter.key == b"k" * 1024
    assert is_truncated(letter)
    assert letter.value == bad.value
    assert dict(letter.headers)["neardup.error.key_truncated_from_bytes"] == b"1048576"


def test_a_record_without_a_value_loses_headers_that_are_too_large_and_stays_without() -> None:
    bad = record(None, key=b"k", headers=(("a", b"1" * ONE_MIB),))

    letter = dead_letter(bad, ERROR, ENVELOPE_BYTES)

    assert (letter.key, letter.value, is_truncated(letter)) == (b"k", None, False)
    assert dict(letter.headers) == {**ERROR_HEADERS, "neardup.error.headers_dropped": b"1"}


def test_a_value_that_just_fits_beside_headers_that_do_not_is_whole() -> None:
    bad = record(b"v" * TRUNCATED_BYTES, headers=(("a", b"1" * ONE_MIB),))

    letter = dead_letter(bad, ERROR, ENVELOPE_BYTES + TRUNCATED_BYTES)

    assert (letter.value, is_truncated(letter)) == (bad.value, False)


def test_a_long_detail_is_cut_between_characters() -> None:
    letter = dead_letter(record(b"x"), BadPage("missing_field", "x" + "é" * 600), None)

    assert dict(letter.headers)["neardup.error.detail"] == ("x" + "é" * 511).encode()


def test_a_detail_that_is_no_utf_8_is_written_out() -> None:
    letter = dead_letter(record(b"x"), BadPage("bad_url", "half: \ud800"), None)

    assert dict(letter.headers)["neardup.error.detail"] == rb"half: \ud800"


@pytest.mark.parametrize("max_message_bytes", [ENVELOPE_BYTES, ENVELOPE_BYTES + 1, 5000, 70_000, ONE_MIB])
def test_the_worst_record_fits_every_topic_that_takes_an_envelope(max_message_bytes: int) -> None:
    bad = record(b"v" * ONE_MIB, key=b"k" * ONE_MIB, headers=(("h", b"h" * ONE_MIB),))

    letter = dead_letter(bad, BadPage("not_one_body", "é" * ONE_MIB), max_message_bytes)

    assert letter.size_bytes <= max_message_bytes
    assert dict(letter.headers)["neardup.error.reason"] == b"not_one_body"


@pytest.mark.parametrize(
    ("key", "value", "headers", "line"),
    [
        pytest.param(b"k", b"v\n", (), {"key": "k", "value": "v\n"}, id="text"),
        pytest.param(b"\xff", b"\xfe", (), {"key_base64": "/w==", "value_base64": "/g=="}, id="bytes"),
        pytest.param(None, None, (), {}, id="neither"),
        pytest.param(b"", b"", (), {"key": "", "value": ""}, id="empty"),
        pytest.param(
            None,
            None,
            (("a", b"1"), ("a", b"\xff"), ("a", None)),
            {"headers": [{"name": "a", "value": "1"}, {"name": "a", "value_base64": "/w=="}, {"name": "a"}]},
            id="headers",
        ),
    ],
)
def test_in_a_file_a_letter_is_one_line_of_json(
    key: bytes | None, value: bytes | None, headers: Headers, line: dict[str, object]
) -> None:
    rendered = to_json_line(Message(key=key, value=value, headers=headers, timestamp_ms=5))

    assert b"\n" not in rendered
    assert msgspec.json.decode(rendered) == {"headers": [], "timestamp_ms": 5} | line
