"""Compute in which tables two pages meet: why a probe finds a page, or does not."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from neardup_stream.indexes.layout import IndexLayout
from neardup_stream.indexes.permuted import table_entries
from neardup_stream.indexes.protocol import IndexedPage

__all__ = ["Meeting", "meeting"]


class Meeting(NamedTuple):
    """The tables in which one page lies in the range that the other reads.

    Attributes:
        tables: permuted tables, by number from 0; none if the fingerprints are too far apart.
        bands: equal bands, by number from 0, comparing only the stored bits.
    """

    tables: tuple[int, ...]
    bands: tuple[int, ...]

    @property
    def is_found(self) -> bool:
        """Return whether a probe for either page finds the other, unless a limit truncates the result."""
        return bool(self.tables or self.bands)


def meeting(one: Sequence[IndexedPage], other: Sequence[IndexedPage], layout: IndexLayout) -> Meeting:
    """Return where two pages meet, each of which may be probed for and stored in several views."""
    met = [_meeting(probing, stored, layout) for probing in one for stored in other]
    return Meeting(
        tables=tuple(sorted({table for each in met for table in each.tables})),
        bands=tuple(sorted({band for each in met for band in each.bands})),
    )


def _meeting(one: IndexedPage, other: IndexedPage, layout: IndexLayout) -> Meeting:
    probing, stored = table_entries([one], layout), table_entries([other], layout).members
    own = probing.members
    in_reach = (
        (own.leading_bytes == stored.leading_bytes)
        & (own.buckets == stored.buckets)
        & (probing.lows <= stored.suffixes)
        & (stored.suffixes <= probing.highs)
        & (np.bitwise_count(own.suffixes ^ stored.suffixes) <= layout.config.permuted.distance_bits)
    )
    numbers = np.flatnonzero(in_reach).tolist()
    first_permuted = layout.config.bands
    return Meeting(
        tables=tuple(number - first_permuted for number in numbers if number >= first_permuted),
        bands=tuple(number for number in numbers if number < first_permuted),
    )
