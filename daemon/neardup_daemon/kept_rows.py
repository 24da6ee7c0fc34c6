"""Selects the pages that a deduplicated corpus keeps: of each cluster its representative, and all others."""

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from itertools import islice

from neardup_stream.clusters.clusters import Clusters
from neardup_stream.message import Partition, Position
from neardup_stream.page import Handle
from neardup_stream.stores.page_record import PageRecord
from neardup_stream.stores.protocol import RecordStore, all_records
from neardup_stream.streams.files.corpus import Rows

__all__ = ["kept_rows"]


async def kept_rows(clusters: Clusters, records: RecordStore, inputs: AbstractSet[Partition]) -> Rows:
    """Return which rows of the input hold the latest version of a page that is kept.

    A page is dropped if it is in a cluster with others and does not represent it, if it was removed, and if
    an archive has a page like it and `archive.on_match` is `skip`.

    Args:
        clusters: of the index.
        records: of the same pages, perhaps also of pages that other runs have read.
        inputs: what this run has read.

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
        for position in _latest_rows(walked.records, dropped, inputs):
            kept.add(position)
    return kept


def _latest_rows(
    walked: Sequence[tuple[Handle, bytes]], dropped: set[Handle], inputs: AbstractSet[Partition]
) -> Iterator[Position]:
    """Return where this run has read the versions of those pages that are kept."""
    for handle, packed in walked:
        record = PageRecord.unpack(packed)
        if handle not in dropped and record.state in ("live", "expiring", "short"):
            yield from islice((each for each in record.positions if each.partition in inputs), 1)
