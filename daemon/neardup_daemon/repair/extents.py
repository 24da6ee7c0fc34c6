"""Notice that a new index lost a part while its corrections were published: for `recover`."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import NamedTuple

from neardup_daemon.wiring import Stores
from neardup_stream.errors import ConfigError
from neardup_stream.message import Partition
from neardup_stream.pipeline.retries import Retries
from neardup_stream.stores.protocol import all_records

__all__ = ["Extent", "measure_extent", "require_extent"]


class Extent(NamedTuple):
    """How much an index holds.

    Attributes:
        record_count: page records, of pages that are gone too.
        witnesses: of each partition, how far it has decided.
    """

    record_count: int
    witnesses: Mapping[Partition, str]


async def measure_extent(stores: Stores, partitions: Sequence[Partition], retries: Retries) -> Extent:
    """Return the extent of an index that does not change meanwhile.

    Cost: a round trip for some thousand page records, or hashes without any.
    """
    witnesses = await retries.retry(partial(stores.epochs.witnesses, partitions))
    walked = all_records(stores.pages.records, retries.retry)
    return Extent(sum([len(part.records) async for part in walked]), witnesses)


async def require_extent(
    extent: Extent, stores: Stores, partitions: Sequence[Partition], retries: Retries
) -> None:
    """Return if an index still holds what it held.

    Raises:
        ConfigError: Redis has lost a part of it, as a server that was restarted without all of its data.
    """
    if await measure_extent(stores, partitions, retries) != extent:
        raise ConfigError(
            "Redis lost a part of the new index while its corrections were published: see that its servers"
            " keep what they acknowledge, and run 'neardup-stream recover' again"
        )
