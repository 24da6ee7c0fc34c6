"""Packs what a worker process is asked: records to prepare, or a page to read once more.

Lines of a file are sent as their bytes alone.
"""

import pickle
from collections.abc import Sequence
from typing import Final, NamedTuple

import msgspec

from neardup_stream.message import Partition, Position, Record
from neardup_stream.page import Page

__all__ = ["pack_request", "unpack_request"]

_HERE: Final = Partition("request", 0)
"""The partition of all records in a worker process; their offsets there are their places in the request."""


class _Values(NamedTuple):
    """Records that are nothing but a value and a time."""

    values: list[bytes]
    timestamps_ms: list[int]


def pack_request(request: Sequence[Record] | Page) -> bytes:
    """Return the bytes of a request."""
    packed: object = request
    if not isinstance(request, Page):
        packed = list(request)
        if _are_values(request):
            values = [record.value or b"" for record in request]
            packed = _Values(values, [record.timestamp_ms for record in request])
    return pickle.dumps(packed, pickle.HIGHEST_PROTOCOL)


def unpack_request(request: bytes) -> list[Record] | Page:
    """Read what `pack_request` wrote; the offset of each record is its place in the request."""
    unpacked: _Values | list[Record] | Page = pickle.loads(request)  # noqa: S301 - the daemon wrote it
    if isinstance(unpacked, Page):
        return unpacked
    if isinstance(unpacked, _Values):
        return [
            Record(position=Position(_HERE, place), key=None, value=value, timestamp_ms=timestamp_ms)
            for place, (value, timestamp_ms) in enumerate(zip(*unpacked, strict=True))
        ]
    return [
        msgspec.structs.replace(record, position=Position(_HERE, place))
        for place, record in enumerate(unpacked)
    ]


def _are_values(records: Sequence[Record]) -> bool:
    return all(
        record.value is not None and record.key is None and record.decoded is None and not record.headers
        for record in records
    )
