"""Define what every finite source answers about partitions: they are its own, from first to last record."""

from collections.abc import Collection, Mapping

from neardup_stream.message import Partition
from neardup_stream.streams.protocol import Begin, Drain, Finish, TakeOver

__all__ = ["FiniteSource"]


class FiniteSource:
    """The part of a Source that a rebalance needs, for sources that have none; commits have no effect.

    A run over such a source does not resume: it starts at the beginning, and finished work is recognized by
    its position.
    """

    def on_revoke(self, drain: Drain) -> None:
        """Do nothing: partitions are never revoked."""

    def on_assign(self, take_over: TakeOver) -> None:
        """Do nothing: partitions are never assigned."""

    def on_begin(self, begin: Begin) -> None:
        """Do nothing: partitions are never assigned."""

    def on_gap(self, finish: Finish) -> None:
        """Do nothing: no commit passes a gap."""

    async def note_decided(self, next_offsets: Mapping[Partition, int]) -> Collection[Partition]:
        """Return every partition: all are still assigned. No other reader continues from here."""
        return next_offsets.keys()

    async def commit(self, next_offsets: Mapping[Partition, int]) -> Mapping[Partition, int]:
        """Return the offsets: commits are not stored."""
        return next_offsets

    def lag(self) -> Mapping[Partition, int]:
        """Return nothing: the number of records left is unknown."""
        return {}

    def untaken(self) -> Collection[Partition]:
        """Return nothing: partitions are never assigned."""
        return ()
