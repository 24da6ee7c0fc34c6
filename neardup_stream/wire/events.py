"""Encode events as CloudEvents 1.0, for Kafka messages and for lines of a file, and decode them.

In Kafka the attributes are headers and the value is the data (binary mode). A file has no headers, so one
line holds both (structured mode). Encoding is a pure function of the event: equal ids have equal bytes.
"""

import hashlib
from collections.abc import Mapping
from typing import Final, Generic, TypeVar, get_args

import msgspec

from neardup_stream.errors import CorruptData
from neardup_stream.events import (
    Archived,
    ClusterMerge,
    Contained,
    DuplicateFound,
    Event,
    EventData,
    EventName,
    data_schema_uri,
    event_type,
)
from neardup_stream.message import Headers, Message, Position, TraceHeaders
from neardup_stream.wire.times import rfc3339

__all__ = [
    "TRACE_NAMES",
    "CloudEvent",
    "event_id",
    "event_name",
    "event_source",
    "former_merge_event_id",
    "from_message",
    "input_of_source",
    "merge_event_id",
    "to_message",
    "to_structured",
    "trace_headers",
]

TRACE_NAMES = ("traceparent", "tracestate")
"""Headers of W3C Trace Context that go from a page to its events."""
_ID_BYTES = 16
_TRACE_BYTES = 1024
"""The longest `tracestate` that is copied; W3C requires 512 bytes, and a longer header is dropped."""

Data = TypeVar("Data")


class CloudEvent(msgspec.Struct, Generic[Data], frozen=True, kw_only=True):
    """An event in structured mode: CloudEvents 1.0 attributes around the data.

    Attributes:
        specversion: of CloudEvents.
        id: the same for every delivery of the same event.
        source: `/neardup/<namespace>/<input identity>`.
        type: what happened, and the version of the data's schema.
        subject: id of the page or cluster the event is about.
        time: the input record's timestamp, RFC 3339, UTC.
        datacontenttype: of `data`.
        dataschema: URI of the schema of `data`. Absent in events of earlier releases.
        index: token of the index that decided it; the greatest token in a namespace is the latest index.
            Absent in events of earlier releases.
        traceparent: W3C trace context of the input record, where it had one.
        tracestate: the same.
        data: what `type` promises.
    """

    specversion: str
    id: str
    source: str
    type: str
    subject: str
    time: str
    datacontenttype: str
    dataschema: str | msgspec.UnsetType = msgspec.UNSET
    index: str | msgspec.UnsetType = msgspec.UNSET
    traceparent: str | msgspec.UnsetType = msgspec.UNSET
    tracestate: str | msgspec.UnsetType = msgspec.UNSET
    data: Data


_EVENTS = msgspec.json.Decoder(CloudEvent[msgspec.Raw])
_NAMES: Final[Mapping[bytes, EventName]] = {event_type(name).encode(): name for name in get_args(EventName)}
_DATA = msgspec.json.Decoder(msgspec.Raw)

_FIRST: Final = 0
"""The number of an event among those of its name that one record causes, as ids have it: there is one."""


def event_source(namespace: str, input_id: str = "") -> str:
    """Return the source of the events that records of an input cause; without one, how all of them begin."""
    return f"/neardup/{namespace}/{input_id}"


def input_of_source(source: str) -> str:
    """Return the input id in the source of an event."""
    return source.rpartition("/")[2]


def event_id(name: EventName, position: Position, index: str = "") -> str:
    """Return the id of the event of this name that one record causes in an index.

    The id, 32 hexadecimal digits, depends only on the position of the record, so a record that is processed
    again gets the same event ids. In another index the record may have another outcome, so the ids differ.
    """
    partition = position.partition
    # The free text comes last, after numbers and names without NUL: two inputs never share an encoding.
    of_index = f"{index}\0" if index else ""
    return _digest(f"{of_index}{name}\0{partition.number}\0{position.offset}\0{_FIRST}\0{partition.input_id}")


def merge_event_id(absorbed_id: str, position: Position, index: str = "") -> str:
    """Return the id of the merge that one record causes of a cluster in an index.

    Within an index an absorbed cluster id is never reused, so a cluster has one merge, caused by one record.
    If the index loses that merge, and another record causes another merge of the cluster, its id differs.
    """
    partition, of_index = position.partition, f"{index}\0" if index else ""
    place = f"{partition.number}\0{position.offset}\0{absorbed_id}\0{partition.input_id}"
    return _digest(f"{of_index}cluster-merge\0{place}")


