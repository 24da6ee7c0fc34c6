"""Define the protocol of transactions: deliver messages and commit their offset atomically, for exactly-once.

The contract suite in `tests/contracts/transactions.py` checks implementations.
"""

from collections.abc import Mapping, Sequence
from typing import Protocol, Self

from neardup_stream.message import Message, Partition

__all__ = ["Transactions"]


class Transactions(Protocol):
    """Deliver for the partitions of an input; each has its own transactions, one at a time.

    Consumers with read_committed see the messages of a transaction all at once, when it is committed, or
    never.
    """

    async def __aenter__(self) -> Self:
        """Do nothing: no partition is open yet."""
        ...

    async def __aexit__(self, *exc: object) -> None:
        """Close everything that is open."""
        ...

    async def open(self, partitions: Sequence[Partition]) -> Mapping[Partition, int]:
        """Become the only producer for these partitions, fencing any other.

        Open transactions of others are aborted. The returned offsets change no more, unless we move them or
        another producer opens the partition after us.

        Returns:
            The committed offsets; omits partitions without one.

        Raises:
            StreamUnavailable: not all are open; open them again.
            ConfigError: access was denied.
        """
        ...

    async def deliver(
        self,
        partition: Partition,
        *,
        events: Sequence[Message],
        dead_letters: Sequence[Message],
        next_offset: int,
    ) -> None:
        """Deliver all messages and commit the offset, or do neither.

        After any exception the partition must be opened again, which shows which of the two happened.

        Raises:
            StreamUnavailable: the partition is not open, another producer opened it after us, or no answer
                came.
            ConfigError: access was denied, or a message is larger than its topic accepts now.
        """
        ...

    async def close(self) -> None:
        """Close every partition."""
        ...
