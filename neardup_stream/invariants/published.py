"""Index the events of a history by id without holding them in memory."""

from array import array
from collections.abc import Iterator, Sequence
from hashlib import blake2b
from typing import NamedTuple

import msgspec

from neardup_stream.errors import CorruptData
from neardup_stream.event_parts import EventCluster, Representative
from neardup_stream.events import (
    EVENT_DECODERS,
    EVENT_NAMES,
    Archived,
    ClusterMerge,
    DuplicateFound,
    EventData,
    EventName,
    Gone,
    RepresentativeChanged,
    Undecided,
    UniqueFound,
)
from neardup_stream.invariants.hashed import Numbers, hash64
from neardup_stream.message import Message
from neardup_stream.wire.events import CloudEvent, from_message, input_of_source

__all__ = ["PublishedEvent", "PublishedEvents"]

_SHOWN_BYTES = 60
"""Of a message without a key."""


class PublishedEvent(NamedTuple):
    """One event, delivered once or more often.

    Attributes:
        number: index of its first delivery.
        id: of the event.
        name: of the event.
        input_id: input of the record that caused it.
        data: of the event.
        message: as first delivered.
    """

    number: int
    id: str
    name: EventName
    input_id: str
    data: EventData
    message: Message


class PublishedEvents:
    """The events of one index, each as first delivered.

    Args:
        events: all deliveries.
        index: token of the index.

    Attributes:
        unreadable: why messages are not events of ours.
        clashing: names and ids of events whose payloads differ, once for each differing delivery, of any
            index.

    Cost: 60 bytes of memory for each delivery; 15 µs for each event that is read.
    """

    def __init__(self, events: Sequence[Message], index: str) -> None:
        self._events = events
        self._index = index
        self.unreadable: list[str] = []
        self._read = array("I")
        self._ids, self._payloads = array("Q"), array("Q")
        self._is_ours = bytearray()
        self._outcome_of, self._outcomes = array("I"), array("Q")
        self._named, self._archived = array("Q"), array("Q")
        for number, message in enumerate(events):
            self._take_in(number, message)
        self._by_id = Numbers(self._ids)
        self.clashing = list(self._clashes())
        self._has_first = self._firsts()
        first_outcomes = [place for place, at in enumerate(self._outcome_of) if self._has_first[at]]
        self._outcome_of = array("I", (self._outcome_of[place] for place in first_outcomes))
        self._by_outcome = Numbers(array("Q", (self._outcomes[place] for place in first_outcomes)))
        self._by_named, self._by_archived = Numbers(self._named), Numbers(self._archived)
        del self._ids, self._payloads, self._outcomes, self._named, self._archived

    def __iter__(self) -> Iterator[PublishedEvent]:
        """Yield all events in the order of their first delivery."""
        return (self._event_at(at) for at, is_first in enumerate(self._has_first) if is_first)

    def get(self, event_id: str) -> PublishedEvent | None:
        """Return the event with this id, if there is one."""
        found = (self._event_at(at) for at in self._by_id.of(hash64(event_id)) if self._has_first[at])
        return next((event for event in found if event.id == event_id), None)

    def data_at(self, number: int) -> EventData:
        """Return the data of the delivery with this index."""
        event = from_message(self._events[number])
        return EVENT_DECODERS[event.type].decode(event.data)

    @property
    def numbers(self) -> "array[int]":
        """Return the indexes of the events' messages among all deliveries."""
        return array("I", (self._read[at] for at, is_first in enumerate(self._has_first) if is_first))

    def has_outcome(self, page_id: str, version: int) -> bool:
        """Return whether an event reports the outcome of a version of a page."""
        return _key(page_id, version) in self._by_outcome

    def is_named(self, page_id: str, version: int) -> bool:
        """Return whether a version of a page was ever named as a representative."""
        return _key(page_id, version) in self._by_named

    def is_archived(self, page_id: str, version: int) -> bool:
        """Return whether a page version has an `archived` event."""
        return _key(page_id, version) in self._by_archived

    def repeated_outcomes(self) -> Iterator[list[PublishedEvent]]:
        """Yield groups of events that report the outcome of the same page version."""
        for _, group in self._by_outcome.repeated():
            yield [self._event_at(self._outcome_of[place]) for place in group]

    def _take_in(self, number: int, message: Message) -> None:
        try:
            event = from_message(message)
            data = EVENT_DECODERS[event.type].decode(event.data)
        except KeyError:
            return  # another producer's
        except (CorruptData, msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            start = (message.value or b"")[:_SHOWN_BYTES]
            known = f"with key {message.key!r}" if message.key else f"that begins with {start!r}"
            self.unreadable.append(f"the message {known} cannot be read: {error}")
            return
        at = len(self._read)
        self._read.append(number)
        self._ids.append(hash64(event.id))
        self._payloads.append(_payload(message))
        is_ours = (event.index or "") == self._index
        self._is_ours.append(is_ours)
        if is_ours:
            self._take_in_ours(at, data)

    def _take_in_ours(self, at: int, data: EventData) -> None:
        match data:
            case DuplicateFound(page=page) | UniqueFound(page=page) | Undecided(page=page) | Gone(page=page):
                self._outcome_of.append(at)
                self._outcomes.append(_key(page.id, page.version))
            case Archived(page=page):
                self._archived.append(_key(page.id, page.version))
            case _:
                pass
        self._named.extend(_key(each.id, each.version) for each in _representatives(data))

    def _clashes(self) -> Iterator[tuple[EventName, str]]:
        """Yield the deliveries whose payload differs from that of the first one with the same id."""
        clashing = (
            at
            for _, group in self._by_id.repeated()
            for at in group[1:]
            if self._payloads[at] != self._payloads[group[0]]
        )
        for at in sorted(clashing):
            event = self._event_at(at)
            yield event.name, event.id

    def _firsts(self) -> bytearray:
        """Return for each delivery whether it is the first of its event, in this index."""
        found = bytearray(self._is_ours)
        for _, group in self._by_id.repeated():
            for at in [at for at in group if self._is_ours[at]][1:]:
                found[at] = False
        return found

    def _event_at(self, at: int) -> PublishedEvent:
        number = self._read[at]
        message = self._events[number]
        event: CloudEvent[msgspec.Raw] = from_message(message)
        name, decoder = EVENT_NAMES[event.type], EVENT_DECODERS[event.type]
        input_id = input_of_source(event.source)
        return PublishedEvent(number, event.id, name, input_id, decoder.decode(event.data), message)


def _key(page_id: str, version: int) -> int:
    return hash64(f"{version} {page_id}")


def _payload(message: Message) -> int:
    """Return a digest of what must be equal each time; excludes the time of the delivery."""
    parts = msgspec.msgpack.encode((message.key, message.value, tuple(message.headers)))
    return int.from_bytes(blake2b(parts, digest_size=8).digest(), "big")


def _representatives(data: EventData) -> Iterator[Representative]:
    match data:
        case DuplicateFound(cluster=EventCluster() as cluster):
            yield cluster.representative
        case ClusterMerge(survivor=survivor, absorbed=absorbed):
            yield survivor.representative
            yield absorbed.representative
        case RepresentativeChanged(representative=representative):
            yield representative
