"""Define the protocols of sources and sinks; `tests/contracts/streams.py` and `sinks.py` are their contracts.

Callers: one pipeline task calls `read`, another one `note_decided`, `send` and `commit`. What a source is
given to call before partitions are revoked and before a gap calls `commit` too, once nothing is in flight;
what it calls before it begins to read partitions calls `send`. No method of a source is called concurrently
with itself, nor `note_decided` with `commit`. The composition root opens and closes all of them as async
context managers.

Delivery: a source resumes after the committed offsets; anything read but not committed is read again. So a
pipeline that commits only what it has finished is at-least-once through a crash.
"""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from typing import Protocol, Self

from neardup_stream.message import Message, Partition, Record

__all__ = ["Begin", "Drain", "EndOfStream", "Finish", "Sink", "Source", "TakeOver"]

Begin = Callable[[Sequence[Partition]], Awaitable[None]]
"""Prepare for newly assigned partitions, whose start offsets are checked, before they are read."""


Drain = Callable[[], Awaitable[None]]
"""Finish everything in flight, or stop at a deadline; called before partitions are revoked."""


Finish = Callable[[], Awaitable[None]]
"""Deliver and commit everything in flight, without a deadline of its own."""


TakeOver = Callable[[Sequence[Partition]], Awaitable[Mapping[Partition, int]]]
"""Receive newly assigned partitions, before they are read; return the offsets to read them from."""


class EndOfStream(Exception):  # noqa: N818 - a control signal, not an error
    """A finite source has nothing more to read, now or later."""


class Source(Protocol):
    """Read records in order within each partition."""

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
        """Call `drain` and wait for it before partitions are revoked; files are never revoked."""
        ...

    def on_assign(self, take_over: TakeOver) -> None:
        """Call `take_over` and wait for it before newly assigned partitions are read.

        `read` raises its exceptions; the next `read` calls it again. A partition without an offset in its
        answer starts at its usual offset.
        """
        ...

    def on_begin(self, begin: Begin) -> None:
        """Call `begin` and wait for it before newly assigned partitions are read; files are never assigned.

        It is called after `take_over`, and after the start offsets are checked. `read` raises its exceptions;
        the next `read` calls both again.
        """
        ...

    def on_gap(self, finish: Finish) -> None:
        """Call `finish` and wait for it before the committed offset passes deleted records.

        The topic no longer has the records in flight either, so after that commit no daemon could read them
        again. `read` raises the exceptions of `finish`; the next `read` calls it again.
        """
        ...

    async def read(self, max_records: int, max_bytes: int) -> Sequence[Record]:
        """Return up to `max_records` next records, waiting a short while for the first.

        Their size is at most `max_bytes`, except for a single larger record. Empty if nothing came in time:
        call again. Cancelling a read loses no record.

        Raises:
            EndOfStream: a finite source is at its end.
            StreamUnavailable: nothing was lost; call again later.
            ConfigError: the committed offset is out of range and the policy is to stop.
            CorruptData: the next data is damaged; everything before it was read.
        """
        ...

    async def note_decided(self, next_offsets: Mapping[Partition, int]) -> Collection[Partition]:
        """Note that records below these offsets are decided, before their messages are sent.

        The note is metadata of the committed offset, which stays unchanged. The next owner of a partition
        refuses an index without the noted decisions, so it never decides again what was published.

        Returns:
            The partitions that are still assigned to us. Messages of the others must not be sent: their next
            owner sends them.

        Raises:
            StreamUnavailable: not noted; call again.
            StoreUnavailable: the index cannot be read now.
        """
        ...

    async def commit(self, next_offsets: Mapping[Partition, int]) -> Mapping[Partition, int]:
        """Store that everything below these offsets is finished.

        Offsets never move backwards.

        Returns:
            The stored offsets; omits only partitions that were revoked meanwhile.

        Raises:
            StreamUnavailable: not stored; call again later with the same or later offsets.
        """
        ...

    def lag(self) -> Mapping[Partition, int]:
        """Return the number of records not yet read, by partition, as far as known without a request."""
        ...

    def untaken(self) -> Collection[Partition]:
        """Return the partitions that `lag` leaves out because they are still to be taken over."""
        ...


class Sink(Protocol):
    """Deliver messages, in order among messages with one key."""

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
        """Return the largest message (key, value and headers) it accepts; None for no limit."""
        ...

    async def send(self, messages: Sequence[Message]) -> None:
        """Deliver all messages; return when every one is acknowledged as durably as the sink supports.

        Raises:
            StreamUnavailable: some may have been delivered, some not; sending all again is safe.
        """
        ...
