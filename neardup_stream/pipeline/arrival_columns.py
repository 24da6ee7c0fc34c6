"""Pages of a batch in columns: what is computed of each page is in arrays, in the order of the records."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from neardup_stream.message import Partition
from neardup_stream.pipeline.arrival import Arrival

__all__ = ["ArrivalColumns", "columns_of"]


@dataclass(frozen=True, slots=True)
class ArrivalColumns:
    """Pages of one input, from whose texts no frame was taken out; one row each.

    Attributes:
        arrivals: the same pages as objects, which may be made when they are asked for.
        partition: of their records.
        offsets: of their records, int64.
        ids: of the pages.
        urls: as crawled.
        scopes: within what the pages are compared; empty for everything.
        has_enough_tokens: whether a page has enough tokens to be judged, bool.
        fingerprints: simhashes, uint64.
        text_fingerprints: uint64.
        shingle_counts: int64.
        sketches: uint8[pages, sketch_bytes].
        bands: uint32[pages, bands].
    """

    arrivals: Sequence[Arrival]
    partition: Partition
    offsets: NDArray[np.int64]
    ids: Sequence[str]
    urls: Sequence[str]
    scopes: Sequence[str]
    has_enough_tokens: NDArray[np.bool_]
    fingerprints: NDArray[np.uint64]
    text_fingerprints: NDArray[np.uint64]
    shingle_counts: NDArray[np.int64]
    sketches: NDArray[np.uint8]
    bands: NDArray[np.uint32]

    def __len__(self) -> int:
        """Return the number of pages."""
        return len(self.ids)


def columns_of(arrivals: Sequence[Arrival]) -> ArrivalColumns:
    """Return pages of one input in columns; at least one."""
    count = len(arrivals)
    return ArrivalColumns(
        arrivals=arrivals,
        partition=arrivals[0].record.position.partition,
        offsets=np.array([each.record.position.offset for each in arrivals], np.int64),
        ids=[each.page.id for each in arrivals],
        urls=[each.page.url for each in arrivals],
        scopes=[each.scope for each in arrivals],
        has_enough_tokens=np.array([each.has_enough_tokens for each in arrivals], np.bool_),
        fingerprints=np.array([each.fingerprint for each in arrivals], np.uint64),
        text_fingerprints=np.array([each.text_fingerprint for each in arrivals], np.uint64),
        shingle_counts=np.array([each.shingle_count for each in arrivals], np.int64),
        sketches=np.frombuffer(b"".join(each.sketch for each in arrivals), np.uint8).reshape(count, -1),
        bands=np.frombuffer(b"".join(each.bands for each in arrivals), ">u4").reshape(count, -1),
    )
