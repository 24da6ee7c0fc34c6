"""Records as a broker would give them."""

from typing import Any

import msgspec

from neardup_stream.message import Headers, Partition, Position, Record

POSITION = Position(Partition("pages", 3), 1_234_567)


def record(
    value: bytes | None,
    key: bytes | None = None,
    headers: Headers = (),
    timestamp_ms: int = 1_700_000_000_123,
) -> Record:
    return Record(position=POSITION, key=key, value=value, headers=headers, timestamp_ms=timestamp_ms)


def page_json(**fields: Any) -> bytes:
    """Return a good page, with these fields added or replaced."""
    page = {"url": "http://example.com/a", "text": "some words"} | fields
    return msgspec.json.encode(page)
