"""A history, sorted so that each invariant finds what it asks for."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

import msgspec

from neardup_stream.errors import CorruptData
from neardup_stream.events import (
    EVENT_DATA,
    Archived,
    ClusterMerge,
    DuplicateFound,
    EventCluster,
    EventData,
    EventName,
    Gone,
    Representative,
    RepresentativeChanged,
    Undecided,
    UniqueFound,
    event_type,
)
from neardup_stream.invariants.history import Expectations, History, StoredCluster
from neardup_stream.invariants.inputs import Input
from neardup_stream.invariants.packed_records import RecordsById
from neardup_stream.message import Message, Partition, Position, topic_of
from neardup_stream.page import Handle, PageId
from neardup_stream.stores.page_record import PageRecord
from neardup_stream.wire.events import event_id, from_message

__all__ = ["Evidence", "Telling", "shown", "where"]

_DECODERS: dict[str, tuple[EventName, msgspec.json.Decoder[EventData]]] = {
    event_type(name): (name, msgspec.json.Decoder(data)) for name, data in EVENT_DATA.items()
}
_NAMES_OF_A_RECORD: tuple[EventName, ...] = tuple(name for name in EVENT_DATA if name != "cluster-merge")
"""A merge's id comes from the absorbed cluster, every other one from the position."""

_SHOWN_NAMES = 5


class Telling(NamedTuple):
    """One event, however often it was delivered.

    Attributes:
        id: of the event.
        name: what happened.
        input_id: where the record that caused it came from.
        data: as promised.
        message: as it was delivered first.
    """

    id: str
    name: EventName
    input_id: str
    data: EventData
    message: Message


