"""Messages and the offset behind them in one step: what exactly-once delivery asks of a stream.

The contract suite in `tests/contracts/transactions.py` holds implementations to it.
"""

from collections.abc import Mapping, Sequence
from typing import Protocol, Self

from neardup_stream.message import Message, Partition

__all__ = ["Transactions"]


class Transactions(Protocol):
    """Delivers for the partitions of an input; each has its own transactions, one at a time.

    Those who read committed see the messages of a transaction all at once, when it is over, or never.
    """

    async def __aenter__(self) -> Self:
        """Nothing is open yet."""
        ...

    async def __aexit__(self, *exc: object) -> None:
        """Close what is open."""
        ...

    async def open(self, partitions: Sequence[Partition]) -> Mapping[Partition, int]:
        """Become the only one who may deliver for these partitions, whoever did before.

        What others left unfinished is cut. The offsets that are answered move no more, unless we move them or
        somebody opens the partition after us.

        Returns:
            The committed offsets; a partition without one is left out.

        Raises:
            StreamUnavailable: not all are open; open them again.
            ConfigError: access was refused.
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

        Whatever it raises, the partition has to be opened again, and that tells which of the two was done.

        Raises:
            StreamUnavailable: the partition is not open, somebody opened it after us, or no answer came.
            ConfigError: access was refused, or a message is larger than its topic takes now.
        """
        ...

    async def close(self) -> None:
        """Let go of every partition."""
        ...
