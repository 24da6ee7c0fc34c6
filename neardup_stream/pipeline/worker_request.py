"""Packs what a worker process is asked: records to prepare, or a page to read once more.

Records that are nothing but a key, a value and a time, as nearly all are, are sent in columns.
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


class _Columns(NamedTuple):
    """Records that are nothing but a key, a value and a time."""

    keys: list[bytes | None]
    values: list[bytes | None]
    timestamps_ms: list[int]


def pack_request(request: Sequence[Record] | Page) -> bytes:
    """Return the bytes of a request."""
    packed: object = request
    if not isinstance(request, Page):
        packed = _columns(request) if _are_plain(request) else list(request)
    return pickle.dumps(packed, pickle.HIGHEST_PROTOCOL)


def unpack_request(request: bytes) -> list[Record] | Page:
    """Read what `pack_request` wrote; the offset of each record is its place in the request."""
    unpacked: _Columns | list[Record] | Page = pickle.loads(request)  # noqa: S301 - the daemon wrote it
    if isinstance(unpacked, Page):
        return unpacked
    if isinstance(unpacked, _Columns):
        return [
            Record(position=Position(_HERE, place), key=key, value=value, timestamp_ms=timestamp_ms)
            for place, (key, value, timestamp_ms) in enumerate(zip(*unpacked, strict=True))
        ]
    return [
        msgspec.structs.replace(record, position=Position(_HERE, place))
        for place, record in enumerate(unpacked)
    ]


def _are_plain(records: Sequence[Record]) -> bool:
    return not any(record.headers or record.decoded is not None for record in records)


def _columns(records: Sequence[Record]) -> _Columns:
    return _Columns(
        [record.key for record in records],
        [record.value for record in records],
        [record.timestamp_ms for record in records],
    )
