"""Decodes CloudEvents: Kafka records in binary mode, and JSON in structured mode."""

import json
import types
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, dataclass, fields, is_dataclass
from typing import Any, Final, Union, get_args, get_origin, get_type_hints

from .events import EVENT_DATA, EventData

__all__ = ["CloudEvent", "NotAnEvent", "decode"]

_Reader = Callable[[Any], Any]

_PREFIX: Final = "ce_"
_BITS_OF_NUMBERS: Final = 63
_LONG_NUMBER_DIGITS: Final = 4_000
"""Python converts no integer of more than 4,300 digits, and `meta` may hold one."""


class NotAnEvent(ValueError):  # noqa: N818 - a statement about what was read
    """The record is no CloudEvent, or its data is not what its type promises."""


@dataclass(frozen=True, slots=True)
class CloudEvent:
    """An event: its CloudEvents 1.0 attributes and its data.

    Attributes:
        id: with `source` the same for every delivery of the same event.
        source: `/neardup/<namespace>/<input identity>`.
        type: what happened, and the version of the data's schema.
        subject: id of the page or cluster that the event is about.
        time: the input record's timestamp, RFC 3339, UTC.
        index: token of the index that decided it; of two of one namespace the greater is the later one. Empty
            for an index without one.
        dataschema: URI of the schema of `data`; empty in events of former releases.
        data: an object of the type's class; the JSON as it is for a type that is not ours.
    """

    id: str
    source: str
    type: str
    subject: str
    time: str
    index: str
    dataschema: str
    data: EventData | Any


def decode(value: bytes | None, headers: Iterable[tuple[str, bytes | None]] | None = None) -> CloudEvent:
    """Return the event that a Kafka record carries, or a line of a file.

    Args:
        value: of the record: the data alone where headers hold the attributes, else attributes and data.
        headers: of the record, as aiokafka and confluent-kafka give them.

    Raises:
        NotAnEvent: it carries none.
    """
    attributes = {
        name.removeprefix(_PREFIX): (text or b"").decode(errors="replace")
        for name, text in headers or ()
        if name.startswith(_PREFIX)
    }
    body = _parsed(value)
    if "id" in attributes:
        return _event(attributes, body)
    if not isinstance(body, dict):
        raise NotAnEvent("the record has no header ce_id, and its value is no JSON object")
    return _event(body, body.get("data"))


def _parsed(value: bytes | None) -> Any:
    if value is None:
        raise NotAnEvent("the record has no value")
    try:
        text = value.decode()
        try:
            return json.loads(text)
        except json.JSONDecodeError:
            raise
        except ValueError:  # a number that is too long for Python
            return json.loads(text, parse_int=_number)
    except (ValueError, RecursionError) as error:
        raise NotAnEvent(f"the value is no JSON: {error}") from error


def _number(digits: str) -> int | float:
    return int(digits) if len(digits) < _LONG_NUMBER_DIGITS else float(digits)


def _event(attributes: Mapping[str, Any], body: Any) -> CloudEvent:
    names = ("id", "source", "type", "subject", "time", "index", "dataschema")
    texts = {name: attributes.get(name, "") for name in names}
    wrong = [name for name, text in texts.items() if not isinstance(text, str)]
    missing = [name for name in names[:3] if not texts[name]]
    if wrong or missing:
        raise NotAnEvent(f"attributes are missing ({missing}) or no strings ({wrong})")
    reader = _READERS.get(texts["type"])
    try:
        for text in texts.values():
            _require_characters(text)
        return CloudEvent(**texts, data=reader(body) if reader else body)
    except (_MismatchError, RecursionError) as error:
        raise NotAnEvent(f"event {texts['id']!r} is no {texts['type']}: {error}") from error


class _MismatchError(Exception):
    """A value is not of the class that a field promises."""


def _reader_of(hint: Any) -> _Reader:
    """Return the function that checks a JSON value and makes what a type hint asks for."""
    if hint is Any:
        return _any
    if is_dataclass(hint):
        return _reader_of_class(hint)
    if get_origin(hint) is tuple:
        return _reader_of_tuple(_reader_of(get_args(hint)[0]))
    if get_origin(hint) in (Union, types.UnionType):
        (some,) = [each for each in get_args(hint) if each is not type(None)]
        return _reader_of(some)  # None stands for an absent field, never for a null
    return _reader_of_scalar((float, int) if hint is float else (hint,))


def _any(value: Any) -> Any:
    return value


def _reader_of_scalar(classes: tuple[type, ...]) -> _Reader:
    def read(value: Any) -> Any:
        if type(value) not in classes:  # True is no number here
            raise _MismatchError(f"{classes[0].__name__} expected, not {type(value).__name__}")
        if type(value) is int and value.bit_length() > _BITS_OF_NUMBERS:
            raise _MismatchError(f"a number of {_BITS_OF_NUMBERS} bits expected")
        if type(value) is str:
            _require_characters(value)
        return value

    return read


def _require_characters(text: str) -> None:
    """Raise for half of a surrogate pair, which JSON can name and no file can hold."""
    if text.isascii():
        return
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise _MismatchError(f"text expected: {error.reason}") from error


def _reader_of_tuple(read_item: _Reader) -> _Reader:
    def read(value: Any) -> Any:
        if type(value) is not list:
            raise _MismatchError(f"array expected, not {type(value).__name__}")
        return tuple(map(read_item, value))

    return read


def _reader_of_class(described: Any) -> _Reader:
    hints = get_type_hints(described)
    parts = [(field.name, _reader_of(hints[field.name]), field.default) for field in fields(described)]

    def read(value: Any) -> Any:
        if type(value) is not dict:
            raise _MismatchError(f"object expected, not {type(value).__name__}")
        found = []
        for name, read_part, default in parts:
            if name in value:
                found.append(read_part(value[name]))
            elif default is MISSING:
                raise _MismatchError(f"`{name}` is missing")
            else:
                found.append(default)
        return described(*found)

    return read


_READERS = {event_type: _reader_of(data) for event_type, data in EVENT_DATA.items()}
