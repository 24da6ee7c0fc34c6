"""Builds the events that correct subscribers after an index was built anew: where its pages are now. Pure.

Each correction is true of the new index by itself, so subscribers may act on them one by one:

    a duplicate                       `duplicate`, with its representative as the one match
    alone, and was held in a cluster  `unique`, or `undecided` where it is too short
    the representative of a cluster   `unique`, where all such events are wanted: it stood alone when it came
    left to the archives              `undecided`, reason `archived`
    forgotten                         `gone`
    held in a cluster, and not there  `undecided`, reason `lost`: its text is not known any more
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from neardup_stream.clusters.placements import ClusterState
from neardup_stream.event_parts import EventPage, GonePage, OwnCluster
from neardup_stream.events import (
    DuplicateFound,
    Event,
    EventData,
    EventName,
    Gone,
    Undecided,
    UniqueFound,
    event_subject,
)
from neardup_stream.message import Partition, Position
from neardup_stream.page import Handle, PageId
from neardup_stream.pipeline.candidate_comparison import compare
from neardup_stream.pipeline.classification import VerdictConfig
from neardup_stream.pipeline.event_building import event_cluster, event_match
from neardup_stream.stores.page_record import PageRecord
from neardup_stream.wire.events import event_id, event_source
from neardup_stream.wire.times import rfc3339

__all__ = ["LOST_INPUT", "Corrections"]

LOST_INPUT = "recover"
"""Input identity of events about pages that no input holds any more."""


@dataclass(frozen=True, slots=True)
class Corrections:
    """Makes the events of one new index.

    Attributes:
        namespace: what the operator calls it.
        index_token: its token.
        version_floor: above every page version that was published before, and below all of the new index.
        time_ms: when they are made, epoch milliseconds.
        verdict: how pages are compared.
    """

    namespace: str
    index_token: str
    version_floor: int
    time_ms: int
    verdict: VerdictConfig

    def of_cluster(
        self,
        cluster: ClusterState,
        representative: PageRecord,
        members: Iterable[tuple[Handle, PageRecord]],
    ) -> Iterator[Event]:
        """Say of each member but the representative that it is a duplicate.

        Args:
            cluster: as it is.
            representative: its record.
            members: handles and records of some, or all.
        """
        representative_handle = cluster.representative.handle
        for handle, record in members:
            if handle == representative_handle:
                continue
            compared = compare(record, representative_handle, representative, self.verdict)
            duplicate = DuplicateFound(
                page=self._page(record),
                kind=compared.kind,
                cluster=event_cluster(cluster),
                matches=(event_match(compared),),
                matches_total=1,
                representative_distance_bits=compared.distance_bits,
            )
            yield self._event("duplicate", record.maker, duplicate)

    def of_own_cluster(self, record: PageRecord, cluster: ClusterState) -> Event:
        """Say that a living page stands alone, or stood alone before the others of its cluster came."""
        if record.is_uncompared:
            reason: Final = "too_short" if record.state == "short" else "archived"
            undecided = Undecided(page=self._page(record), reason=reason)
            return self._event("undecided", record.maker, undecided)
        own = OwnCluster(id=cluster.id, epoch=cluster.epoch)
        return self._event("unique", record.maker, UniqueFound(page=self._page(record), cluster=own))

    def of_forgotten_page(self, record: PageRecord) -> Event:
        """Say that a page was forgotten."""
        page = GonePage(id=record.id, url=record.url, version=record.version)
        return self._event("gone", record.maker, Gone(page=page))

    def of_lost_page(self, page_id: PageId, url: str, number: int) -> Event:
        """Say that a page is not known any more; each has a number of its own."""
        page = EventPage(
            id=page_id,
            url=url,
            version=self.version_floor,
            fetched_at=rfc3339(self.time_ms),
            fingerprint="0",
        )
        at = Position(Partition(LOST_INPUT, 0), number)
        return self._event("undecided", at, Undecided(page=page, reason="lost"))

    def _page(self, record: PageRecord) -> EventPage:
        return EventPage(
            id=record.id,
            url=record.url,
            version=record.version,
            fetched_at=rfc3339(1000 * record.seen_seconds),
            fingerprint=str(record.fingerprint),
        )

    def _event(self, name: EventName, at: Position, data: EventData) -> Event:
        return Event(
            id=event_id(name, at, self.index_token),
            name=name,
            source=event_source(self.namespace, at.partition.input_id),
            subject=event_subject(data),
            time_ms=self.time_ms,
            data=data,
            index=self.index_token,
        )
