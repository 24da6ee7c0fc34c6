from typing import Any

import msgspec
import pytest

from neardup_stream.errors import CorruptData
from neardup_stream.events import (
    EVENT_DATA,
    Event,
    EventName,
    UniqueFound,
)
from neardup_stream.message import Headers, Message, Partition, Position
from neardup_stream.wire.events import (
    event_id,
    event_name,
    event_source,
    former_merge_event_id,
    from_message,
    input_of_source,
    merge_event_id,
    to_message,
    to_structured,
    trace_headers,
)
from tests.unit.wire.example_events import EXAMPLES, PAGE, TRACE, about, event
from tests.unit.wire.records import POSITION

DATA = {
    "page": {
        "id": "page-é",
        "url": "http://example.com/é",
        "version": 2,
        "fetched_at": "2024-01-01T00:00:00.000Z",
        "fingerprint": "18446744073709551615",
    },
    "kind": "near",
    "matches": [
        {"id": "page-0", "url": "http://example.com/0", "version": 1, "distance_bits": 3, "scheme": "simhash"}
    ],
    "matches_total": 1,
}


def test_an_event_id_never_changes_between_releases() -> None:
    assert event_id("duplicate", POSITION) == "8ff0b4f3ab0dff247e0bfae51e06e7ba"


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(event_id("unique", POSITION), id="name"),
        pytest.param(event_id("duplicate", POSITION, "an index"), id="index"),
        pytest.param(event_id("duplicate", Position(POSITION.partition, 1_234_568)), id="offset"),
        pytest.param(event_id("duplicate", Position(Partition("pages", 4), 1_234_567)), id="partition"),
        pytest.param(event_id("duplicate", Position(Partition("page", 3), 1_234_567)), id="input"),
    ],
)
def test_every_part_of_a_position_changes_the_event_id(other: str) -> None:
    assert event_id("duplicate", POSITION) != other


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(merge_event_id("ab.2", POSITION), id="absorbed-cluster"),
        pytest.param(merge_event_id("ab.1", POSITION, "an index"), id="index"),
        pytest.param(merge_event_id("ab.1", Position(POSITION.partition, 1_234_568)), id="offset"),
        pytest.param(merge_event_id("ab.1", Position(Partition("pages", 4), 1_234_567)), id="partition"),
        pytest.param(merge_event_id("ab.1", Position(Partition("page", 3), 1_234_567)), id="input"),
        pytest.param(former_merge_event_id("ab.1"), id="former-release"),
    ],
)
def test_a_merge_has_an_id_of_the_cluster_and_of_the_record_that_caused_it(other: str) -> None:
    assert merge_event_id("ab.1", POSITION) != other


def test_merges_of_former_releases_are_recognized() -> None:
    assert former_merge_event_id("00000000000000ab.1") == "e85406ef48450620f0996cd79297b29c"


@pytest.mark.parametrize(
    ("name", "subject"),
    [
        ("duplicate", PAGE.id),
        ("unique", PAGE.id),
        ("gone", PAGE.id),
        ("contained", PAGE.id),
        ("undecided", PAGE.id),
        pytest.param("cluster-merge", "c2", id="cluster-merge-absorbed"),
        ("representative-changed", "c1"),
    ],
)
def test_the_subject_is_the_message_key(name: EventName, subject: str) -> None:
    message = to_message(about(name, EXAMPLES[name]))

    assert message.key == subject.encode()
    assert dict(message.headers)["ce_subject"] == subject.encode()
    assert dict(message.headers)["ce_type"] == f"io.neardup.{name}.v1".encode()


@pytest.mark.parametrize("name", EVENT_DATA)
def test_every_event_is_read_back_as_it_was(name: EventName) -> None:
    given = about(name, EXAMPLES[name])

    for message in (to_message(given), Message(key=None, value=to_structured(given))):
        assert msgspec.json.decode(from_message(message).data, type=EVENT_DATA[name]) == given.data


def test_in_kafka_attributes_are_headers_and_the_data_is_the_value() -> None:
    message = to_message(event(TRACE))

    assert message.key == "page-é".encode()
    assert message.timestamp_ms == 1_700_000_000_123
    assert msgspec.json.decode(message.value or b"") == DATA
    assert dict(message.headers) == {
        "ce_specversion": b"1.0",
        "ce_id": b"8ff0b4f3ab0dff247e0bfae51e06e7ba",
        "ce_source": b"/neardup/nd/pages",
        "ce_type": b"io.neardup.duplicate.v1",
        "ce_subject": "page-é".encode(),
        "ce_time": b"2023-11-14T22:13:20.123Z",
        "ce_dataschema": b"urn:neardup:duplicate:v1#/$defs/DuplicateFound",
        "content-type": b"application/json",
        **dict(TRACE),
    }


