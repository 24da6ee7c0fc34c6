"""Fold the retained events to what subscribers hold of the pages of a namespace, for `recover`."""

from collections.abc import Iterable, Iterator

import msgspec

from neardup_stream.errors import CorruptData
from neardup_stream.event_parts import EventCluster
from neardup_stream.events import (
    EVENT_DECODERS,
    ClusterMerge,
    DuplicateFound,
    EventData,
    Gone,
    RepresentativeChanged,
    Undecided,
    UniqueFound,
)
from neardup_stream.fold import Fold
from neardup_stream.message import Record
from neardup_stream.wire.events import event_source, from_message

__all__ = ["PublishedPages"]


class PublishedPages:
    """Folds the events of one namespace.

    Args:
        namespace: events of others are passed over.

    Attributes:
        fold: of its latest index.
        highest_version: of any page, in any index.
        unreadable_count: messages that are no events.
    """

    def __init__(self, namespace: str) -> None:
        self.fold = Fold()
        self.highest_version = 0
        self.unreadable_count = 0
        self._prefix = event_source(namespace)
        self._urls: dict[str, str] = {}

    def feed(self, records: Iterable[Record]) -> None:
        """Take in messages of the events topic."""
        for record in records:
            message = record.message()
            try:
                event = from_message(message)
                decoder = EVENT_DECODERS.get(event.type)
                if decoder is None or not event.source.startswith(self._prefix):
                    continue
                for page_id, url, version in _named(decoder.decode(event.data)):
                    self.highest_version = max(self.highest_version, version)
                    if url != page_id:
                        self._urls[page_id] = url
                self.fold.feed(event)
            except (CorruptData, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
                self.unreadable_count += 1

    def clustered(self) -> set[str]:
        """Return the ids of pages that are in clusters of two or more."""
        return {page_id for members in self.fold.clusters().values() for page_id in members}

    def url_of(self, page_id: str) -> str:
        """Return the address of a page, as an event named it."""
        return self._urls.get(page_id, page_id)


def _named(data: EventData) -> Iterator[tuple[str, str, int]]:
    """Id, URL and version of the pages that an event puts somewhere."""
    pages: tuple[object, ...] = ()
    match data:
        case DuplicateFound(page=page, cluster=EventCluster() as cluster):
            pages = (page, cluster.representative)
        case DuplicateFound(page=page) | UniqueFound(page=page) | Gone(page=page) | Undecided(page=page):
            pages = (page,)
        case ClusterMerge(survivor=survivor, absorbed=absorbed):
            pages = (survivor.representative, absorbed.representative)
        case RepresentativeChanged(former=former, representative=representative):
            pages = (former, representative)
    for each in pages:
        yield each.id, each.url, each.version  # type: ignore[attr-defined] # all of them are pages
