"""Selects the pages that a deduplicated corpus keeps: of each cluster its representative, and all others."""

from collections.abc import Sequence

from neardup_stream.clusters.clusters import Clusters
from neardup_stream.message import Position
from neardup_stream.page import Handle
from neardup_stream.stores.page_record import PageRecord
from neardup_stream.stores.protocol import RecordStore, all_records
from neardup_stream.streams.files.corpus import Rows

__all__ = ["kept_rows"]


async def kept_rows(clusters: Clusters, records: RecordStore) -> Rows:
    """Return which rows of the input hold the latest version of a page that is kept.

    A page is dropped if it is in a cluster with others and does not represent it, if it was removed, and if
    an archive has a page like it and `archive.on_match` is `skip`.

    Raises:
        StoreUnavailable: the store became unavailable.
        CorruptData: the store holds something else.

    Cost: memory of 16 bytes for each page that is dropped and 60 for each that is kept.
    """
    dropped: set[Handle] = set()
    async for _, representative, members in clusters.walk():
        dropped.update(each for each in members if each != representative.handle)
    kept = Rows()
    async for walked in all_records(records):
        for position in _makers(walked.records, dropped):
            kept.add(position)
    return kept


def _makers(walked: Sequence[tuple[Handle, bytes]], dropped: set[Handle]) -> list[Position]:
    """Return where the versions were read of those pages that are kept."""
    records = [PageRecord.unpack(packed) for handle, packed in walked if handle not in dropped]
    return [record.maker for record in records if record.state in ("live", "short")]
