"""What every sink promises, as checks that any implementation must pass.

A check takes a factory. To enter a new sink, write its factory and parametrize a test over `SINK_CHECKS`: see
`tests/unit/streams/test_stream_contract.py`.
"""

from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable
from random import Random
from typing import Protocol

from neardup_stream.message import Message
from neardup_stream.streams.protocol import Sink

__all__ = ["SINK_CHECKS", "MakeSink", "ReadBack"]

ReadBack = Callable[[], Awaitable[list[tuple[bytes | None, bytes | None]]]]
"""Key and value of everything a sink delivered, in order for each key."""


class MakeSink(Protocol):
    """A sink, and what reads it back."""

    def __call__(self) -> tuple[Sink, ReadBack]: ...


async def check_messages_arrive_in_order_of_each_key(make: MakeSink) -> None:
    sink, read_back = make()
    messages = [_message(b"key %d" % (number % 7), b"value %d" % number) for number in range(500)]

    async with sink:
        await sink.send(messages[:200])
        await sink.send(messages[200:])

    delivered = await read_back()
    keeps_keys = delivered[0][0] is not None
    sent = [(one.key if keeps_keys else None, one.value) for one in messages]
    assert _values_by_key(delivered) == _values_by_key(sent)


async def check_a_send_returns_after_delivery(make: MakeSink) -> None:
    sink, read_back = make()

    async with sink:
        await sink.send([_message(b"key", b"value")])

        assert [value for _, value in await read_back()] == [b"value"]


async def check_sending_nothing_delivers_nothing(make: MakeSink) -> None:
    sink, read_back = make()

    async with sink:
        await sink.send([])

    assert await read_back() == []


async def check_a_message_of_the_largest_size_is_delivered(make: MakeSink) -> None:
    sink, read_back = make()

    async with sink:
        size_bytes = sink.max_message_bytes or 1 << 20
        value = Random(1).randbytes(size_bytes - 3).replace(b"\n", b" ")  # compression cannot help it
        await sink.send([_message(b"key", value)])

        assert [len(value or b"") for _, value in await read_back()] == [size_bytes - 3]


def _message(key: bytes, value: bytes) -> Message:
    return Message(key=key, value=value, timestamp_ms=1_700_000_000_000)


def _values_by_key(
    pairs: Iterable[tuple[bytes | None, bytes | None]],
) -> dict[bytes | None, list[bytes | None]]:
    values: defaultdict[bytes | None, list[bytes | None]] = defaultdict(list)
    for key, value in pairs:
        values[key].append(value)
    return values


SINK_CHECKS = [
    check_messages_arrive_in_order_of_each_key,
    check_a_send_returns_after_delivery,
    check_sending_nothing_delivers_nothing,
    check_a_message_of_the_largest_size_is_delivered,
]
"""For every sink. A sink that keeps no keys gives them back as None."""
