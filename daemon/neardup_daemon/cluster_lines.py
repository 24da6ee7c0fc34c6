"""The clusters of a corpus as lines of JSON, for files."""

from collections.abc import AsyncIterator, Sequence

import msgspec

from neardup_stream.clusters.clusters import Clusters
from neardup_stream.page import Handle
from neardup_stream.stores.page_record import PageRecord
from neardup_stream.stores.protocol import RecordStore

__all__ = ["cluster_lines"]

_BATCH_CLUSTERS = 256


class _Cluster(msgspec.Struct, frozen=True):
    """One line.

    Attributes:
        cluster_id: as in the events.
        representative: id of the page that speaks for the others.
        members: page ids, in the order in which they were decided.
    """

    cluster_id: str
    representative: str
    members: list[str]


class _Found(msgspec.Struct, frozen=True):
    cluster_id: str
    representative: str
    handles: list[Handle]


async def cluster_lines(clusters: Clusters, records: RecordStore) -> AsyncIterator[list[bytes]]:
    """Every cluster of two or more pages, some hundred at a time; no snapshot while others decide.

    Raises:
        StoreUnavailable: the store became unavailable.
        CorruptData: it holds something else.
    """
    batch: list[_Found] = []
    async for cluster_id, representative, handles in clusters.walk():
        batch.append(_Found(cluster_id, representative.id, handles))
        if len(batch) == _BATCH_CLUSTERS:
            yield await _lines(batch, records)
            batch = []
    if batch:
        yield await _lines(batch, records)


async def _lines(batch: Sequence[_Found], records: RecordStore) -> list[bytes]:
    packed = iter(await records.fetch([handle for found in batch for handle in found.handles]))
    return [msgspec.json.encode(_cluster(found, [next(packed) for _ in found.handles])) for found in batch]


def _cluster(found: _Found, packed: Sequence[bytes | None]) -> _Cluster:
    members = [PageRecord.unpack(each).id for each in packed if each is not None]
    return _Cluster(found.cluster_id, found.representative, list(members))
