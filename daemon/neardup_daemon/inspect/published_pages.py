"""Fold the retained events to what subscribers hold of the pages of a namespace, for `recover`.

A subscriber acts on the events of one index after the other, and the first event of a later index takes
nothing back: a copy that was deleted stays deleted until an event names its page. So what an index said of a
page holds until a later one names the page. Each recovery that ended has named all pages that earlier
indexes had in clusters. One that was killed while it published has named some, and the next one owes the
others their events. So does one after an index that was made anew in the same topic without any recovery, as
after Redis was emptied and the offsets were set back: it names only the pages that it has in clusters.
"""

from collections import defaultdict
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
    """Folds the events of one namespace, those of each index by themselves, in any order.

    Memory: of a `Fold` for each index of which events are retained.

    Args:
        namespace: events of others are passed over.

    Attributes:
        highest_version: of any page, in any index.
        unreadable_count: messages that are no events.
    """

    def __init__(self, namespace: str) -> None:
        self._folds: defaultdict[str, Fold] = defaultdict(Fold)
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
                self._folds[event.index or ""].feed(event)
            except (CorruptData, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
                self.unreadable_count += 1

    @property
    def index(self) -> str:
        """Token of the latest index; empty before any event, and for one without."""
        return max(self._folds, default="")

    def clustered(self) -> set[str]:
        """Return the ids of pages that were in clusters of two or more in the last index that names them."""
        clustered: set[str] = set()
        named: set[str] = set()
        for _, fold in sorted(self._folds.items(), reverse=True):
            members = (page_id for pages in fold.clusters().values() for page_id in pages)
            clustered.update(page_id for page_id in members if page_id not in named)
            named.update(fold.knowledge.places)
        return clustered

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
