"""What every source and sink promises; the contract suite in `tests/contracts/streams.py` holds them to it.

Who calls what: one pipeline task calls `read`, another calls `note_decided`, `send` and `commit`. No method
is called concurrently with itself, nor `note_decided` with `commit`. All are opened and closed by the
composition root as async context managers.

Delivery: a source that is `commit`ted resumes after the committed offsets; anything read but not committed
is read again. So a pipeline that commits only what it has finished is at-least-once through a crash.
"""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from typing import Protocol, Self

from neardup_stream.message import Message, Partition, Record

__all__ = ["Drain", "EndOfStream", "Finish", "Sink", "Source", "TakeOver"]

Drain = Callable[[], Awaitable[None]]
"""Finishes, or gives up at a deadline, everything in flight; called before partitions are given away."""


Finish = Callable[[], Awaitable[None]]
"""Delivers and commits everything in flight, without a deadline of its own."""


TakeOver = Callable[[Sequence[Partition]], Awaitable[Mapping[Partition, int]]]
"""Told which partitions became ours, before they are read; answers with the offsets to read them from."""


class EndOfStream(Exception):  # noqa: N818 - a control signal, not an error
    """A finite source has nothing more to read, now or later."""


class Source(Protocol):
    """Reads records in order within each partition."""

    async def __aenter__(self) -> Self:
        """Open.

        Raises:
            StreamUnavailable: it cannot be reached now.
            ConfigError: it does not exist, or may not be read.
        """
        ...

    async def __aexit__(self, *exc: object) -> None:
        """Close; nothing is committed that was not committed before."""
        ...

    def on_revoke(self, drain: Drain) -> None:
        """Call `drain` and wait for it before partitions are given away, which files never are."""
        ...

    def on_assign(self, take_over: TakeOver) -> None:
        """Call `take_over` and wait for it before partitions that became ours are read.

        What it raises, `read` raises; the next one calls it again. A partition without an offset in its
        answer begins where it would without it.
        """
        ...

    def on_gap(self, finish: Finish) -> None:
        """Call `finish` and wait for it before the committed offset passes records that are deleted.

        The topic no longer has what is in flight either, so after that commit no daemon could read it again.
        What `finish` raises, `read` raises; the next one calls it again.
        """
        ...

    async def read(self, max_records: int, max_bytes: int) -> Sequence[Record]:
        """Up to `max_records` next records, waiting a short while for the first.

        `max_bytes` is kept but for a single record larger than it. Empty when nothing came in time: call
        again. Cancelling a read loses no record.

        Raises:
            EndOfStream: a finite source is at its end.
            StreamUnavailable: nothing was lost; call again later.
            ConfigError: the committed offset is out of range and the policy is to stop.
            CorruptData: what comes next is damaged; everything before it was read.
        """
        ...

    async def note_decided(self, next_offsets: Mapping[Partition, int]) -> Collection[Partition]:
        """Note that records below these offsets are decided, before messages of theirs are sent.

        The note lies beside the committed offset, which stays where it is. The next owner of a partition
        refuses an index that does not know what was noted, so it never decides again what was published.

        Returns:
            The partitions that are still ours. Messages of the others must not be sent: their next owner
            sends them.

        Raises:
            StreamUnavailable: not noted; call again.
            StoreUnavailable: the index cannot be asked now.
        """
        ...

    async def commit(self, next_offsets: Mapping[Partition, int]) -> Mapping[Partition, int]:
        """Remember that everything below these offsets is finished.

        Offsets never move backwards.

        Returns:
            What is remembered now; partitions that were given away meanwhile are left out, and alone.

        Raises:
            StreamUnavailable: not remembered; call again later with the same or later offsets.
        """
        ...

    def lag(self) -> Mapping[Partition, int]:
        """Records not yet read, by partition, as far as is known without asking anyone."""
        ...


class Sink(Protocol):
    """Delivers messages, in order among messages with one key."""

    async def __aenter__(self) -> Self:
        """Open.

        Raises:
            StreamUnavailable: it cannot be reached now.
            ConfigError: it does not exist, or may not be written.
        """
        ...

    async def __aexit__(self, *exc: object) -> None:
        """Close; every `send` that returned stays delivered."""
        ...

    @property
    def max_message_bytes(self) -> int | None:
        """Largest message (key, value and headers) it takes; None when there is no limit."""
        ...

    async def send(self, messages: Sequence[Message]) -> None:
        """Deliver all; returns when every one is acknowledged as durably as the sink can promise.

        Raises:
            StreamUnavailable: some may have been delivered, some not; sending all again is safe.
        """
        ...