class Evidence:
    """What the invariants are judged by.

    Args:
        history: what was read.
        expectations: what may be concluded from it.

    Attributes:
        told: the events of the stored index, by id.
        unreadable: why messages of the events topic are no events of ours.
        clashing: names and ids of events whose payloads differ, once for each delivery that does; of whatever
            index.
    """

    def __init__(self, history: History, expectations: Expectations) -> None:
        self.history = history
        self.expectations = expectations
        self.told: dict[str, Telling] = {}
        self._first: dict[str, Message] = {}
        self.unreadable: list[str] = []
        self.clashing: list[tuple[EventName, str]] = []
        for message in history.events:
            self._take_in(message)

    @cached_property
    def records(self) -> Mapping[PageId, PageRecord]:
        """By page id."""
        return RecordsById(self.handles, self.history.records)

    @cached_property
    def handles(self) -> Mapping[PageId, Handle]:
        """By page id."""
        return {record.id: handle for handle, record in self.history.records.items()}

    @cached_property
    def cluster_of(self) -> Mapping[Handle, str]:
        """Ids of the stored clusters, by member."""
        return {
            handle: cluster_id
            for cluster_id, cluster in self.history.clusters.items()
            for handle in cluster.members
        }

    @cached_property
    def dead(self) -> frozenset[tuple[str, int, int]]:
        """Topic, partition and offset of the records that became dead letters."""
        return frozenset(
            origin for letter in self.history.dead_letters if (origin := _origin(letter)) is not None
        )

    @cached_property
    def named(self) -> frozenset[tuple[str, int]]:
        """Id and version of every page that was ever named as a representative."""
        return frozenset(
            (speaker.id, speaker.version)
            for telling in self.told.values()
            for speaker in _speakers(telling.data)
        )

    @cached_property
    def outcomes(self) -> Mapping[tuple[str, int], Sequence[Telling]]:
        """By id and version of a page, the events that report its outcome."""
        found: defaultdict[tuple[str, int], list[Telling]] = defaultdict(list)
        for telling in self.told.values():
            match telling.data:
                case (
                    DuplicateFound(page=page)
                    | UniqueFound(page=page)
                    | Undecided(page=page)
                    | Gone(page=page)
                ):
                    found[page.id, page.version].append(telling)
        return found

    @cached_property
    def archived(self) -> frozenset[tuple[str, int]]:
        """Id and version of every page that has an `archived` event."""
        pages = (told.data.page for told in self.told.values() if isinstance(told.data, Archived))
        return frozenset((page.id, page.version) for page in pages)

    @cached_property
    def inputs_by_page(self) -> Mapping[PageId, Sequence[Input]]:
        """By page id; a forget counts for every page that it may mean."""
        found: defaultdict[PageId, list[Input]] = defaultdict(list)
        for each in self.history.inputs:
            for page_id in each.page_ids:
                found[page_id].append(each)
        return found

    @cached_property
    def first_offsets(self) -> Mapping[Partition, int]:
        """The first offset that is kept of each partition; earlier records had their events too."""
        first = dict(self.history.committed)
        for each in self.history.inputs:
            partition, offset = each.position.partition, each.position.offset
            first[partition] = min(offset, first.get(partition, offset))
        return first

    def events_at(self, position: Position) -> dict[EventName, Telling]:
        """What was told because of the record there, merges apart."""
        ids = ((name, event_id(name, position, self.history.index_token)) for name in _NAMES_OF_A_RECORD)
        return {name: self.told[each] for name, each in ids if each in self.told}

    def is_dead(self, position: Position) -> bool:
        """Whether the record there is a dead letter."""
        partition = position.partition
        return (topic_of(partition.input_id), partition.number, position.offset) in self.dead

    def is_committed(self, position: Position) -> bool:
        """Whether the group has gone on behind it."""
        return position.offset < self.history.committed.get(position.partition, 0)

    def living(self, cluster: StoredCluster) -> frozenset[str]:
        """Ids of the members that are not about to go, or gone."""
        records = (self.history.records.get(handle) for handle in cluster.members)
        return frozenset(record.id for record in records if record is not None and record.is_kept)

    def _take_in(self, message: Message) -> None:
        try:
            event = from_message(message)
            name, decoder = _DECODERS[event.type]
            data = decoder.decode(event.data)
        except KeyError:
            return  # of somebody else
        except (CorruptData, msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            self.unreadable.append(f"the message with key {message.key!r} cannot be read: {error}")
            return
        if _payload(self._first.setdefault(event.id, message)) != _payload(message):
            self.clashing.append((name, event.id))
        if (event.index or "") == self.history.index_token:
            input_id = event.source.rpartition("/")[2]
            self.told.setdefault(event.id, Telling(event.id, name, input_id, data, message))


def where(position: Position) -> str:
    """A position for a person."""
    return f"{position.partition.input_id}-{position.partition.number}@{position.offset}"


def shown(names: frozenset[str] | set[str]) -> str:
    """Some names for a person: the first few, and how many more."""
    first = ", ".join(sorted(names)[:_SHOWN_NAMES])
    return f"{first} and {len(names) - _SHOWN_NAMES} more" if len(names) > _SHOWN_NAMES else first or "none"


def _payload(message: Message) -> tuple[object, ...]:
    """What must be the same each time; a broker may stamp each delivery with a time of its own."""
    return message.key, message.value, tuple(message.headers)


def _speakers(data: EventData) -> Iterator[Representative]:
    match data:
        case DuplicateFound(cluster=EventCluster() as cluster):
            yield cluster.representative
        case ClusterMerge(survivor=survivor, absorbed=absorbed):
            yield survivor.representative
            yield absorbed.representative
        case RepresentativeChanged(representative=representative):
            yield representative


def _origin(letter: Message) -> tuple[str, int, int] | None:
    """Where a dead letter's record stood; None where its headers do not say."""
    said = {name: content.decode(errors="replace") for name, content in letter.headers}
    try:
        number, offset = int(said["neardup.error.partition"]), int(said["neardup.error.offset"])
        return said["neardup.error.topic"], number, offset
    except (KeyError, ValueError):
        return None
