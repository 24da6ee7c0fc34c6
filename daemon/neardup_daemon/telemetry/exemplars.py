"""The trace by which a metric can be followed to one record."""

import re
from typing import Final

from neardup_stream.message import RecordMetadata

__all__ = ["exemplar"]

_TRACE_ID: Final = re.compile(rb"[0-9a-f]{2}-([0-9a-f]{32})-")
"""How a `traceparent` begins: version, then trace id (W3C Trace Context)."""


def exemplar(record: RecordMetadata) -> dict[str, str] | None:
    """Return the trace of a record, as OpenMetrics expects it; None where it has none.

    The header is untrusted input, and the client library raises for a longer value.
    """
    for name, value in record.headers:
        if name == "traceparent" and (match := _TRACE_ID.match(value)):
            return {"trace_id": match[1].decode("ascii")}
    return None
