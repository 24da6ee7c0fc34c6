"""Does what is left once pages are decided, before their decision records may be trimmed."""

from typing import NamedTuple

from neardup_stream.indexes.protocol import IndexedPage
from neardup_stream.pipeline.arrival import Lesson
from neardup_stream.pipeline.stores import PageStores
from neardup_stream.stores.protocol import RankWrite

__all__ = ["FollowUp"]


class FollowUp(NamedTuple):
    """What is left to do once a batch is decided.

    Attributes:
        rank_writes: ranks for the records of its pages.
        former: the versions that its pages have replaced.
        lessons: lines of its pages that are to be counted for the frames of their sites once it is delivered.
    """

    rank_writes: list[RankWrite]
    former: list[IndexedPage]
    lessons: list[Lesson]

    async def apply(self, stores: PageStores) -> None:
        """Write the ranks, and remove the entries of the former versions; lessons are left. Safe to repeat.

        Raises:
            StoreUnavailable: apply again.
        """
        await stores.records.write_ranks(self.rank_writes)
        if self.former:
            await stores.index.remove(self.former)
