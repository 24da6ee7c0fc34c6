"""Publishes the corrections of an index that was built anew: for `recover`."""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from functools import partial
from itertools import groupby
from operator import itemgetter

from neardup_daemon.failpoints import with_failpoints
from neardup_daemon.inspect.published_pages import PublishedPages
from neardup_daemon.kafka_wiring import kafka_sink
from neardup_daemon.settings.settings import Settings
from neardup_daemon.wiring import Stores
from neardup_stream.chunks import in_chunks
from neardup_stream.clusters.clusters import Clusters
from neardup_stream.clusters.placements import ClusterState, lone_cluster_id
from neardup_stream.clusters.requests import PageVersion
from neardup_stream.clusters.walking import WalkedCluster
from neardup_stream.events import Event
from neardup_stream.message import Message
from neardup_stream.page import Handle, PageId
from neardup_stream.pipeline.corrections import Corrections
from neardup_stream.pipeline.fetching import fetch_records
from neardup_stream.pipeline.retries import Retries
from neardup_stream.stores.page_record import PageRecord
from neardup_stream.stores.protocol import all_records
from neardup_stream.wire.events import to_message

__all__ = ["Publisher"]

_AT_ONCE = 500
"""Records that are fetched, and events that are sent, together."""


class Publisher:
    """Publish the corrections that subscribers need for a new index.

    Args:
        settings: topics and which events are wanted.
        retries: runs each step.
        stores: the new index.
        corrections: makes the events.
        published: the state of subscribers.
    """

    def __init__(
        self,
        settings: Settings,
        retries: Retries,
        stores: Stores,
        corrections: Corrections,
        published: PublishedPages,
    ) -> None:
        self.page_count = self.cluster_count = self.event_count = 0
        self.lost: list[str] = []
        self._settings = settings
        self._retry = retries.retry
        self._stores = stores
        self._corrections = corrections
        self._published = published
        self._held = published.clustered()
        self._clustered: set[Handle] = set()

    async def publish(
        self, begin: Callable[[], Awaitable[None]], require_whole: Callable[[], Awaitable[None]]
    ) -> None:
        """Send everything, and await every acknowledgement.

        Args:
            begin: called once the topic can be written, before anything is; again if it raises Unavailable.
            require_whole: called before pages are published as lost; raises where Redis lost them.
        """
        waiting: list[Message] = []
        topic = self._settings.kafka.events_topic
        async with AsyncExitStack() as stack:
            opened = await self._retry(lambda: stack.enter_async_context(kafka_sink(self._settings, topic)))
            sink = with_failpoints("events", opened, self._settings.failpoints.points())
            await self._retry(begin)
            async for event in self._events(require_whole):
                waiting.append(to_message(event, sink.max_message_bytes))
                if len(waiting) == _AT_ONCE:
                    await self._retry(partial(sink.send, waiting))
                    waiting = []
                self.event_count += 1
            await self._retry(partial(sink.send, waiting))

    async def _events(self, require_whole: Callable[[], Awaitable[None]]) -> AsyncIterator[Event]:
        clusters = self._stores.clusters
        if clusters is not None:
            async for some in _some(clusters.walk(self._retry)):
                async for event in self._of_clusters(some, clusters):
                    yield event
        async for walked in all_records(self._stores.pages.records, self._retry):
            records = [(handle, PageRecord.unpack(packed)) for handle, packed in walked.records]
            async for event in self._of_others(records):
                yield event
        await require_whole()
        self.lost = sorted(self._held)
        for number, page_id in enumerate(self.lost):
            yield self._corrections.of_lost_page(PageId(page_id), self._published.url_of(page_id), number)

    async def _of_clusters(self, walked: Sequence[WalkedCluster], clusters: Clusters) -> AsyncIterator[Event]:
        kept = self._stores.pages.records
        first = [cluster.representative.handle for cluster in walked]
        states = await self._retry(partial(clusters.standing, first))
        representatives = await self._retry(partial(fetch_records, first, kept))
        self.cluster_count += len(walked)
        placed = ((cluster, handle) for cluster in walked for handle in cluster.members)
        for some in in_chunks(placed, _AT_ONCE):
            records = await self._retry(partial(fetch_records, [handle for _, handle in some], kept))
            self._clustered.update(handle for _, handle in some)
            self._held.difference_update(str(record.id) for record in records.values())
            for cluster, group in groupby(some, itemgetter(0)):
                handles = [handle for _, handle in group]
                state = states[cluster.representative.handle]
                representative = representatives[cluster.representative.handle]
                if self._settings.events.unique and handles[0] == cluster.members[0]:
                    yield self._corrections.of_own_cluster(representative, state)
                members = [(handle, records[handle]) for handle in handles if handle in records]
                for event in self._corrections.of_cluster(state, representative, members):
                    yield event

    async def _of_others(self, walked: Sequence[tuple[Handle, PageRecord]]) -> AsyncIterator[Event]:
        self.page_count += sum(record.state != "gone" for _, record in walked)
        rest = [(handle, record) for handle, record in walked if handle not in self._clustered]
        for _, record in rest:
            if record.state == "gone":
                self._held.discard(record.id)
                yield self._corrections.of_forgotten_page(record)
        alone = [
            (handle, record)
            for handle, record in rest
            if record.state != "gone" and self._is_published(record)
        ]
        states = await self._states([handle for handle, _ in alone])
        for handle, record in alone:
            self._held.discard(record.id)
            # An expiring page too, which may have left: no other page is in a cluster of that name.
            yield self._corrections.of_own_cluster(record, states.get(handle) or _lone(handle, record))

    def _is_published(self, record: PageRecord) -> bool:
        events = self._settings.events
        is_wanted = {"short": events.undecided, "archived": True}.get(record.state, events.unique)
        return is_wanted or record.id in self._held

    async def _states(self, handles: Sequence[Handle]) -> dict[Handle, ClusterState]:
        clusters = self._stores.clusters
        if clusters is None or not handles:
            return {}
        return await self._retry(partial(clusters.standing, handles))


async def _some(clusters: AsyncIterator[WalkedCluster]) -> AsyncIterator[list[WalkedCluster]]:
    """Yield all clusters in groups; a group ends once its clusters have `_AT_ONCE` members."""
    some: list[WalkedCluster] = []
    member_count = 0
    async for cluster in clusters:
        some.append(cluster)
        member_count += len(cluster.members)
        if member_count >= _AT_ONCE:
            yield some
            some, member_count = [], 0
    if some:
        yield some


def _lone(handle: Handle, record: PageRecord) -> ClusterState:
    node = PageVersion(handle, record.version, record.id, record.url, record.fingerprint)
    return ClusterState(lone_cluster_id(handle, record.version), 1, 1, node)
