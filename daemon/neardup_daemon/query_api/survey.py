"""Surveys all clusters: which hosts have most duplicates, and which clusters are largest."""

import heapq
import logging
from collections import Counter
from collections.abc import Sequence
from time import time
from typing import Final, NamedTuple

from neardup_daemon.query_api.shared_reading import SharedReading
from neardup_daemon.settings.settings import Settings
from neardup_stream.chunks import in_chunks
from neardup_stream.clusters.clusters import Clusters
from neardup_stream.errors import NeardupError, Unavailable
from neardup_stream.page import Handle
from neardup_stream.pipeline.scopes import scope_by, scope_of_url
from neardup_stream.stores.page_record import PageRecord
from neardup_stream.stores.protocol import RecordStore

__all__ = ["LARGEST", "Survey", "Surveys"]

_logger = logging.getLogger(__name__)

LARGEST: Final = 1000
"""Clusters, and hosts, that a survey keeps."""

_PAGES_AT_ONCE: Final = 500


class Survey(NamedTuple):
    """What one survey counted.

    Attributes:
        ended_ms: when it ended, epoch milliseconds.
        is_complete: whether it read every cluster.
        clusters: clusters of two or more pages that it read.
        pages: members of those.
        largest: the representatives of the largest of those clusters, largest first.
        hosts: duplicates and representatives of the hosts with most duplicates, most first.
    """

    ended_ms: int
    is_complete: bool
    clusters: int
    pages: int
    largest: list[Handle]
    hosts: list[tuple[str, int, int]]


class Surveys:
    """Keeps the latest survey, and makes the next one at a request if it is old.

    One that fails is made again when the next one is due; while there is none, at each request.

    Args:
        clusters: surveyed.
        records: of their pages.
        settings: how long a survey is kept, how much it reads, and what a host is.
    """

    def __init__(self, clusters: Clusters, records: RecordStore, settings: Settings) -> None:
        self._clusters, self._records = clusters, records
        self._api = settings.api
        self._host_of = scope_by("domain" if settings.frames.scope == "domain" else "host")
        self._latest: Survey | None = None
        self._reading = SharedReading(self._renewed, settings.api.survey_seconds)

    async def latest(self) -> Survey:
        """Return the latest survey; the first is waited for, a later one is made meanwhile.

        Raises:
            StoreUnavailable: there is none yet, and the store is unavailable.
            CorruptData: what is stored is not what this program writes.
        """
        self._reading.begin()
        return self._latest or await self._reading.value()

    async def close(self) -> None:
        """Cancel the running survey, if any."""
        await self._reading.close()

    async def _renewed(self) -> Survey:
        """Return a new survey; where it fails, log why, and return the former one for as long."""
        try:
            self._latest = await self._survey()
        except Exception as error:
            if self._latest is None:  # requests that wait for it end with the error, and log it
                raise
            level = logging.WARNING if isinstance(error, Unavailable) else logging.ERROR
            bug = None if isinstance(error, NeardupError) else error
            _logger.log(level, "survey_failed", exc_info=bug, extra={"fields": {"error": str(error)}})
        return self._latest

    async def _survey(self) -> Survey:
        duplicates: Counter[str] = Counter()
        representatives: Counter[str] = Counter()
        largest: list[tuple[int, int]] = []
        unread: list[Handle] = []
        clusters = pages = 0
        is_complete = True
        async for walked in self._clusters.walk():
            room = self._api.survey_pages - pages
            if not room:
                is_complete = False
                break
            clusters += 1
            members = walked.members[:room]
            is_complete &= len(members) == len(walked.members)
            pages += len(members)
            push = heapq.heappush if len(largest) < LARGEST else heapq.heappushpop
            push(largest, (len(walked.members), -walked.representative.handle))
            representatives[scope_of_url(walked.representative.url, self._host_of)] += 1
            unread += [handle for handle in members if handle != walked.representative.handle]
            if len(unread) >= _PAGES_AT_ONCE:
                duplicates.update(await self._hosts(unread))
                unread = []
        duplicates.update(await self._hosts(unread))
        return Survey(
            ended_ms=round(time() * 1000),
            is_complete=is_complete,
            clusters=clusters,
            pages=pages,
            largest=[Handle(-negative) for _, negative in sorted(largest, reverse=True)],
            hosts=[(host, count, representatives[host]) for host, count in duplicates.most_common(LARGEST)],
        )

    async def _hosts(self, handles: Sequence[Handle]) -> Counter[str]:
        """Count the hosts of the pages whose records are there."""
        found: Counter[str] = Counter()
        for some in in_chunks(handles, _PAGES_AT_ONCE):
            for packed in await self._records.fetch(some):
                if packed is not None:
                    found[scope_of_url(PageRecord.unpack(packed).url, self._host_of)] += 1
        return found
