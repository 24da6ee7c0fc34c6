"""The subscriber kit reads what the daemon writes."""

import dataclasses
import json
from typing import Any, get_args, get_type_hints

import msgspec
import pytest

from neardup_stream.events import EVENT_DATA as WRITTEN
from neardup_stream.events import EventName, event_type
from neardup_stream.subscriber import CloudEvent, NotAnEvent, decode
from neardup_stream.subscriber.events import EVENT_DATA, Duplicate
from neardup_stream.wire.events import from_message, to_message, to_structured
from tests.unit.wire.example_events import EXAMPLES, TRACE, about, event


def plain(data: Any) -> Any:
    """Return what is present of an object, as JSON would have it."""
    return json.loads(json.dumps(dataclasses.asdict(data)))


def without_absent(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: without_absent(each) for name, each in value.items() if each is not None}
    return [without_absent(each) for each in value] if isinstance(value, list) else value


@pytest.mark.parametrize("name", WRITTEN)
def test_each_event_is_read_from_a_record_and_from_a_line_with_everything_in_it(name: EventName) -> None:
    written = about(name, EXAMPLES[name])
    message = to_message(written)

    from_record = decode(message.value, message.headers)
    from_line = decode(to_structured(written))

    assert from_record == from_line
    assert from_record.id == written.id
    assert from_record.source == written.source
    assert from_record.type == event_type(name)
    assert from_record.subject == written.subject
    assert without_absent(plain(from_record.data)) == json.loads(message.value or b"")


@pytest.mark.parametrize("name", WRITTEN)
def test_the_classes_of_the_kit_have_the_fields_that_are_written(name: EventName) -> None:
    compare(WRITTEN[name], EVENT_DATA[event_type(name)])


def compare(written: Any, read: Any) -> None:
    """Hold two classes, and those of their fields, to each other."""
    fields = {each.name: each for each in msgspec.structs.fields(written)}
    defaults = {each.name: each.default for each in dataclasses.fields(read)}
    hints = get_type_hints(read)
    assert defaults.keys() == fields.keys(), read
    for name, field in fields.items():
        assert (defaults[name] is dataclasses.MISSING) == (field.default is msgspec.NODEFAULT), name
        inner = zip(classes_in(field.type, msgspec.Struct), classes_in(hints[name]), strict=True)
        for one, other in inner:
            compare(one, other)


def classes_in(hint: Any, base: type | None = None) -> list[Any]:
    """Return the classes of ours that a type hint names: structs, or without `base` dataclasses."""
    if base is None and dataclasses.is_dataclass(hint):
        return [hint]
    if base is not None and isinstance(hint, type) and issubclass(hint, base) and hint is not msgspec.Raw:
        return [hint]
    return [each for part in get_args(hint) for each in classes_in(part, base)]


def test_an_index_and_a_trace_are_read_or_passed_over() -> None:
    written = msgspec.structs.replace(event(TRACE, b'{"job": [7]}'), index="00a1")
    message = to_message(written)

    read = decode(message.value, message.headers)

    assert read.index == "00a1"
    assert isinstance(read.data, Duplicate)
    assert read.data.page.meta == {"job": [7]}


def test_meta_with_a_number_that_python_converts_to_no_integer_is_read() -> None:
    message = to_message(event((), b"1" * 5_000))

    read = decode(message.value, message.headers)

    assert isinstance(read.data, Duplicate)
    assert read.data.page.meta == float("inf")


def test_headers_of_other_producers_do_not_matter() -> None:
    message = to_message(event())

    read = decode(message.value, [("x", None), *message.headers, ("y", b"\xff")])

    assert read.type == "io.neardup.duplicate.v1"


def test_headers_without_the_prefix_are_no_attributes() -> None:
    message = to_message(event())
    others = [("id", b"other"), ("source", b"/other"), ("index", b"9")]

    assert decode(message.value, [*others, *message.headers, *others]) == decode(
        message.value, message.headers
    )
    assert from_message(
        msgspec.structs.replace(message, headers=(*message.headers, *others))
    ) == from_message(message)


def test_an_event_of_another_type_keeps_its_data_as_it_is() -> None:
    line = b'{"specversion":"1.0","id":"1","source":"/x","type":"com.example.other","data":[1]}'

    assert decode(line) == CloudEvent("1", "/x", "com.example.other", "", "", "", "", [1])


def test_fields_that_are_added_later_are_ignored() -> None:
    message = to_message(event())

    assert decode(b'{"later":1,' + (message.value or b"")[1:], message.headers) == decode(
        message.value, message.headers
    )


@pytest.mark.parametrize(
    "value",
    [
        None,
        b"",
        b"[",
        b"\xff",
        b"[" * 100_000,
        b"[]",
        b"{}",
        b'{"id":"1","source":"/x"}',
        b'{"id":1}',
        b'{"id":"1","source":"/x","type":"t","index":"\\ud800"}',
    ],
    ids=[
        "none",
        "empty",
        "cut",
        "bytes",
        "deep",
        "array",
        "no-attributes",
        "no-type",
        "number-as-id",
        "half-a-character",
    ],
)
def test_what_is_no_event_is_refused(value: bytes | None) -> None:
    with pytest.raises(NotAnEvent):
        decode(value)


@pytest.mark.parametrize("value", [None, b"", b"text", b"\xff"], ids=["none", "empty", "text", "bytes"])
def test_a_record_of_another_type_whose_value_is_no_json_is_refused(value: bytes | None) -> None:
    headers = (("ce_id", b"1"), ("ce_source", b"/x"), ("ce_type", b"com.example.other"))

    with pytest.raises(NotAnEvent, match="value"):
        decode(value, headers)


@pytest.mark.parametrize("name", WRITTEN)
@pytest.mark.parametrize("data", [b"{}", b"[]", b"null", b"1"])
def test_data_that_is_not_what_its_type_promises_is_refused(name: EventName, data: bytes) -> None:
    message = to_message(about(name, EXAMPLES[name]))

    with pytest.raises(NotAnEvent, match=event_type(name)):
        decode(data, message.headers)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("version", True),
        ("version", "1"),
        ("version", 1 << 63),
        ("id", 1),
        ("id", "\ud800"),
        ("frame_share", "1"),
        ("url", None),
    ],
)
def test_a_field_of_another_class_is_refused(field: str, value: Any) -> None:
    message = to_message(event())
    data = json.loads(message.value or b"")
    data["page"][field] = value

    with pytest.raises(NotAnEvent, match="expected"):
        decode(json.dumps(data).encode(), message.headers)


def test_an_attribute_whose_header_has_no_value_is_empty() -> None:
    headers = (("ce_id", b"1"), ("ce_source", b"/x"), ("ce_type", b"com.example.other"), ("ce_subject", None))

    assert decode(b"{}", headers).subject == ""