def test_in_a_file_one_line_holds_attributes_and_data() -> None:
    line = to_structured(event(TRACE))

    assert msgspec.json.decode(line) == {
        "specversion": "1.0",
        "id": "8ff0b4f3ab0dff247e0bfae51e06e7ba",
        "source": "/neardup/nd/pages",
        "type": "io.neardup.duplicate.v1",
        "subject": "page-é",
        "time": "2023-11-14T22:13:20.123Z",
        "datacontenttype": "application/json",
        "dataschema": "urn:neardup:duplicate:v1#/$defs/DuplicateFound",
        "traceparent": "00-0af7-b7ad-01",
        "tracestate": "vendor=1",
        "data": DATA,
    }


def test_a_unique_page_is_reported_with_its_page_alone() -> None:
    unique = Event(
        id="1", name="unique", source="/s", subject=PAGE.id, time_ms=0, data=UniqueFound(page=PAGE)
    )

    assert msgspec.json.decode(to_message(unique).value or b"") == {"page": DATA["page"]}
    assert msgspec.json.decode(to_structured(unique))["type"] == "io.neardup.unique.v1"


def test_meta_is_carried_byte_for_byte() -> None:
    meta = b'{ "a" : 1e999, "a":123456789012345678901234567890 }'

    assert meta in (to_message(event(meta=meta)).value or b"")
    assert meta in to_structured(event(meta=meta))


def test_line_ends_between_the_tokens_of_meta_do_not_break_the_line() -> None:
    meta = b'{\r\n "a": "b\\n"\n}'

    line = to_structured(event(meta=meta))

    assert b"\n" not in line
    assert b"\r" not in line
    assert msgspec.json.decode(line)["data"]["page"]["meta"] == {"a": "b\n"}


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        pytest.param((), (), id="none"),
        pytest.param((("x", b"1"), *TRACE, ("y", b"2")), TRACE, id="among-others"),
        pytest.param(TRACE[::-1], TRACE, id="either-order"),
        pytest.param((*TRACE, ("traceparent", b"second")), TRACE, id="repeated"),
        pytest.param((("tracestate", b"vendor=1"),), (("tracestate", b"vendor=1"),), id="one-alone"),
    ],
)
def test_the_first_of_each_trace_header_is_carried(headers: Headers, expected: Headers) -> None:
    assert trace_headers(headers) == tuple(expected)


def test_a_trace_header_that_is_no_text_does_not_stop_the_event() -> None:
    line = msgspec.json.decode(to_structured(event((("traceparent", b"\xff"),))))

    assert line["traceparent"] == "\ufffd"


@pytest.mark.parametrize("trace", [(), TRACE], ids=["untraced", "traced"])
def test_both_modes_are_read_back_as_the_same_event(trace: Headers) -> None:
    given = event(trace, meta=b'{"a": 1e999}')

    binary = from_message(to_message(given))
    structured = from_message(Message(key=None, value=to_structured(given)))

    assert msgspec.json.encode(binary) == msgspec.json.encode(structured) == to_structured(given)


@pytest.mark.parametrize(
    ("value", "headers"),
    [
        pytest.param(None, (), id="no-value"),
        pytest.param(b"text", (), id="no-json"),
        pytest.param(b"{}", (), id="no-attributes"),
        pytest.param(b"[" * 100_000, (), id="nested-too-deeply"),
        pytest.param(b"{}", (("ce_id", b"1"),), id="some-attributes-missing"),
        pytest.param(b"text", to_message(event()).headers, id="attributes-without-data"),
        pytest.param(b"{}", (("ce_id", None), ("ce_type", None)), id="attributes-without-values"),
    ],
)
def test_a_message_without_an_event_is_distinguished(value: bytes | None, headers: Any) -> None:
    with pytest.raises(CorruptData, match="no event"):
        from_message(Message(key=b"k", value=value, headers=headers))


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_message_in_binary_mode_names_its_event(name: EventName) -> None:
    assert event_name(to_message(about(name, EXAMPLES[name]))) == name


def test_a_line_and_a_strangers_message_name_no_event() -> None:
    assert event_name(Message(key=None, value=to_structured(event()))) is None
    for of_a_stranger in (b"com.example.sold", None):
        assert event_name(Message(key=None, value=b"", headers=(("ce_type", of_a_stranger),))) is None


@pytest.mark.parametrize("input_id", ["pages", "pages@2", "file:0123@4"])
def test_the_source_of_an_event_names_its_namespace_and_its_input(input_id: str) -> None:
    source = event_source("nd", input_id)

    assert source.startswith(event_source("nd"))
    assert not source.startswith(event_source("n"))
    assert input_of_source(source) == input_id