def former_merge_event_id(absorbed_id: str, index: str = "") -> str:
    """Return the id of a cluster's merge as former releases made it, without the position."""
    of_index = f"{index}\0" if index else ""
    return _digest(f"{of_index}cluster-merge\0{absorbed_id}")


def _digest(identity: str) -> str:
    return hashlib.blake2b(identity.encode(), digest_size=_ID_BYTES).hexdigest()


def event_name(message: Message) -> EventName | None:
    """Return the name of the event in a binary-mode message; None if its headers are not an event's.

    Cost: 1 µs.
    """
    return next((_NAMES.get(value or b"") for name, value in message.headers if name == "ce_type"), None)


def trace_headers(headers: Headers) -> TraceHeaders:
    """Return the first `traceparent` and the first `tracestate` among a record's headers."""
    if not headers:
        return ()
    first = dict(reversed(headers))
    values = ((name, first.get(name) or b"") for name in TRACE_NAMES)
    return tuple((name, value) for name, value in values if 0 < len(value) <= _TRACE_BYTES)


def to_message(event: Event, max_message_bytes: int | None = None) -> Message:
    """Return the event in binary mode: attributes as `ce_*` headers, the data as value, the subject as key.

    An event that would exceed the topic's message size lists fewer matches or containers; its `…_total` field
    counts all of them.

    Args:
        event: to encode.
        max_message_bytes: most bytes of key, value and headers; None for no limit.
    """
    message = _message(event)
    while max_message_bytes is not None and message.size_bytes > max_message_bytes:
        shorter = _shortened(event.data)
        if shorter is None:
            break
        event = msgspec.structs.replace(event, data=shorter)
        message = _message(event)
    return message


def _shortened(data: EventData) -> EventData | None:
    """Return the data with half of its list; None if the list has at most one item."""
    replace = msgspec.structs.replace
    match data:
        case DuplicateFound(matches=listed) if len(listed) > 1:
            return replace(data, matches=listed[: len(listed) // 2])
        case Archived(matches=listed) if len(listed) > 1:
            return replace(data, matches=listed[: len(listed) // 2])
        case Contained(containers=listed) if len(listed) > 1:
            return replace(data, containers=listed[: len(listed) // 2])
        case ClusterMerge(cause=cause) if len(cause.matches) > 1:
            return replace(data, cause=replace(cause, matches=cause.matches[: len(cause.matches) // 2]))
        case _:
            return None


def _message(event: Event) -> Message:
    subject = event.subject.encode()
    return Message(
        key=subject,
        value=msgspec.json.encode(event.data),
        headers=(
            ("ce_specversion", b"1.0"),
            ("ce_id", event.id.encode()),
            ("ce_source", event.source.encode()),
            ("ce_type", event_type(event.name).encode()),
            ("ce_subject", subject),
            ("ce_time", rfc3339(event.time_ms).encode()),
            ("ce_dataschema", data_schema_uri(event.name).encode()),
            *((("ce_index", event.index.encode()),) if event.index else ()),
            ("content-type", b"application/json"),
            *event.trace,
        ),
        timestamp_ms=event.time_ms,
    )


def to_structured(event: Event) -> bytes:
    """Return the event in structured mode: one line of JSON, without its line end."""
    trace = {name: value.decode(errors="replace") for name, value in event.trace}
    line = msgspec.json.encode(
        CloudEvent[EventData](
            specversion="1.0",
            id=event.id,
            source=event.source,
            type=event_type(event.name),
            subject=event.subject,
            time=rfc3339(event.time_ms),
            datacontenttype="application/json",
            dataschema=data_schema_uri(event.name),
            index=event.index or msgspec.UNSET,
            data=event.data,
            **trace,
        )
    )
    # A line end in JSON is white space between tokens; only `meta`, formatted by the crawler, has any.
    return line.replace(b"\n", b" ").replace(b"\r", b" ")


def from_message(message: Message) -> CloudEvent[msgspec.Raw]:
    """Return the event in a message of either mode, its data still JSON.

    Raises:
        CorruptData: the message carries no event.
    """
    headers = {name: (value or b"").decode(errors="replace") for name, value in message.headers}
    try:
        if "ce_id" not in headers:
            return _EVENTS.decode(message.value or b"")
        attributes = {name: headers[name] for name in TRACE_NAMES if name in headers} | {
            name.removeprefix("ce_"): value for name, value in headers.items() if name.startswith("ce_")
        }
        return msgspec.convert(
            {
                **attributes,
                "datacontenttype": headers.get("content-type", "application/json"),
                "data": _DATA.decode(message.value or b""),
            },
            CloudEvent[msgspec.Raw],
        )
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise CorruptData(f"no event in the message with key {message.key!r}: {error}") from error
