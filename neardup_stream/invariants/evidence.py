"""Index a history by what the invariants look up."""

from array import array
from collections.abc import Iterator, Mapping
from functools import cached_property

from neardup_stream.events import EVENT_DATA, EventName
from neardup_stream.invariants.hashed import Numbers, hash64
from neardup_stream.invariants.history import Expectations, History, StoredCluster
from neardup_stream.invariants.inputs import Input
from neardup_stream.invariants.packed_records import RecordsById
from neardup_stream.invariants.published import PublishedEvent, PublishedEvents
from neardup_stream.message import Message, Partition, Position, topic_of
from neardup_stream.page import Handle, PageId
from neardup_stream.wire.events import event_id

__all__ = ["Evidence", "PublishedEvent", "shown", "where"]

_NAMES_OF_A_RECORD: tuple[EventName, ...] = tuple(name for name in EVENT_DATA if name != "cluster-merge")
"""The id of a merge depends on the absorbed cluster and the position, other ids on the position alone."""

_SHOWN_NAMES = 5


class Evidence:
    """The history and its indexes.

    Args:
        history: what was read.
        expectations: what may be concluded from it.

    Attributes:
        published: the events of the stored index.
        unreadable: why messages of the events topic are not events of ours.
        clashing: names and ids of events whose payloads differ, once for each differing delivery, of any
            index.
    """

    def __init__(self, history: History, expectations: Expectations) -> None:
        self.history = history
        self.expectations = expectations
        self.published = PublishedEvents(history.events, history.index_token)
        self.unreadable = self.published.unreadable
        self.clashing = self.published.clashing
        self._partitions: dict[PageId, frozenset[Partition]] = {}

    @cached_property
    def records(self) -> RecordsById:
        """Return the page records by page id."""
        return RecordsById(self.history.records)

    @cached_property
    def cluster_of(self) -> Mapping[Handle, str]:
        """Return the ids of the stored clusters by member."""
        return {
            handle: cluster_id
            for cluster_id, cluster in self.history.clusters.items()
            for handle in cluster.members
        }

    @cached_property
    def dead(self) -> frozenset[tuple[str, int, int]]:
        """Return the topic, partition and offset of the records that became dead letters."""
        return frozenset(
            origin for letter in self.history.dead_letters if (origin := _origin(letter)) is not None
        )

    @cached_property
    def _numbers_of_inputs(self) -> tuple[Numbers, "array[int]"]:
        """Return by page id the indexes in a list of input numbers.

        A forget counts for each page it may mean.
        """
        hashes, numbers = array("Q"), array("I")
        for number, each in enumerate(self.history.inputs):
            for page_id in each.page_ids:
                hashes.append(hash64(page_id))
                numbers.append(number)
        return Numbers(hashes), numbers

    def inputs_of(self, page_id: PageId) -> list[Input]:
        """Return the records that bring a page, or may mean it."""
        places, numbers = self._numbers_of_inputs
        found = (self.history.inputs[numbers[place]] for place in places.of(hash64(page_id)))
        return [each for each in found if page_id in each.page_ids]

    def partitions_of(self, page_id: PageId) -> frozenset[Partition]:
        """Return the partitions that bring a page, or may mean it; found once for each page that is asked."""
        if page_id not in self._partitions:
            found = (each.position.partition for each in self.inputs_of(page_id))
            self._partitions[page_id] = frozenset(found)
        return self._partitions[page_id]

    def repeated_pages(self) -> Iterator[tuple[PageId, list[Input]]]:
        """Yield the pages that several records contain or may mean, with these records."""
        places, numbers = self._numbers_of_inputs
        for key_hash, group in places.repeated():
            inputs = [self.history.inputs[numbers[place]] for place in group]
            ids = {page_id for each in inputs for page_id in each.page_ids if hash64(page_id) == key_hash}
            for page_id in ids:
                yield page_id, [each for each in inputs if page_id in each.page_ids]

    @cached_property
    def first_offsets(self) -> Mapping[Partition, int]:
        """Return the first retained offset of each partition; earlier records had their events too."""
        first = dict(self.history.committed)
        for each in self.history.inputs:
            partition, offset = each.position.partition, each.position.offset
            first[partition] = min(offset, first.get(partition, offset))
        return first

    def events_at(self, position: Position) -> dict[EventName, PublishedEvent]:
        """Return the events that the record at a position caused, except merges."""
        ids = ((name, event_id(name, position, self.history.index_token)) for name in _NAMES_OF_A_RECORD)
        found = ((name, self.published.get(each)) for name, each in ids)
        return {name: event for name, event in found if event is not None}

    def is_dead(self, position: Position) -> bool:
        """Return whether the record there is a dead letter."""
        partition = position.partition
        return (topic_of(partition.input_id), partition.number, position.offset) in self.dead

    def is_committed(self, position: Position) -> bool:
        """Return whether the group has committed past a position."""
        return position.offset < self.history.committed.get(position.partition, 0)

    def living(self, cluster: StoredCluster) -> frozenset[str]:
        """Return the ids of the members that are neither expired nor expiring."""
        records = (self.history.records.get(handle) for handle in cluster.members)
        return frozenset(record.id for record in records if record is not None and record.is_kept)


def where(position: Position) -> str:
    """Return a position as text."""
    return f"{position.partition.input_id}-{position.partition.number}@{position.offset}"


def shown(names: frozenset[str] | set[str]) -> str:
    """Return some names as text: the first few, and how many more."""
    first = ", ".join(sorted(names)[:_SHOWN_NAMES])
    return f"{first} and {len(names) - _SHOWN_NAMES} more" if len(names) > _SHOWN_NAMES else first or "none"


def _origin(letter: Message) -> tuple[str, int, int] | None:
    """Return the position of a dead letter's record; None if its headers do not contain it."""
    said = {name: (content or b"").decode(errors="replace") for name, content in letter.headers}
    try:
        number, offset = int(said["neardup.error.partition"]), int(said["neardup.error.offset"])
        return said["neardup.error.topic"], number, offset
    except (KeyError, ValueError):
        return None
